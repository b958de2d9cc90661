"""What a finished job came to: figures, and a report that shows them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.behavior.behavior import Behavior
from r2s2r.contracts.files import file_sha256
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.summary import summarize
from r2s2r.evaluation.charts import outcome_bars, rate_by_group, svg
from r2s2r.evaluation.clips import grid, write_clip
from r2s2r.evaluation.human_likeness import HumanLikeness, human_likeness
from r2s2r.evaluation.human_likeness_report import add_human_likeness
from r2s2r.evaluation.intervals import interval_text
from r2s2r.evaluation.report import Report
from r2s2r.generation.finish import count_attempts
from r2s2r.generation.job import GenerationJob
from r2s2r.generation.selection import Selection, select
from r2s2r.generation.shards import AttemptRecord, ShardFolder
from r2s2r.world.world_file import read_world

COLUMNS, ROWS = 6, 2
"""Episodes in the film."""

EVERY = 3
"""Steps between two pictures of the film: 10 a second."""


def summarize_job(folder: Path, job: GenerationJob, likeness: HumanLikeness | None) -> dict[str, Any]:
    """Return the figures of the finished job in `folder` as JSON-able values."""
    path = folder / "dataset.hdf5"
    selection = select(job, ShardFolder(folder / "shards"))
    records = [record for part in selection.attempts.values() for record in part]
    return {
        **count_attempts(selection).to_dict(),
        "episodes": job.episodes,
        "by_condition": _by_condition(selection),
        "by_class": _by_group(records, lambda record: record.object_class),
        "by_shape": _by_group(records, lambda record: record.shape),
        "human_likeness": None if likeness is None else likeness.to_dict(),
        "dataset": str(path),
        "dataset_sha256": file_sha256(path),
    }


def write_generation_report(folder: Path, summary: dict[str, Any], likeness: HumanLikeness | None) -> Path:
    """Write `report.html` of the finished job in `folder` and return its path."""
    path, dataset = folder / "report.html", folder / "dataset.hdf5"
    report = Report("r2s2r generate", f"{summary['episodes']} episodes, replayed in parallel")
    report.section("In short")
    report.key_figures(
        {
            "episodes": summary["episodes"],
            "attempts": summary["attempts"],
            "yield": f"{100 * summary['yield']:.0f} %",
        },
        notes={"yield": f"95 %: {interval_text(summary['successes'], summary['attempts'])}"},
    )
    report.section("What the cameras see")
    for camera in ("head", "wrist"):
        clip = write_clip(folder / f"{camera}.mp4", _film(dataset, f"{camera}_rgb"), 30.0 / EVERY)
        report.clip(clip, f"{camera} camera in the first episodes", wide=True)
    report.section("Attempts")
    report.chart(svg(outcome_bars(summary["failures"], summary["successes"])), "How attempts ended")
    for name in ("condition", "class", "shape"):
        report.chart(svg(rate_by_group(summary[f"by_{name}"])), f"Success by {name}, with 95 % intervals")
    if likeness is not None:
        add_human_likeness(report, {folder.name: likeness})
    report.section("Data set")
    told = summarize(dataset)
    report.table([{"what": key, "value": value} for key, value in told.items() if isinstance(value, str | int | float)])
    report.data("Summary", summary)
    report.write(path)
    return path


def _film(dataset: Path, key: str) -> np.ndarray:
    """Return a grid (T, H, W, 3) uint8 of the pictures `key` of the first episodes; a short one stays at its end."""
    with DatasetReader(dataset) as reader:
        clips = [reader[number].obs[key][::EVERY] for number in reader.numbers[: COLUMNS * ROWS]]
    longest = max(map(len, clips))
    held = [np.concatenate([clip, np.repeat(clip[-1:], longest - len(clip), axis=0)]) for clip in clips]
    return grid(np.stack(held).repeat(2, axis=2).repeat(2, axis=3), min(COLUMNS, len(held)))


def _by_condition(selection: Selection) -> dict[str, tuple[int, int]]:
    groups: dict[str, list[AttemptRecord]] = {}
    for key, records in selection.attempts.items():
        groups.setdefault(key.condition, []).extend(records)
    return {name: (sum(record.success for record in group), len(group)) for name, group in groups.items()}


def _by_group(records: Iterable[AttemptRecord], name_of: Callable[[AttemptRecord], str]) -> dict[str, tuple[int, int]]:
    """Return successes and attempts of each group."""
    good, total = Counter(), Counter()
    for record in records:
        total[name_of(record)] += 1
        good[name_of(record)] += record.success
    return {name: (good[name], total[name]) for name in sorted(total)}


def write_comparison(
    path: Path, summaries: Mapping[str, dict[str, Any]], likeness: Mapping[str, HumanLikeness]
) -> Path:
    """Write a report on several data sets to `path` and return it."""
    report = Report("r2s2r generate", f"{len(summaries)} data sets: {', '.join(summaries)}")
    report.section("Data sets")
    report.table(
        [
            {
                "data set": name,
                "episodes": summary["episodes"],
                "attempts": summary["attempts"],
                "yield": f"{100 * summary['yield']:.0f} %",
                "95 %": interval_text(summary["successes"], summary["attempts"]),
                "report": summary["report"],
            }
            for name, summary in summaries.items()
        ],
        "What was made",
    )
    yields = {name: (summary["successes"], summary["attempts"]) for name, summary in summaries.items()}
    report.chart(svg(rate_by_group(yields)), "Success of the attempts, with 95 % intervals")
    if likeness:
        add_human_likeness(report, likeness)
    report.data("Summaries", dict(summaries))
    report.write(path)
    return path


def measure_likeness(dataset: Path, folder: Path) -> HumanLikeness | None:
    """Return how far the data set's motion is from the human demonstrations that its behavior holds out, if any."""
    held_out = Behavior.load(folder / "behavior").held_out
    if not any(held_out.values()):
        return None
    return human_likeness(dataset, held_out, poses=read_world(folder / "world.yaml").poses)
