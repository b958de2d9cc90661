"""Low-pass for human motion without delay."""

import numpy as np
from scipy.signal import butter, sosfiltfilt

CUTOFF_HZ = 10.0
"""Voluntary motion of hand and fingers lies below 10 Hz."""


def low_pass(values: np.ndarray, rate_hz: float, cutoff_hz: float = CUTOFF_HZ) -> np.ndarray:
    """Return `values` (T, ...) without what is faster than `cutoff_hz`; run forth and back, no event moves.

    A rate that cannot hold such motion, or fewer frames than the filter needs at its ends, is returned as it is.
    """
    if rate_hz <= 2.0 * cutoff_hz or len(values) <= 12:
        return np.asarray(values, dtype=float)
    return sosfiltfilt(butter(2, cutoff_hz, fs=rate_hz, output="sos"), values, axis=0)
