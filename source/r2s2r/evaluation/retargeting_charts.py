"""Charts of a retargeting: how far the robot stays from what was asked, over time."""

import numpy as np
from matplotlib.figure import Figure

from r2s2r.evaluation.charts import styled
from r2s2r.evaluation.palette import CURVE, FAILURE, MUTED, SECOND_CURVE

_SIZE = (5.6, 2.4)
"""Of the chart [inch]: beside a clip."""

_LEAST_MM = 1.0
"""Height of the chart at least [mm]."""

_MOST_POINTS = 1500
"""Of a curve; more is not seen and makes the file heavy."""


@styled
def residuals_over_time(
    time_s: np.ndarray, fingertips_m: np.ndarray | None, wrist_m: np.ndarray | None, tracked: np.ndarray
) -> Figure:
    """Return distances over time, with the frames in which nothing was tracked marked below.

    Args:
        time_s: (T,) [s].
        fingertips_m: (T,) mean distance of the fingertips from their targets, NaN where there is none; None without
            fingers [m].
        wrist_m: (T,) distance of the arm's wrist from its path; None without a path [m].
        tracked: (T,) bool.
    """
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    kept = slice(None, None, max(1, -(-len(time_s) // _MOST_POINTS)))
    for values, colour, name in ((fingertips_m, CURVE, "fingertips"), (wrist_m, SECOND_CURVE, "wrist")):
        if values is not None:
            axes.plot(time_s[kept], 1e3 * values[kept], color=colour, linewidth=1.0, label=name)
    lost = np.flatnonzero(~tracked)
    if len(lost):
        axes.plot(time_s[lost], np.zeros(len(lost)), "|", color=FAILURE, markersize=6, label="not tracked")
    # What is only rounding shall not fill the chart.
    axes.set_ylim(0.0, max(_LEAST_MM, axes.get_ylim()[1]))
    axes.set_xlabel("time [s]")
    axes.set_ylabel("residual [mm]", color=MUTED)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8, ncols=3)
    return figure
