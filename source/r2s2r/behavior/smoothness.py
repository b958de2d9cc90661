"""How smooth a motion is, as movement science measures it."""

import numpy as np

CUTOFF_HZ = 10.0
"""Highest frequency that counts [Hz]."""

AMPLITUDE = 0.05
"""What is above this share of the highest amplitude counts, up to its last crossing."""

PADDING = 4
"""The spectrum is sampled 2^PADDING times more finely than the signal's length asks for."""


def spectral_arc_length(speed: np.ndarray, rate_hz: float) -> float:
    """Return the spectral arc length of a speed profile (T,): -1.4 for a minimum-jerk reach, lower if less smooth.

    It is the negative length of the amplitude spectrum's curve, the spectrum scaled to 1 at zero frequency and the
    frequencies by the last one that counts; neither size nor duration matter (S. Balasubramanian et al., "On the
    analysis of movement smoothness", J. NeuroEng. Rehab. 12:112, 2015). 0 for a body at rest.
    """
    points = 2 ** (int(np.ceil(np.log2(len(speed)))) + PADDING)
    amplitude = np.abs(np.fft.rfft(speed, points))
    if amplitude[0] == 0.0:
        return 0.0
    frequency = np.arange(len(amplitude)) * rate_hz / points
    amplitude = amplitude[frequency <= CUTOFF_HZ] / amplitude[0]
    counting = slice(0, int(np.flatnonzero(amplitude >= AMPLITUDE)[-1]) + 1)
    frequency, amplitude = frequency[counting], amplitude[counting]
    span = max(float(frequency[-1] - frequency[0]), 1e-12)
    return -float(np.hypot(np.diff(frequency) / span, np.diff(amplitude)).sum())
