"""How far each joint of the hand has closed at each moment of a human grab."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import find_peaks

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.joints import HAND_JOINTS

if TYPE_CHECKING:
    from r2s2r.behavior.retargeting import RetargetedHand  # loads Warp; only measuring needs it

KNOTS = 21
"""Rows of a measured synergy."""

MIN_BEND = 0.5
"""Mean bend of the fingers' joints [rad] that counts as a closing."""

MIN_TRAVEL = 0.2
"""A joint that moves less than this [rad] says nothing about its own timing."""

_BENDING = [i for i in range(12) if i % 4]


@dataclass(frozen=True)
class ClosingSynergy:
    """The course of a grab: every joint's share of its own way, over normalised time.

    Which joints lead and which follow is the human's; how far they go is the grasp's, since robot fingers have other
    lengths.

    Raises:
        ConfigError: not finite, too few knots, not 16 joints, or not running from 0 to 1.
    """

    source: str
    """Recording that it was taken from."""

    duration_s: float
    """How long the human took [s]."""

    share: np.ndarray
    """(K, 16) share of the way from open to closed at K evenly spaced times, 0 in the first row, 1 in the last."""

    def __post_init__(self):
        share = np.asarray(self.share, dtype=float)
        if share.ndim != 2 or len(share) < 2 or share.shape[1] != len(HAND_JOINTS) or not np.isfinite(share).all():
            raise ConfigError(f"closing synergy: share has shape {share.shape}, expected finite (K >= 2, 16)")
        if np.abs(share[0]).max() > 1e-6 or np.abs(share[-1] - 1.0).max() > 1e-6:
            raise ConfigError("closing synergy: share must be 0 in the first row and 1 in the last")
        if not 0.0 < self.duration_s < np.inf:
            raise ConfigError(f"closing synergy: duration_s is {self.duration_s}, it must be positive and finite")
        object.__setattr__(self, "share", share)

    def at(self, s: np.ndarray | float) -> np.ndarray:
        """Return the shares (..., 16) at normalised times `s` (...); before 0 the hand is open, after 1 closed."""
        s = np.asarray(s, dtype=float)
        knots = np.linspace(0.0, 1.0, len(self.share))
        return np.stack([np.interp(s, knots, joint) for joint in self.share.T], axis=-1)

    @staticmethod
    def measure(retargeted: "RetargetedHand", source: str) -> "ClosingSynergy":
        """Return the synergy of the first closing in retargeted motion.

        The closing runs from 2 % to 98 % of the mean bend of the fingers' joints. A joint that hardly moves follows the
        mean of its finger; a joint that gives way for a moment waits.

        Raises:
            RecordingError: the hand does not close by at least 0.5 rad on average.
        """
        begin, end = _first_closing(retargeted.joint_pos[:, _BENDING].mean(axis=1), source)
        window = slice(begin, end + 1)
        time, joint_pos = retargeted.time_s[window], retargeted.joint_pos[window]
        knots = np.linspace(time[0], time[-1], KNOTS)
        travel = joint_pos[-1] - joint_pos[0]
        share = np.stack(
            [np.interp(knots, time, joint) for joint in ((joint_pos - joint_pos[0]) / _nonzero(travel)).T], 1
        )
        share = np.maximum.accumulate(np.clip(share, 0.0, 1.0), axis=0)
        for finger in (slice(0, 4), slice(4, 8), slice(8, 12), slice(12, 16)):
            moves = travel[finger] > MIN_TRAVEL
            share[:, finger][:, ~moves] = share[:, finger][:, moves].mean(axis=1, keepdims=True)
        return ClosingSynergy(source, float(time[-1] - time[0]), share)

    @staticmethod
    def builtin() -> "ClosingSynergy":
        """Return the synergy of the recording `leap_grab`, for machines without the recording.

        Source: github.com/leapmotion/leapjs-playback, recorder/recordings/grab.json.lz, commit 4ff4b5b (Apache-2.0,
        Copyright 2015 LeapMotion, Inc.), the first of two closings, retargeted with
        :func:`~r2s2r.behavior.retargeting.retarget_hand` at 60 Hz. Measured with :meth:`measure`; a test compares.
        """
        return ClosingSynergy("leap_grab (built in)", _LEAP_GRAB_DURATION_S, np.array(_LEAP_GRAB_SHARE).T / 100.0)


def _first_closing(bend: np.ndarray, source: str) -> tuple[int, int]:
    """Return the first frames of a mean bend (T,) at 2 % and at 98 % of its first way from open to closed."""
    peaks, _ = find_peaks(np.append(bend, bend.min()), prominence=MIN_BEND)
    if not len(peaks):
        raise RecordingError(f"{source}: the hand does not close; its fingers must bend by {MIN_BEND} rad on average")
    lowest = int(bend[: peaks[0] + 1].argmin())
    share = (bend - bend[lowest]) / (bend[peaks[0]] - bend[lowest])
    end = lowest + int(np.argmax(share[lowest : peaks[0] + 1] >= 0.98))
    return lowest + int(np.flatnonzero(share[lowest:end] <= 0.02)[-1]), end


def _nonzero(travel: np.ndarray) -> np.ndarray:
    return np.where(np.abs(travel) < 1e-6, 1.0, travel)


_LEAP_GRAB_DURATION_S = 0.6167

# Per cent of the way, one row a joint.
_LEAP_GRAB_SHARE = (
    (0, 3, 11, 21, 36, 49, 55, 61, 70, 76, 80, 83, 85, 89, 91, 93, 95, 97, 98, 99, 100),
    (0, 4, 23, 45, 75, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
    (0, 2, 5, 9, 16, 25, 33, 41, 51, 59, 66, 71, 77, 82, 86, 89, 92, 94, 96, 98, 100),
    (0, 2, 4, 8, 15, 23, 33, 42, 58, 69, 74, 76, 80, 83, 86, 90, 93, 96, 98, 99, 100),
    (0, 4, 4, 21, 55, 80, 94, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
    (0, 2, 3, 12, 28, 43, 54, 62, 66, 72, 78, 83, 86, 90, 92, 94, 96, 97, 98, 99, 100),
    (0, 1, 3, 8, 16, 26, 36, 45, 52, 61, 71, 78, 84, 89, 92, 94, 96, 97, 98, 99, 100),
    (0, 1, 3, 7, 15, 23, 32, 41, 47, 55, 63, 69, 75, 80, 85, 88, 91, 93, 95, 97, 100),
    (0, 15, 27, 39, 50, 64, 83, 95, 97, 97, 97, 97, 97, 97, 97, 97, 97, 98, 98, 99, 100),
    (0, 5, 10, 18, 29, 41, 54, 63, 68, 72, 77, 81, 85, 88, 91, 93, 95, 96, 98, 99, 100),
    (0, 1, 3, 9, 20, 32, 41, 49, 57, 64, 71, 78, 84, 88, 92, 94, 96, 98, 98, 99, 100),
    (0, 0, 2, 7, 18, 28, 37, 44, 50, 56, 62, 68, 75, 80, 85, 89, 92, 94, 96, 98, 100),
    (0, 48, 64, 76, 88, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
    (0, 40, 57, 69, 83, 95, 99, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
    (0, 31, 49, 62, 77, 90, 97, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
    (0, 40, 57, 69, 83, 95, 99, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
)
