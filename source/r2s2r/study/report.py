"""The report of a study: table, what grounding is worth, how policies converged, what they were trained on."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from r2s2r.contracts.files import whole_file, write_json
from r2s2r.evaluation.charts import svg
from r2s2r.evaluation.intervals import interval_text
from r2s2r.evaluation.judging import rate
from r2s2r.evaluation.policy_charts import shift_bars, success_bars
from r2s2r.evaluation.report import Report
from r2s2r.study.charts import convergence_curves, effect_bars
from r2s2r.study.results import StudyResults


def write_study(root: Path, results: StudyResults) -> Path:
    """Write `study.json`, `table.txt`, `figures/*.svg` and `report.html` into the study's folder; return the last one.

    Raises:
        ConfigError: the folder cannot be written.
    """
    write_json(root / "study.json", results.to_dict())
    _write_text(root / "table.txt", table_text(results) + "\n")
    figures = _figures(results)
    for name, figure in figures.items():
        _write_text(root / "figures" / f"{name}.svg", svg(figure))
    return _report(results, figures).write(root / "report.html")


def table_text(results: StudyResults) -> str:
    """Return table, effects and convergence for a terminal or a plain file."""
    lines = [results.table.text(), ""]
    lines += [f"{name}: {_points(effect)}" for name, effect in results.effects.items()]
    lines += ["", "cell  policy  steps  held-out loss  validation  converged"]
    lines += ["  ".join(map(str, row.values())) for row in _convergence_rows(results)]
    return "\n".join(lines)


def _figures(results: StudyResults) -> dict[str, Figure]:
    curves = {
        f"convergence_cell_{seed}": convergence_curves({name: each.rounds for name, each in policies.items()})
        for seed, policies in results.training.items()
    }
    return {
        "success": success_bars(results.table),
        "shifted": shift_bars(results.table),
        "effects": effect_bars(results.effects),
        **curves,
    }


def _report(results: StudyResults, figures: dict[str, Figure]) -> Report:
    scale, seeds = results.plans[0].scale, [plan.seed for plan in results.plans]
    report = Report("Study", f"Scale {scale.name}, virtual cells with the hidden worlds {', '.join(map(str, seeds))}")
    report.section("In short")
    counts = {name: results.table.counts(name, "total") for name in results.table.policies}
    report.key_figures(
        {name: rate(*count) for name, count in counts.items()},
        {name: f"95 %: {interval_text(*count)}" for name, count in counts.items()},
    )
    report.section("Success")
    report.table(results.table.rows(), "Successes of trials, with 95 % Wilson intervals; all cells together.")
    report.chart(svg(figures["success"]), "Success over all trials, with 95 % Wilson intervals.")
    report.chart(svg(figures["shifted"]), "Under the conditions of the demonstrations, and under others.")
    if len(results.tables) > 1:
        for seed, table in results.tables.items():
            report.table(table.rows(), f"Cell {seed} alone.")
    _effects(report, results, figures["effects"])
    _convergence(report, results, figures)
    report.section("Data sets")
    report.table(_data_rows(results), "Attempts that succeeded were kept until there were enough.")
    report.section("Where it comes from")
    report.text(results.command)
    report.data("study.json", results.to_dict())
    return report


def _effects(report: Report, results: StudyResults, figure: Figure) -> None:
    report.section("What grounding is worth")
    cells = len(results.plans)
    over = "cells, and of trials within them" if cells > 1 else "trials of this one cell; it says nothing about others"
    report.table(
        [{"effect": name, "points of success": _points(effect)} for name, effect in results.effects.items()],
        f"Differences of success rates with 95 % intervals of a paired bootstrap over {over}.",
    )
    report.chart(svg(figure), "The same, drawn.", wide=True)


def _convergence(report: Report, results: StudyResults, figures: dict[str, Figure]) -> None:
    report.section("Convergence")
    report.table(
        _convergence_rows(results),
        "Training goes on in rounds until neither the loss on held-out real demonstrations nor success in validation "
        "trials, of another draw than the evaluation's, gets better. The best round's policy is evaluated.",
    )
    for seed in results.training:
        report.chart(svg(figures[f"convergence_cell_{seed}"]), f"Cell {seed}.", wide=True)


def _convergence_rows(results: StudyResults) -> list[dict[str, Any]]:
    return [
        {
            "cell": str(seed),
            "policy": name,
            "steps": f"{each.taken.steps} of {each.rounds[-1].steps}",
            "held-out loss": f"{each.taken.held_out_loss:.4f}",
            "validation": f"{each.taken.successes}/{each.taken.trials}" if each.taken.trials else "n/a",
            "converged": "yes" if each.converged else "no",
        }
        for seed, policies in results.training.items()
        for name, each in policies.items()
    ]


def _data_rows(results: StudyResults) -> list[dict[str, Any]]:
    return [
        {"cell": str(seed), "data set": name, "episodes": each["episodes"], "attempts": each["attempts"]}
        for seed, sets in results.data_sets.items()
        for name, each in sets.items()
    ]


def _points(effect: Any) -> str:
    return f"{100 * effect.value:+.1f} ({100 * effect.low:+.1f} to {100 * effect.high:+.1f})"


def _write_text(path: Path, text: str) -> None:
    with whole_file(path) as aside:
        aside.write_text(text, encoding="utf-8")
