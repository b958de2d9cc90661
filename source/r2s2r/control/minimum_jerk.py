"""Time courses of human point-to-point motion, for progress s in 0..1 (values outside are clipped).

The minimum-jerk law (Flash and Hogan, J. Neurosci. 5(7), 1985) starts and ends at rest without acceleration. Several
such motions may overlap in time and add up (superposition, Flash and Henis, J. Cogn. Neurosci. 3(3), 1991).
"""

import numpy as np

PEAK_SPEED_RATIO = 1.875
"""Highest over mean speed of a minimum-jerk motion."""

_SKEW = 0.3585
"""Shift of the highest speed per unit of log rate ratio, see :func:`skewed_progress`."""


def progress(s: np.ndarray | float) -> np.ndarray:
    """Return the share of the way covered at `s`: 10 s^3 - 15 s^4 + 6 s^5."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (10.0 + s * (6.0 * s - 15.0))


def skewed_progress(s: np.ndarray | float, peak_fraction: float) -> np.ndarray:
    """Return the share of the way covered at `s` when the highest speed falls on `peak_fraction` (0.3..0.7).

    Time is bent by s / (s + k (1 - s)), which keeps rest and zero acceleration at both ends. The highest speed moves
    almost linearly with log k; the fitted slope puts it within 0.007 of `peak_fraction`.
    """
    k = np.exp((peak_fraction - 0.5) / _SKEW)
    s = np.clip(s, 0.0, 1.0)
    return progress(s / (s + k * (1.0 - s)))


def coasting(s: np.ndarray | float) -> np.ndarray:
    """Return the way (0..0.5) of a body that slows from unit speed to rest, without acceleration at both ends."""
    s = np.clip(s, 0.0, 1.0)
    return s - s**3 + 0.5 * s**4


def bump(p: np.ndarray | float) -> np.ndarray:
    """Return 16 p^2 (1 - p)^2: a detour that is 1 half way and flat, with no effect on speed, at both ends."""
    p = np.asarray(p)
    return 16.0 * (p * (1.0 - p)) ** 2
