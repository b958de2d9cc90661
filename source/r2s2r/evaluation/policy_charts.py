"""Figure 2: total success of each policy with its interval, and how its trials ended."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from r2s2r.evaluation.charts import styled
from r2s2r.evaluation.intervals import wilson_interval
from r2s2r.evaluation.palette import CURVE, INK, LINE, MUTED, SECOND_CURVE
from r2s2r.evaluation.policy_table import PolicyTable

_WIDTH = 5.6
"""Of a chart beside another [inch], as in :mod:`.charts`."""

_GROUPS = (("nominal", CURVE), ("shifted", SECOND_CURVE))
"""Columns drawn beside each other, with their colours."""


@styled
def success_bars(table: PolicyTable) -> Figure:
    """Return a bar for each policy, its success over all trials, with the 95 % Wilson interval and the counts."""
    figure = Figure(figsize=(_WIDTH, 3.3), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(table.policies):
        successes, trials = table.counts(name, "total")
        interval = wilson_interval(successes, trials)
        if interval is None:
            continue
        share = successes / trials
        axes.bar(place, share, width=0.62, color=CURVE)
        axes.vlines(place, *interval, color=INK, linewidth=1.2)
        axes.annotate(
            f"{100 * share:.0f} %\n{successes}/{trials}",
            (place, interval[1]),
            (0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8.5,
        )
    _finish(axes, table)
    return figure


@styled
def shift_bars(table: PolicyTable) -> Figure:
    """Return two bars for each policy, under the conditions that demonstrations show and under those they do not."""
    figure = Figure(figsize=(_WIDTH, 3.3), layout="constrained")
    axes = figure.subplots()
    for side, (column, colour) in enumerate(_GROUPS):
        for place, name in enumerate(table.policies):
            successes, trials = table.counts(name, column)
            interval = wilson_interval(successes, trials)
            if interval is None:
                continue
            at = place + 0.36 * (side - 0.5)
            axes.bar(at, successes / trials, width=0.32, color=colour, label=None if place else column)
            axes.vlines(at, *interval, color=INK, linewidth=1.0)
            axes.annotate(
                f"{successes}/{trials}",
                (at, interval[1]),
                (0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
    axes.legend(loc="upper left", ncols=2, frameon=False, fontsize=8.5, borderaxespad=0.0)
    _finish(axes, table)
    return figure


def _finish(axes, table: PolicyTable) -> None:
    names = [name.replace("_", "\n") for name in table.policies]
    axes.set_xticks(np.arange(len(names)), names)
    axes.tick_params(axis="x", labelcolor=INK)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_ylim(0.0, 1.22)
    axes.set_yticks(np.linspace(0.0, 1.0, 6))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axes.grid(axis="y", color=LINE)
    axes.set_ylabel("success, 95 % interval", color=MUTED)
