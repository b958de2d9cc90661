"""Charts of a report: how attempts ended, success by group with intervals, one demonstration over time.

Each chart is a Matplotlib `Figure` made without `pyplot`, so that nothing is shared between callers; `svg` and `png`
turn it into a file's content, the same bytes for the same figures.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from io import BytesIO, StringIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from matplotlib.typing import RcKeyType

from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.intervals import interval_text, wilson_interval
from r2s2r.evaluation.palette import CURVE, FAILURE, INK, LINE, MUTED, SECOND_CURVE, SUCCESS

_WIDTH = 5.6
"""Of every chart [inch]: half of the report's width at the letters' own size, all of a printed page's at most."""

_BAR_PITCH = 0.36
"""Height that one bar or row takes [inch]."""

_STYLE: dict[RcKeyType, Any] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib: the same letters on every machine
    "font.size": 9.0,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 9.0,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "svg.fonttype": "path",
    "svg.hashsalt": "r2s2r",  # else identifiers are random and two runs differ
}

_PHASE_TINTS = {
    Phase.APPROACH: "#f3f6f9",
    Phase.CLOSE: "#dcebf7",
    Phase.LIFT: "#f3f6f9",
    Phase.TRANSPORT: "#e8edf2",
    Phase.RELEASE: "#dcebf7",
    Phase.RETREAT: "#f3f6f9",
}
"""Phases in which the hand moves are blue, the others grey, neighbours never alike."""


def styled[**P, R](make: Callable[P, R]) -> Callable[P, R]:
    """Run `make` with this module's style and leave the caller's as it was."""

    @wraps(make)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> R:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_STYLE)
            return make(*args, **kwargs)

    return in_style


@styled
def svg(figure: Figure) -> str:
    """Return a chart as SVG text without outside fonts, date or random identifiers."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


@styled
def png(figure: Figure, dpi: float = 144.0) -> bytes:
    """Return a chart as the bytes of a PNG picture."""
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=dpi, metadata={"Software": None})
    return picture.getvalue()


@styled
def outcome_bars(failures: Mapping[str, int], successes: int) -> Figure:
    """Return how many attempts ended each way: successes first, then the failures, most frequent first.

    Args:
        failures: attempts by reason, as `judging.count_reasons` gives them.
        successes: attempts that succeeded.

    Raises:
        ConfigError: a count is negative.
    """
    for name, count in [("successes", successes), *failures.items()]:
        if count < 0:
            raise ConfigError(f"outcome chart: {name} is {count}, allowed are counts from 0")
    ordered = sorted(failures.items(), key=lambda item: (-item[1], item[0]))
    names = ["success", *(name.replace("_", " ") for name, _ in ordered)]
    counts = [successes, *(count for _, count in ordered)]
    attempts = sum(counts)
    figure, axes = _rows_figure(names)
    axes.barh(range(len(counts)), counts, height=0.62, color=[SUCCESS, *[FAILURE] * len(ordered)])
    axes.set_xlim(0, 1.18 * max(*counts, 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.set_xlabel(f"attempts (of {attempts})")
    for row, count in enumerate(counts):
        share = f"{100 * count / attempts:.1f} %" if attempts else "n/a"
        axes.annotate(f"{count}  ({share})", (count, row), (5, 0), textcoords="offset points", va="center")
    return figure


@styled
def rate_by_group(groups: Mapping[str, tuple[int, int]]) -> Figure:
    """Return the success rate of each group as a dot on its 95 % Wilson interval, with the counts beside it.

    Args:
        groups: {name: (successes, attempts)}, drawn from top to bottom; a group without attempts says `n/a`.

    Raises:
        ConfigError: no groups, or counts that contradict each other.
    """
    if not groups:
        raise ConfigError("rate chart: no groups, at least one is needed")
    figure, axes = _rows_figure(list(groups))
    axes.grid(axis="x")
    axes.set_xlim(-0.02, 1.02)  # room for the dots of 0 and 100 %
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axes.set_xticks([0.0, 0.5, 1.0])
    axes.set_xlabel("success rate, 95 % interval")
    for row, (successes, attempts) in enumerate(groups.values()):
        interval = wilson_interval(successes, attempts)
        text = "0/0  n/a"
        if interval is not None:
            share = successes / attempts
            axes.hlines(row, *interval, color=CURVE, alpha=0.35, linewidth=6)
            axes.plot(share, row, "o", color=CURVE, markersize=7, clip_on=False)
            text = f"{successes}/{attempts}  {100 * share:.1f} %  ({interval_text(successes, attempts)})"
        axes.annotate(text, (1, row), (10, 0), textcoords="offset points", va="center", annotation_clip=False)
    return figure


@styled
def traces(demonstration: Demonstration) -> Figure:
    """Return a demonstration over time: speed of the wrist beside the belt's, and how far the hand is closed."""
    time_s = np.arange(len(demonstration)) / demonstration.rate_hz
    velocity = np.gradient(demonstration.wrist_pos_b, axis=0) * demonstration.rate_hz
    belt_speed = float(np.linalg.norm(demonstration.belt_velocity_b))
    figure = Figure(figsize=(_WIDTH, 3.1), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    upper.plot(time_s, np.linalg.norm(velocity, axis=1), color=CURVE, linewidth=1.8)
    upper.axhline(belt_speed, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)))
    upper.annotate("belt", (time_s[-1], belt_speed), (4, 0), textcoords="offset points", va="center", color=MUTED)
    upper.set_ylabel("wrist speed [m/s]")
    upper.set_ylim(bottom=0)
    lower.plot(time_s, hand_closure(demonstration), color=SECOND_CURVE, linewidth=1.8)
    lower.set_ylabel("hand closed")
    lower.set_ylim(-0.08, 1.08)
    lower.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    lower.set_yticks([0.0, 0.5, 1.0])
    lower.set_xlabel("time [s]")
    lower.set_xlim(0, time_s[-1])
    for axes in (upper, lower):
        axes.grid(axis="y")
        axes.tick_params(axis="y", labelsize=8.5)
        _shade_phases(axes, demonstration)
    _name_phases(upper, demonstration)
    return figure


def hand_closure(demonstration: Demonstration) -> np.ndarray:
    """Return how far the hand has gone from its posture before closing (0) to the one after closing (1), (T,).

    The posture is projected on the straight line between the two in joint space. All zeros where the hand never closes.
    """
    posture = demonstration.hand_joint_pos
    closing = demonstration.span(Phase.CLOSE)
    if closing.stop <= closing.start:
        return np.zeros(len(demonstration))
    start = posture[max(closing.start - 1, 0)]
    way = posture[closing.stop - 1] - start
    length_squared = float(way @ way)
    return (posture - start) @ way / length_squared if length_squared > 0 else np.zeros(len(demonstration))


def _rows_figure(names: list[str]) -> tuple[Figure, Axes]:
    """Return a figure with one named row for each of `names`, the first on top."""
    height = _BAR_PITCH * len(names) + 0.62
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.spines["left"].set_visible(False)
    return figure, axes


def _spans_s(demonstration: Demonstration) -> dict[Phase, tuple[float, float]]:
    """Return begin and end of each phase that occurs [s]; they touch."""
    spans = {phase: demonstration.span(phase) for phase in Phase}
    rate_hz = demonstration.rate_hz
    return {phase: (s.start / rate_hz, s.stop / rate_hz) for phase, s in spans.items() if s.stop > s.start}


def _shade_phases(axes: Axes, demonstration: Demonstration) -> None:
    for phase, (begin, end) in _spans_s(demonstration).items():
        axes.axvspan(begin, end, color=_PHASE_TINTS[phase], linewidth=0, zorder=0)


def _name_phases(axes: Axes, demonstration: Demonstration) -> None:
    placing: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    for phase, (begin, end) in _spans_s(demonstration).items():
        middle = (begin + end) / 2
        axes.annotate(phase.name.lower(), (middle, 1), (0, 3), ha="center", fontsize=8, color=MUTED, **placing)
