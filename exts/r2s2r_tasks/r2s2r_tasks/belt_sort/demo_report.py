"""The demo's report: figures, clips, pictures and the data set, in one HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.recorded_operator import RecordedOperator
from r2s2r.evaluation.charts import outcome_bars, rate_by_group, svg, traces
from r2s2r.evaluation.intervals import interval_text
from r2s2r.evaluation.judging import RULES
from r2s2r.evaluation.report import Report
from r2s2r_tasks.belt_sort.demo_pictures import Shot
from r2s2r_tasks.belt_sort.generate import Generation


@dataclass(frozen=True)
class DemoResult:
    """Everything that the report shows."""

    figures: Mapping[str, Any]
    human: RecordedOperator
    demos: Mapping[str, Sequence[Demonstration]]
    generation: Generation
    clips: Mapping[str, Path]
    shots: Sequence[Shot]
    dataset: Mapping[str, Any]
    provenance: Mapping[str, Any]


def write_report(path: Path, result: DemoResult) -> None:
    """Write the report to `path`."""
    report = Report("r2s2r demo", "Real human motion, replayed in parallel on the belt-sorting task")
    _key_figures(report, result)
    _human(report, result)
    _scene(report, result)
    _replay(report, result)
    _dataset(report, result)
    report.write(path)


def _key_figures(report: Report, result: DemoResult) -> None:
    figures = result.figures
    report.section("In short")
    report.key_figures(
        {
            "yield": f"{100 * figures['yield']:.0f} %" if figures["attempts"] else None,
            "sorted": figures["successes"],
            "attempts": figures["attempts"],
            "environment steps a second": round(figures["env_steps_per_s"]),
            "wall time": f"{figures['wall_s']:.0f} s",
        },
        notes={"yield": f"95 %: {interval_text(figures['successes'], figures['attempts'])}"},
    )


def _human(report: Report, result: DemoResult) -> None:
    report.section("Human motion")
    report.text(f"The operator is {result.human.source}.")
    for name in result.human.motions:
        report.clip(result.clips[name], f"{name}: human keypoints beside the robot that follows them")
    demonstrated = result.figures["demonstrations"]
    report.text(
        f"The operator demonstrated the task {demonstrated['attempts']} times in the simulator, "
        f"{demonstrated['successes']} times with success; only those are replayed."
    )
    demo = next(iter(result.demos.values()))[0]
    report.chart(svg(traces(demo)), f"{demo.name}: speed of the wrist and closing of the hand", wide=True)


def _scene(report: Report, result: DemoResult) -> None:
    report.section("What the cameras see")
    for shot in result.shots:
        for camera, picture in shot.pictures.items():
            report.picture(picture, f"{camera.removesuffix('_rgb')} camera, {shot.moment} ({shot.object_class})")


def _replay(report: Report, result: DemoResult) -> None:
    figures = result.figures
    report.section("Parallel replay")
    report.clip(result.clips["grid"], "First attempts of the first environments: green sorted, red failed", wide=True)
    report.chart(svg(outcome_bars(figures["failures"], figures["successes"])), "How attempts ended")
    report.chart(svg(rate_by_group(figures["by_class"])), "Success by class, with 95 % intervals")
    report.chart(svg(rate_by_group(figures["by_shape"])), "Success by shape")
    rules = {outcome.label: text for outcome, text in RULES.items()}
    report.table(
        [
            {"reason": label, "attempts": count, "rule that was broken": rules[label]}
            for label, count in figures["failures"].items()
        ],
        "Why attempts failed; none of them was written",
    )


def _dataset(report: Report, result: DemoResult) -> None:
    report.section("Data set")
    report.table([{"what": key, "value": value} for key, value in _flat(result.dataset)], "dataset.hdf5")
    report.data("Summary", dict(result.figures))
    report.data("Provenance", dict(result.provenance))


def _flat(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the single values of a summary; tables of it are in the data below."""
    return [(key, value) for key, value in content.items() if isinstance(value, str | int | float)]
