"""Charts of a grounding report: parameters with intervals, residual maps, tracking, what each factor leaves."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from r2s2r.evaluation.charts import styled
from r2s2r.evaluation.palette import CURVE, FAILURE, INK, MUTED, SUCCESS
from r2s2r.world.estimate import Estimate

_WIDTH = 5.6
"""Of a chart beside another [inch], as in :mod:`.charts`."""

_PANELS = 3
"""Panels side by side in a wide chart."""

_MAX_POINTS = 1500
"""Of a curve or map; more is not seen and makes the file heavy."""


@styled
def interval_panels(
    estimates: Sequence[Estimate], nominal: Mapping[str, np.ndarray], truth: Mapping[str, np.ndarray] | None = None
) -> Figure:
    """Return a panel for each quantity: how far the fitted numbers lie from the nominal ones, with 95 % intervals.

    Args:
        estimates: fitted quantities; of poses and rotations the twist from the nominal one is drawn.
        nominal: the ungrounded values by name.
        truth: hidden values by name, drawn as crosses; None where nobody knows them.
    """
    rows = -(-len(estimates) // _PANELS)
    figure = Figure(figsize=(2.0 * _WIDTH, 2.0 * rows), layout="constrained")
    for index, estimate in enumerate(estimates):
        axes = figure.add_subplot(rows, _PANELS, index + 1)
        shift = estimate.error(nominal[estimate.name])
        places = np.arange(len(shift))
        known = np.isfinite(estimate.half_width)
        axes.axhline(0.0, color=MUTED, linewidth=0.8)
        axes.errorbar(places[known], shift[known], estimate.half_width[known], fmt="o", color=CURVE, ms=3, capsize=2)
        axes.plot(places[~known], shift[~known], "o", color=MUTED, markersize=3, fillstyle="none")
        if truth is not None:
            axes.plot(places, shift - estimate.error(truth[estimate.name]), "x", color=FAILURE, markersize=4)
        axes.set_title(f"{estimate.name} [{estimate.unit}]", fontsize=8.5, color=INK, loc="left")
        axes.set_xticks(places if len(places) <= 16 else places[::6])
        axes.tick_params(labelsize=7)
    return figure


@styled
def residual_map(pixels: np.ndarray, residuals: np.ndarray, width: int, height: int) -> Figure:
    """Return where in the picture a camera model misses, arrows enlarged so that the median one is 15 px long.

    Args:
        pixels: measured points (K, 2) [px].
        residuals: measured minus predicted (K, 2) [px].
        width: of the picture [px].
        height: of the picture [px].
    """
    chosen = _thinned(len(pixels))
    pixels, residuals = pixels[chosen], residuals[chosen]
    size = float(np.median(np.linalg.norm(residuals, axis=1))) if len(residuals) else 0.0
    scale = 15.0 / size if size > 0 else 1.0
    figure = Figure(figsize=(_WIDTH, _WIDTH * height / width), layout="constrained")
    axes = figure.add_subplot()
    axes.quiver(*pixels.T, *(residuals.T * scale), angles="xy", scale_units="xy", scale=1, width=0.002, color=CURVE)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_aspect("equal")
    axes.set_xlabel(f"median {size:.2f} px, drawn {scale:.0f} times as long")
    return figure


@styled
def tracking(
    time_s: np.ndarray, measured: np.ndarray, before: np.ndarray, after: np.ndarray, names: Sequence[str]
) -> Figure:
    """Return measured joints beside what the nominal and the fitted simulator do with the same commands.

    Args:
        time_s: (T,) [s].
        measured: (T, J) [rad].
        before: (T, J) nominal simulator [rad].
        after: (T, J) fitted simulator [rad].
        names: of the joints (J).
    """
    chosen = _thinned(len(time_s))
    time_s = time_s[chosen] - time_s[0]
    figure = Figure(figsize=(_WIDTH, 1.5 * len(names) + 0.4), layout="constrained")
    panels = figure.subplots(len(names), 1, squeeze=False, sharex=True)[:, 0]
    for j, (axes, name) in enumerate(zip(panels, names, strict=True)):
        axes.plot(time_s, before[chosen, j] - measured[chosen, j], color=FAILURE, linewidth=0.8, label="nominal")
        axes.plot(time_s, after[chosen, j] - measured[chosen, j], color=SUCCESS, linewidth=0.8, label="fitted")
        axes.set_ylabel(f"{name}\n[rad]", fontsize=8)
    panels[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False, ncols=2)
    panels[-1].set_xlabel("time [s]; simulated minus measured, held-out motion")
    return figure


@styled
def remaining_gap(gaps: Mapping[str, tuple[float, float]], unit: str) -> Figure:
    """Return how far simulator and cell lie apart by each factor, before and after its fit, largest first.

    Args:
        gaps: (before, after) by factor.
        unit: of the numbers.
    """
    names = sorted(gaps, key=lambda name: -gaps[name][1])
    figure = Figure(figsize=(_WIDTH, 0.62 * len(names) + 0.7), layout="constrained")
    axes: Axes = figure.add_subplot()
    for row, name in enumerate(names):
        for offset, value, colour in ((-0.18, gaps[name][0], FAILURE), (0.18, gaps[name][1], SUCCESS)):
            axes.barh(row + offset, value, height=0.32, color=colour)
            text = f"{value:.2g} {unit}"
            axes.annotate(text, (value, row + offset), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(right=4.0 * max(max(pair) for pair in gaps.values()))
    axes.set_xlabel(f"remaining difference [{unit}]: nominal above, fitted below")
    return figure


def _thinned(count: int) -> slice:
    return slice(None, None, max(1, count // _MAX_POINTS))
