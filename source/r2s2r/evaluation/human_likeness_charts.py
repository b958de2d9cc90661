"""Charts of human-likeness: distances with intervals, what they are made of, and the speed of the wrist."""

from collections.abc import Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from r2s2r.behavior.motion_features import FEATURES, PROFILE_POINTS
from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.charts import styled
from r2s2r.evaluation.human_likeness import HumanLikeness
from r2s2r.evaluation.palette import CURVE, FAILURE, INK, LINE, MUTED, SECOND_CURVE, SUCCESS

COLOURS = (CURVE, FAILURE, SECOND_CURVE, SUCCESS)
"""Of the compared sets, in their order; the held-out demonstrations are grey. More sets than the usual four have
colours along a scale instead."""

LEGEND_COLUMNS = 3
"""Entries beside each other in a legend: names of sets are long."""

LINEAR_WITHIN = 3.0
"""Standard deviations up to which an axis is linear; beyond it is logarithmic: a script may be tens of them off."""

_WIDTH = 5.6
_ROW = 0.30


@styled
def distance_chart(results: Mapping[str, HumanLikeness]) -> Figure:
    """Return the energy distance of each set from the held-out demonstrations, with its interval.

    Raises:
        ConfigError: nothing to show, or more sets than colours.
    """
    colours = _colours(results)
    figure = Figure(figsize=(_WIDTH, 0.42 * len(results) + 0.62), layout="constrained")
    axes = figure.subplots()
    _name_rows(axes, list(results))
    for row, (name, result) in enumerate(results.items()):
        found = result.distance
        axes.hlines(row, found.low, found.high, color=colours[name], alpha=0.35, linewidth=6)
        axes.plot(found.value, row, "o", color=colours[name], markersize=7)
        text = f"{found.value:.2f}  ({found.low:.2f} to {found.high:.2f})"
        beside = (1.0, row), (8, 0)
        axes.annotate(text, *beside, xycoords=("axes fraction", "data"), textcoords="offset points", va="center")
    lowest = min(result.distance.low for result in results.values())
    highest = max(result.distance.high for result in results.values())
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set_xlim(min(0.0, lowest) - 0.2, 1.3 * max(1.0, highest))
    _plain_ticks(axes, (0, 1, 10, 100))
    axes.grid(axis="x")
    axes.set_xlabel("energy distance from held-out demonstrations, 95 % interval")
    return figure


@styled
def feature_chart(results: Mapping[str, HumanLikeness]) -> Figure:
    """Return where each number of the motions lies: median and middle 90 % of each set, in the held-out's deviations.

    Raises:
        ConfigError: nothing to show, or more sets than colours.
    """
    colours = _colours(results)
    reference = next(iter(results.values()))
    figure = Figure(figsize=(1.35 * _WIDTH, _ROW * len(FEATURES) + 0.9), layout="constrained")
    axes = figure.subplots()
    _name_rows(axes, [feature.name for feature in FEATURES])
    rows = np.arange(len(FEATURES))
    low, middle, high = np.quantile(reference.scaled(reference.held_out), (0.05, 0.5, 0.95), axis=0)
    axes.barh(rows, high - low, left=low, height=0.8, color=LINE, zorder=1, label="held out, middle 90 %")
    axes.vlines(middle, rows - 0.4, rows + 0.4, color=MUTED, linewidth=1.2, zorder=2)
    offsets = np.linspace(-0.2, 0.2, len(results)) if len(results) > 1 else [0.0]
    for offset, (name, result) in zip(offsets, results.items(), strict=True):
        low, middle, high = np.quantile(result.scaled(result.data), (0.05, 0.5, 0.95), axis=0)
        axes.hlines(rows + offset, low, high, color=colours[name], linewidth=1.8, zorder=3)
        axes.plot(middle, rows + offset, "o", color=colours[name], markersize=4, zorder=4, label=name)
    axes.set_xscale("symlog", linthresh=LINEAR_WITHIN)
    _plain_ticks(axes, (-30, -10, -3, 0, 3, 10, 30))
    axes.grid(axis="x")
    axes.set_xlabel("deviations of the held-out demonstrations from their mean")
    _legend(figure)
    return figure


@styled
def speed_chart(results: Mapping[str, HumanLikeness]) -> Figure:
    """Return the wrist's speed over the normalised time of approach and transport, mean and one deviation.

    Raises:
        ConfigError: nothing to show, or more sets than colours.
    """
    colours = _colours(results)
    reference = next(iter(results.values()))
    time = np.linspace(0.0, 1.0, PROFILE_POINTS)
    figure = Figure(figsize=(1.35 * _WIDTH, 2.9), layout="constrained")
    curves = [("held out", reference.held_out, MUTED)]
    curves += [(name, result.data, colours[name]) for name, result in results.items()]
    for part, (title, axes) in enumerate(
        zip(("approach", "transport"), figure.subplots(1, 2, sharey=True), strict=True)
    ):
        for name, sample, colour in curves:
            mean, deviation = sample.speeds[:, part].mean(axis=0), sample.speeds[:, part].std(axis=0)
            axes.fill_between(time, mean - deviation, mean + deviation, color=colour, alpha=0.18, linewidth=0)
            axes.plot(time, mean, color=colour, linewidth=1.8, label=name)
        axes.set_title(title, fontsize=9, color=INK)
        axes.set_xlim(0.0, 1.0)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axes.grid(axis="y")
        axes.set_xlabel("time")
    figure.axes[0].set_ylim(bottom=0.0)
    figure.axes[0].set_ylabel("wrist speed [m/s]")
    _legend(figure)
    return figure


def _colours(results: Mapping[str, HumanLikeness]) -> dict[str, str]:
    if not results:
        raise ConfigError("human-likeness chart: 0 sets, allowed are 1 and more")
    if len(results) <= len(COLOURS):
        return dict(zip(results, COLOURS, strict=False))
    scale = colormaps["viridis"](np.linspace(0.0, 0.9, len(results)))
    return {name: to_hex(colour) for name, colour in zip(results, scale, strict=True)}


def _name_rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.spines["left"].set_visible(False)


def _plain_ticks(axes: Axes, ticks: tuple[int, ...]) -> None:
    low, high = axes.get_xlim()
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(shown, [str(tick) for tick in shown])
    axes.minorticks_off()


def _legend(figure: Figure) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), LEGEND_COLUMNS), frameon=False)
