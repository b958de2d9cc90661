"""Joint readings at the instants of pictures."""

import numpy as np
from scipy.interpolate import CubicSpline

from r2s2r.contracts.errors import GroundingError, RecordingError
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.control.kinematics import SerialChain
from r2s2r.recording.cell_log import Stream

STILL_SPEED = 5e-3
"""Speed [rad/s] below which a joint rests: a picture that is dated wrongly by 0.05 s is then off by 0.25 mrad."""

STILL_WINDOW_S = (0.12, 0.02)
"""How long before and after its stamp [s] the arm must have rested for a picture to count as still."""

_BEYOND_LIMIT = 0.2
"""Readings [rad] may exceed a joint's limits by this: encoder bias and overshoot."""


class JointTrack:
    """Arm readings (7) as a function of time.

    Raises:
        RecordingError: stamps that do not increase, another width, or readings that cannot be radians of this arm.
    """

    def __init__(self, readings: Stream, chain: SerialChain):
        time_s, values = readings.time_s, readings.values
        if values.shape[1] != len(ARM_JOINTS) or len(time_s) < 4:
            raise RecordingError(
                f"arm_joint_pos: received shape {values.shape}, allowed are (T >= 4, {len(ARM_JOINTS)})"
            )
        if not (np.isfinite(values).all() and np.isfinite(time_s).all()):
            raise RecordingError("arm_joint_pos: a reading or its stamp is not finite")
        back = np.flatnonzero(np.diff(time_s) <= 0.0)
        if len(back):
            raise RecordingError(
                f"arm_joint_pos: the stamp of row {back[0] + 1} goes back by "
                f"{time_s[back[0]] - time_s[back[0] + 1]:.6f} s ({len(back)} such rows); stamps must increase"
            )
        _check_limits(values, chain)
        self.start_s, self.end_s = float(time_s[0]), float(time_s[-1])
        self._time_s, self._values = time_s, values
        self._spline = CubicSpline(time_s, values)
        self._speed = self._spline.derivative()

    def at(self, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and speeds (n, 7) at times (n,), those beyond the record clamped to its ends."""
        time_s = np.clip(time_s, self.start_s, self.end_s)
        return self._spline(time_s), self._speed(time_s)

    def rest(self, stamp_s: float) -> np.ndarray | None:
        """Return the mean reading (7) around a picture's stamp, None if the arm moved or nothing was read."""
        first, last = np.searchsorted(self._time_s, (stamp_s - STILL_WINDOW_S[0], stamp_s + STILL_WINDOW_S[1]))
        if last - first < 5:
            return None
        time_s, values = self._time_s[first:last], self._values[first:last]
        centred = time_s - time_s.mean()
        speed = centred @ (values - values.mean(axis=0)) / np.sum(centred**2)
        return values.mean(axis=0) if np.abs(speed).max() < STILL_SPEED else None

    def covers(self, time_s: float) -> bool:
        """Return whether the readings include a time."""
        return self.start_s <= time_s <= self.end_s


def _check_limits(values: np.ndarray, chain: SerialChain) -> None:
    low, high = values.min(axis=0), values.max(axis=0)
    wrong = np.flatnonzero((low < chain.lower - _BEYOND_LIMIT) | (high > chain.upper + _BEYOND_LIMIT))
    if not len(wrong):
        return
    j = int(wrong[0])
    spread = max(abs(low[j]), abs(high[j]))
    said = (
        f"arm_joint_pos: {chain.names[j]} reads from {low[j]:.3f} to {high[j]:.3f}, allowed are {chain.lower[j]:.3f} "
        f"to {chain.upper[j]:.3f} rad"
    )
    if spread > 2.0 * np.pi and np.deg2rad(spread) < max(abs(chain.lower[j]), chain.upper[j]) + _BEYOND_LIMIT:
        raise RecordingError(f"{said}; these look like degrees")
    raise GroundingError(f"{said}; joint zero likely lost")
