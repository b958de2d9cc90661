"""Charts of an analysis: planes of embeddings (Figure 3a), coverage, mixture, returning, fingers (Figure 3b)."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.charts import styled
from r2s2r.evaluation.coverage import CoverageCurve
from r2s2r.evaluation.finger_use import FingerUse
from r2s2r.evaluation.getting_back import Survival
from r2s2r.evaluation.group_bootstrap import Interval
from r2s2r.evaluation.mixture_claim import MixtureClaim
from r2s2r.evaluation.observation_view import REAL, Embedding
from r2s2r.evaluation.palette import CURVE, FAILURE, INK, LINE, MUTED, SECOND_CURVE, SUCCESS

COLOURS = (CURVE, FAILURE, SUCCESS, SECOND_CURVE, "#e69f00", "#56b4e9", "#8c6d46", "#999933")
"""Of sets and policies in their order; the last two follow Okabe and Ito's by P. Tol's muted scheme."""

FINGER_COLOURS = (LINE, FAILURE, "#e69f00", CURVE, MUTED)
"""Of 1, 2, 3 and 4 fingers, and of hands that never closed."""

SCATTERED = 600
"""Points of a domain that are drawn at most, evenly over its rows."""

_WIDTH = 5.6
_ROW = 0.34


ROLLOUTS = ", rollouts"
"""Behind a policy's name where its rollouts are meant."""


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each set or policy; one name has one colour in all charts, and so have its rollouts.

    Raises:
        ConfigError: there are more names than colours.
    """
    names = list(dict.fromkeys(names))
    if len(names) > len(COLOURS):
        raise ConfigError(f"analysis chart: {len(names)} sets and policies, allowed are up to {len(COLOURS)}")
    colours = dict(zip(names, COLOURS, strict=False))
    return colours | {f"{name}{ROLLOUTS}": colour for name, colour in colours.items()}


@styled
def domain_plane(embedding: Embedding, colours: Mapping[str, str]) -> Figure:
    """Return the plane of the first two components: real and simulated sets left, rollouts over the real set right."""
    real = embedding.plane[REAL]
    rolled = {name: at for name, at in embedding.plane.items() if name.endswith(ROLLOUTS)}
    sets = {name: at for name, at in embedding.plane.items() if name not in (REAL, *rolled)}
    shown = [part for part in (sets, rolled) if part]
    figure = Figure(figsize=(1.35 * _WIDTH, 3.9), layout="constrained")
    panels = np.atleast_1d(np.array(figure.subplots(1, len(shown), sharex=True, sharey=True)))
    for axes, part in zip(panels, shown, strict=True):
        axes.plot(*_thinned(real).T, "o", color=INK, markersize=2.6, alpha=0.55, markeredgewidth=0, label=REAL)
        for name, at in part.items():
            colour = colours[name]
            axes.plot(*_thinned(at).T, "o", color=colour, markersize=2.6, alpha=0.45, markeredgewidth=0, label=name)
            axes.plot(*at.mean(axis=0), "X", color=colour, markersize=9, markeredgecolor="white")
        axes.plot(*real.mean(axis=0), "X", color=INK, markersize=9, markeredgecolor="white")
        axes.set_xlabel(f"component 1 ({100 * embedding.explained[0]:.0f} % of the variance)")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8, markerscale=2)
        axes.grid()
    panels[0].set_ylabel(f"component 2 ({100 * embedding.explained[1]:.0f} %)")
    return figure


@styled
def interval_rows(rows: Mapping[str, Interval], label: str, reference: float | None = None) -> Figure:
    """Return each figure as a dot on its interval, with the numbers beside it.

    Args:
        rows: {name: figure}, drawn from top to bottom; one that is NaN says `n/a`.
        label: of the axis.
        reference: where a dashed line is drawn, such as chance.

    Raises:
        ConfigError: no rows.
    """
    if not rows:
        raise ConfigError("interval chart: no rows, at least one is needed")
    figure = Figure(figsize=(1.2 * _WIDTH, _ROW * len(rows) + 0.7), layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(rows)), list(rows))
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    if reference is not None:
        axes.axvline(reference, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)))
    for row, interval in enumerate(rows.values()):
        if np.isfinite(interval.value):
            axes.hlines(row, interval.low, interval.high, color=CURVE, alpha=0.35, linewidth=6)
            axes.plot(interval.value, row, "o", color=CURVE, markersize=7, clip_on=False)
        beside = (1.0, row), (8, 0)
        axes.annotate(
            str(interval), *beside, xycoords=("axes fraction", "data"), textcoords="offset points", va="center"
        )
    axes.set_xlabel(f"{label}, 95 % interval")
    return figure


@styled
def coverage_chart(curves: Mapping[str, CoverageCurve], expected: float, colours: Mapping[str, str]) -> Figure:
    """Return the covered share of each policy's rollouts over time; `expected` is a real demonstration's own share."""
    figure, axes = _curves_figure()
    for name, curve in curves.items():
        colour = colours[name]
        middle = (curve.time_s[:-1] + curve.time_s[1:]) / 2
        value, low, high = np.array([(one.value, one.low, one.high) for one in curve.share]).T
        axes.fill_between(middle, low, high, color=colour, alpha=0.13, linewidth=0)
        axes.plot(middle, value, color=colour, linewidth=1.8, label=name)
    axes.axhline(expected, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), label="real, left out")
    axes.set_xlabel("time since the rollout began [s]")
    axes.set_ylabel("covered by real demonstrations")
    _share_axis(axes)
    _legend_above(axes)
    return figure


@styled
def mixture_chart(claims: Mapping[str, MixtureClaim], colours: Mapping[str, str]) -> Figure:
    """Return the share of decisions nearer to the real chunk over the distance from the real demonstrations."""
    figure, axes = _curves_figure()
    edges = next(iter(claims.values())).edges
    places = np.arange(len(edges) - 1)
    offsets = np.linspace(-0.2, 0.2, len(claims)) if len(claims) > 1 else np.zeros(1)
    for offset, (name, claim) in zip(offsets, claims.items(), strict=True):
        colour = colours[name]
        value, low, high = np.array([(one.value, one.low, one.high) for one in claim.nearer_real]).T
        axes.vlines(places + offset, low, high, color=colour, alpha=0.4, linewidth=3)
        axes.plot(places + offset, value, "o-", color=colour, markersize=5, linewidth=1.2, label=name)
    covered = sum(edge <= 1.0 for edge in edges[1:])
    axes.axvspan(-0.5, covered - 0.5, color=LINE, alpha=0.35, linewidth=0, zorder=0)
    axes.annotate("covered", (-0.45, 0.02), color=MUTED, fontsize=8)
    axes.axhline(0.5, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_xlim(-0.5, len(places) - 0.5)
    axes.set_xticks(places, [_bin_text(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True)])
    axes.set_xlabel("distance from the real demonstrations, in thresholds")
    axes.set_ylabel("nearer to the real action")
    _share_axis(axes)
    _legend_above(axes)
    return figure


@styled
def returning_chart(survivals: Mapping[str, Survival], colours: Mapping[str, str]) -> Figure:
    """Return the share of excursions that are still outside after some time (Kaplan-Meier)."""
    figure, axes = _curves_figure()
    for name, found in survivals.items():
        colour = colours[name]
        time = np.concatenate([[0.0], found.time_s])
        axes.step(time, np.concatenate([[1.0], found.share]), where="post", color=colour, linewidth=1.8, label=name)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("time since the excursion began [s]")
    axes.set_ylabel("still outside")
    _share_axis(axes)
    _legend_above(axes)
    return figure


@styled
def finger_chart(uses: Mapping[str, FingerUse]) -> Figure:
    """Return how many fingers took part in the grasps of each set, as shares of its episodes; pinches beside it."""
    figure = Figure(figsize=(1.35 * _WIDTH, _ROW * len(uses) + 1.0), layout="constrained")
    axes = figure.subplots()
    kinds = list(next(iter(uses.values())).counts())
    left = np.zeros(len(uses))
    for kind, colour in zip(kinds, FINGER_COLOURS, strict=True):
        shares = np.array([use.counts()[kind] / sum(use.counts().values()) for use in uses.values()])
        axes.barh(range(len(uses)), shares, left=left, height=0.62, color=colour, label=kind)
        left += shares
    axes.set_yticks(range(len(uses)), list(uses))
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_ylim(len(uses) - 0.45, -0.55)
    axes.set_xlim(0.0, 1.0)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axes.set_xlabel("share of the episodes")
    for row, use in enumerate(uses.values()):
        text = f"{use.pinches}/{len(use.shares)} pinches"
        axes.annotate(text, (1.0, row), (8, 0), textcoords="offset points", va="center", annotation_clip=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(kinds), frameon=False, fontsize=8)
    return figure


def _thinned(points: np.ndarray) -> np.ndarray:
    rows = np.linspace(0, len(points) - 1, min(SCATTERED, len(points))).astype(int)
    return points[rows]


def _curves_figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(1.35 * _WIDTH, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.grid(axis="y")
    return figure, axes


def _share_axis(axes: Axes) -> None:
    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def _legend_above(axes: Axes) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=8)


def _bin_text(low: float, high: float) -> str:
    return f"{low:g} to {high:g}" if np.isfinite(high) else f"above {low:g}"
