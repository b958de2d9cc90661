"""A recording at an even rate, by its time stamps; gaps stay gaps."""

from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_slerp
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.tracking import MAX_BRIDGED_S

MAX_GAP_S = 0.1
"""Longest time without a keypoint that is bridged [s]: at hand speeds (2 m/s^2) the error stays below 3 mm."""


@dataclass(frozen=True)
class Resampled:
    """An even recording and what its source's clock was like."""

    recording: HandRecording
    """At the new rate; frames inside a gap are not valid."""

    jitter_s: float
    """Standard deviation of the time between frames [s]."""

    gaps_s: tuple[tuple[float, float], ...]
    """Begin and end of each gap, on the source's clock [s]."""


def resample(recording: HandRecording, rate_hz: float, max_gap_s: float = MAX_GAP_S) -> Resampled:
    """Return `recording` at `rate_hz`, positions interpolated linearly and orientations on the shorter arc.

    A keypoint is valid in a new frame when it was measured before and after it, no more than `max_gap_s` apart; the
    wrist, which has to lead somewhere, when it was measured no more than `tracking.MAX_BRIDGED_S` apart.

    Raises:
        RecordingError: the rate is not positive or leaves fewer than two frames.
    """
    if not 0.0 < rate_hz < np.inf:
        raise RecordingError(f"{recording.source}: resampling to {rate_hz} Hz; the rate must be positive and finite")
    old, new = recording.time_s, np.arange(recording.time_s[0], recording.time_s[-1] + 1e-9, 1.0 / rate_hz)
    keypoints = np.full((len(new), 21, 3), np.nan)
    for k in range(21):
        seen = recording.valid[:, k]
        known = bridged(new, old[seen], max_gap_s)
        if known.any():
            keypoints[known, k] = interpolated(new[known], old[seen], recording.keypoints_m[seen, k])
    even = replace(
        recording,
        time_s=new,
        keypoints_m=keypoints,
        valid=np.isfinite(keypoints).all(axis=-1),
        object_pos=None if recording.object_pos is None else interpolated(new, old, recording.object_pos),
        **_wrist(recording, new),
    )
    return Resampled(even, float(np.diff(old).std()), gaps(recording, max_gap_s))


def gaps(recording: HandRecording, max_gap_s: float = MAX_GAP_S) -> tuple[tuple[float, float], ...]:
    """Return begin and end [s] of each time longer than `max_gap_s` between tracked frames."""
    seen = recording.time_s[recording.tracked]
    ends = np.flatnonzero(np.diff(seen) > max_gap_s)
    return tuple((float(seen[i]), float(seen[i + 1])) for i in ends)


def bridged(new: np.ndarray, seen: np.ndarray, max_gap_s: float = MAX_GAP_S) -> np.ndarray:
    """Return which of `new` (T,) lie on a stamp of `seen` (S,) or between two no more than `max_gap_s` apart (T,)."""
    if not len(seen):
        return np.zeros(len(new), dtype=bool)
    after = np.clip(np.searchsorted(seen, new), 0, len(seen) - 1)
    before = np.clip(np.searchsorted(seen, new, side="right") - 1, 0, len(seen) - 1)
    inside = (seen[0] <= new) & (new <= seen[-1])
    return inside & (seen[after] - seen[before] <= max_gap_s)


def interpolated(new: np.ndarray, old: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return `values` (S, n) at stamps `old` (S,) linearly between them at `new` (T, n); the end values beyond."""
    return np.stack([np.interp(new, old, column) for column in values.T], axis=-1)


def _wrist(recording: HandRecording, new: np.ndarray) -> dict[str, np.ndarray]:
    """Return the fields of the wrist at times `new`; none for a hand-local source."""
    if recording.wrist_pos is None or recording.wrist_quat is None or recording.wrist_valid is None:
        return {}
    seen = recording.wrist_valid
    old = recording.time_s[seen]
    # Between two frames of a source slower than the limit there is nothing but the way from one to the other.
    limit = max(MAX_BRIDGED_S, float(np.diff(recording.time_s).max()))
    return {
        "wrist_pos": interpolated(new, old, recording.wrist_pos[seen]),
        "wrist_quat": _turned(new, old, recording.wrist_quat[seen]),
        "wrist_valid": bridged(new, old, limit),
    }


def _turned(new: np.ndarray, old: np.ndarray, quat: np.ndarray) -> np.ndarray:
    after = np.clip(np.searchsorted(old, new), 1, len(old) - 1)
    fraction = (new - old[after - 1]) / (old[after] - old[after - 1])
    return quat_slerp(quat[after - 1], quat[after], np.clip(fraction, 0.0, 1.0))
