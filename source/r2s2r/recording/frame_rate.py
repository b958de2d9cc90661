"""Declared rate and real rate: which rows a recorder keeps, and whether as many frames came as the clock says."""

import numpy as np

from r2s2r.contracts.errors import RecordingError

MAX_RATE_DEVIATION = 0.1
"""Share by which frames may come faster or slower than declared. Clocks of devices were seen 7 % off; a loop that
writes at its own rate instead of the declared one is off by a factor."""

_ROUNDING = 1e-6
"""Part of a frame that counts as none: 3.0 s at 30 Hz are 90 frames, whichever way the product rounds."""


def frame_stamps(duration_s: float, rate_hz: float) -> np.ndarray:
    """Return the stamps (T,) [s] of the frames within `duration_s`, the first at 0: one for each period that begins.

    Raises:
        RecordingError: the rate is not positive, or no frame fits.
    """
    if not 0.0 < rate_hz < np.inf:
        raise RecordingError(f"frames at {rate_hz} Hz; the rate must be positive and finite")
    count = int(np.ceil(duration_s * rate_hz - _ROUNDING)) if np.isfinite(duration_s) else 0
    if count < 1:
        raise RecordingError(f"frames within {duration_s} s at {rate_hz:g} Hz: there is none")
    return np.arange(count) / rate_hz


def rows_at_rate(time_s: np.ndarray, rate_hz: float) -> np.ndarray:
    """Return which rows (T',) of a loop a recorder that declares `rate_hz` keeps: the last one up to each frame.

    Args:
        time_s: stamps (T,) of the loop, increasing [s]; a row lasts until the next, the last one as long as usual.
        rate_hz: frames a second that the recording declares.

    Raises:
        RecordingError: fewer than two rows, stamps that do not increase, or a loop that is slower than the frames, so
            that rows would come twice.
    """
    time_s = np.asarray(time_s, dtype=float)
    if len(time_s) < 2:
        raise RecordingError(f"loop of {len(time_s)} rows, at least 2 are needed")
    check_increasing(time_s, "loop")
    period = float(np.median(np.diff(time_s)))
    rows = np.searchsorted(
        time_s, time_s[0] + frame_stamps(time_s[-1] - time_s[0] + period, rate_hz) + _ROUNDING / rate_hz, side="right"
    )
    rows -= 1
    twice = np.flatnonzero(np.diff(rows) == 0)
    if len(twice):
        raise RecordingError(
            f"loop at {1.0 / period:.4g} Hz, frames at {rate_hz:g} Hz: row {rows[twice[0]]} would come twice; declare "
            "the loop's rate, or less"
        )
    return rows


def mean_rate_hz(time_s: np.ndarray) -> float:
    """Return the frames a second of two or more stamps (T,) [s] that increase, from the first to the last."""
    return float((len(time_s) - 1) / (time_s[-1] - time_s[0]))


def rate_error(time_s: np.ndarray, rate_hz: float) -> str | None:
    """Return what is wrong with stamps (T,) [s] of frames that were declared to come at `rate_hz`; None if nothing is.

    Args:
        time_s: stamps on the clock of whoever recorded, increasing.
        rate_hz: declared frames a second.
    """
    time_s = np.asarray(time_s, dtype=float)
    if len(time_s) < 2:
        return None
    taken_s, real_hz = time_s[-1] - time_s[0], mean_rate_hz(time_s)
    if abs(real_hz / rate_hz - 1.0) <= MAX_RATE_DEVIATION:
        return None
    return (
        f"{len(time_s)} frames within {taken_s + 1.0 / real_hz:.3f} s are {real_hz:.4g} Hz, declared are {rate_hz:g} Hz"
    )


def check_increasing(time_s: np.ndarray, where: str) -> None:
    """Refuse stamps (T,) that do not increase.

    Raises:
        RecordingError: they do not.
    """
    back = np.flatnonzero(~(np.diff(time_s) > 0.0))
    if len(back):
        row = int(back[0]) + 1
        raise RecordingError(
            f"{where}: time does not increase at row {row}: {time_s[row]:.6g} s after {time_s[row - 1]:.6g} s"
        )
