"""Charts of a study: what grounding is worth, and how policies converged."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from r2s2r.evaluation.charts import styled
from r2s2r.evaluation.group_bootstrap import Interval
from r2s2r.evaluation.palette import CURVE, INK, LINE, MUTED
from r2s2r.study.convergence import Round

_WIDTH = 5.6
"""Of a chart beside another [inch], as in the charts of the evaluation."""


@styled
def effect_bars(effects: Mapping[str, Interval]) -> Figure:
    """Return each effect as a dot on its 95 % interval, in points of success."""
    figure = Figure(figsize=(2.0 * _WIDTH, 0.36 * len(effects) + 0.7), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0.0, color=MUTED, linewidth=1.0)
    for row, effect in enumerate(effects.values()):
        axes.hlines(row, 100 * effect.low, 100 * effect.high, color=CURVE, alpha=0.35, linewidth=6)
        axes.plot(100 * effect.value, row, "o", color=CURVE, markersize=7)
    axes.set_yticks(range(len(effects)), list(effects))
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_ylim(len(effects) - 0.45, -0.55)
    axes.grid(axis="x", color=LINE)
    axes.set_xlabel("points of success, 95 % interval", color=MUTED)
    return figure


@styled
def convergence_curves(rounds: Mapping[str, Sequence[Round]]) -> Figure:
    """Return held-out loss, and success in validation where it was measured, of each policy over its steps."""
    tried = any(one.trials for each in rounds.values() for one in each)
    figure = Figure(figsize=(2.0 * _WIDTH, 3.0), layout="constrained")
    panels = figure.subplots(1, 2 if tried else 1, squeeze=False)[0]
    for name, each in rounds.items():
        steps = [one.steps for one in each]
        panels[0].plot(steps, [one.held_out_loss for one in each], "o-", markersize=3, label=name.replace("_", " "))
        if tried:
            panels[1].plot(steps, [one.rate for one in each], "o-", markersize=3)
    panels[0].set_ylabel("held-out loss", color=MUTED)
    panels[0].legend(frameon=False, fontsize=8)
    if tried:
        panels[1].set_ylabel("success in validation", color=MUTED)
        panels[1].yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        panels[1].set_ylim(-0.04, 1.04)
    for panel in panels:
        panel.set_xlabel("training steps", color=MUTED)
        panel.grid(axis="y", color=LINE)
    return figure
