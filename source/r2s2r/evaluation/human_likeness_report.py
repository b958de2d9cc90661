"""The part of a report that tells how human-like motions are."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from r2s2r.behavior.motion_features import FEATURES
from r2s2r.evaluation.charts import svg
from r2s2r.evaluation.human_likeness import HumanLikeness, MotionSample
from r2s2r.evaluation.human_likeness_charts import distance_chart, feature_chart, speed_chart
from r2s2r.evaluation.report import Report


def add_human_likeness(report: Report, results: Mapping[str, HumanLikeness]) -> None:
    """Add a section on sets that were compared with the same held-out demonstrations.

    Args:
        report: where to.
        results: human-likeness by the name of the set, such as `grounded` and `ungrounded`.

    Raises:
        ConfigError: nothing to show, or more sets than a chart has colours for.
    """
    reference = next(iter(results.values())).held_out
    report.section("Human-likeness")
    report.text(
        f"How far the motions of each set are from {len(reference)} human demonstrations that no set adapts. Every "
        f"motion becomes {len(FEATURES)} numbers of wrist and hand, each scaled by its standard deviation over the "
        "held-out demonstrations. Energy distance 0 means the same distribution; the interval is a bootstrap over the "
        "demonstrations that the motions adapt."
    )
    report.key_figures(
        {name: f"{result.distance.value:.2f}" for name, result in results.items()},
        {name: _note(result) for name, result in results.items()},
    )
    report.chart(svg(distance_chart(results)), "Energy distance from the held-out demonstrations.")
    report.chart(svg(speed_chart(results)), "Speed of the wrist, mean and one standard deviation.", wide=True)
    report.chart(svg(feature_chart(results)), "Every number: median and middle 90 % of each set.", wide=True)
    report.table(
        [_row(k, results) for k in range(len(FEATURES))], "Mean and standard deviation; distance of each alone."
    )
    left_out = [
        {"set": name, "rule": rule, "motions": len(motions), "for example": result.data.left_out[motions[0]]}
        for name, result in results.items()
        for rule, motions in result.data.left_out_by_rule.items()
    ]
    if left_out:
        report.table(left_out, "Motions that could not be measured, by the rule that they break.")


def _note(result: HumanLikeness) -> str:
    interval = f"{result.distance.low:.2f} to {result.distance.high:.2f}"
    return f"{interval}, {len(result.data)} motions of {len(np.unique(result.data.sources))} demonstrations"


def _row(index: int, results: Mapping[str, HumanLikeness]) -> dict[str, Any]:
    feature = FEATURES[index]
    reference = next(iter(results.values()))
    row: dict[str, Any] = {
        "number": f"{feature.name} [{feature.unit}]" if feature.unit else feature.name,
        "held out": _spread(reference.held_out, index),
    }
    for name, result in results.items():
        row[name] = _spread(result.data, index)
        row[f"{name}: distance"] = f"{result.by_feature[index]:.2f}"
    return row


def _spread(sample: MotionSample, index: int) -> str:
    values = sample.features[:, index]
    return f"{values.mean():.3f} ± {values.std():.3f}"
