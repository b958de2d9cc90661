"""Reaches in a recording of a hand that goes to an object again and again: where each begins, ends and how it runs."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import find_peaks

from r2s2r.behavior.low_pass import low_pass
from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.hand_recording import KEYPOINTS, HandRecording

EDGE_FRACTION = 0.05
"""A reach runs while the hand nears the object faster than this share of its fastest approach; 5 % is the usual
threshold of the reaching literature."""

MIN_SWING_M = 0.1
"""Hand-to-object distance must swing by this much to count as a reach [m]."""

_APERTURE = (KEYPOINTS.index("thumb_ip"), KEYPOINTS.index("index_pip"))


@dataclass(frozen=True)
class Reach:
    """One reach. The closing refers to thumb and index finger; its times are measured from the end of the reach."""

    begin: int
    """Index of the first frame of the reach."""

    end: int
    """Index of the last frame of the reach."""

    duration_s: float
    """Time from begin to end."""

    length_m: float
    """Straight distance from begin to end."""

    peak_speed: float
    """Highest speed of the wrist [m/s]."""

    peak_speed_fraction: float
    """Time of the highest speed as a share of the duration; 0.5 for minimum jerk."""

    speed_ratio: float
    """Highest over mean speed; 1.875 for a minimum-jerk reach seen whole."""

    path_deviation: float
    """Largest distance from the straight line over its length; 0 for a straight path."""

    path_rise: float
    """Its part in the vertical plane of the line, over the length; positive when the hand arcs over it."""

    closing_onset_s: float
    """When the aperture has closed by 10 %, after the end of the reach (negative: before it)."""

    closing_duration_s: float
    """From 10 % to 90 % of the closing."""

    hold_s: float
    """How long the aperture stays beyond 90 % closed."""


def find_reaches(recording: HandRecording) -> list[Reach]:
    """Return the reaches of a recording in order.

    The aperture is the distance between the last joint of the thumb and the middle joint of the index finger: the tips
    go out of sight when the hand closes.

    Raises:
        RecordingError: no wrist or object motion, thumb or index finger not measured throughout, uneven times.
    """
    if recording.wrist_pos is None or recording.object_pos is None:
        raise RecordingError(f"{recording.source}: reaches need the motion of wrist and object; one of them is missing")
    if not recording.valid[:, _APERTURE].all():
        raise RecordingError(
            f"{recording.source}: reaches need thumb_ip and index_pip in every frame; fill the gaps first"
        )
    rate_hz = _even_rate(recording)
    wrist_pos = low_pass(recording.wrist_pos, rate_hz)
    distance = np.linalg.norm(wrist_pos - low_pass(recording.object_pos, rate_hz), axis=-1)
    first, second = (recording.keypoints_m[:, k] for k in _APERTURE)
    aperture = low_pass(np.linalg.norm(first - second, axis=-1), rate_hz)
    nears, _ = find_peaks(-distance, prominence=MIN_SWING_M)
    fars, _ = find_peaks(distance, prominence=MIN_SWING_M)
    reaches = []
    for near in nears:
        before, after = fars[fars < near], fars[fars > near]
        if len(before) and len(after):
            reaches.append(_reach(recording.time_s, wrist_pos, distance, aperture, before[-1], near, after[0]))
    return reaches


def _even_rate(recording: HandRecording) -> float:
    steps = np.diff(recording.time_s)
    if steps.max() - steps.min() > 0.01 * steps.mean():
        raise RecordingError(f"{recording.source}: the times are not even; resample to one rate first")
    return float(1.0 / steps.mean())


def _reach(
    time_s: np.ndarray,
    wrist_pos: np.ndarray,
    distance: np.ndarray,
    aperture: np.ndarray,
    far: int,
    near: int,
    next_far: int,
) -> Reach:
    begin, end = _edges(-np.gradient(distance, time_s), far, near)
    path = wrist_pos[begin : end + 1]
    speed = np.linalg.norm(np.gradient(path, time_s[begin : end + 1], axis=0), axis=-1)
    chord = path[-1] - path[0]
    length = float(np.linalg.norm(chord))
    away = path - path[0] - np.outer((path - path[0]) @ chord / length**2, chord)
    widest = away[np.linalg.norm(away, axis=-1).argmax()]
    duration = float(time_s[end] - time_s[begin])
    onset, closed, opened = _closing(aperture, (begin + far) // 2, near, next_far)
    return Reach(
        begin=int(begin),
        end=int(end),
        duration_s=duration,
        length_m=length,
        peak_speed=float(speed.max()),
        peak_speed_fraction=float((time_s[begin + speed.argmax()] - time_s[begin]) / duration),
        speed_ratio=float(speed.max() / speed.mean()),
        path_deviation=float(np.linalg.norm(widest) / length),
        path_rise=float(widest @ upward_normal(chord) / length),
        closing_onset_s=float(time_s[onset] - time_s[end]),
        closing_duration_s=float(time_s[closed] - time_s[onset]),
        hold_s=float(time_s[opened] - time_s[closed]),
    )


def upward_normal(way: np.ndarray) -> np.ndarray:
    """Return the unit vector (..., 3) across `way` (..., 3) that leads most upwards; x for a vertical way."""
    ahead = way / np.linalg.norm(way, axis=-1, keepdims=True)
    upward = np.array([0.0, 0.0, 1.0]) - ahead[..., 2:] * ahead
    length = np.linalg.norm(upward, axis=-1, keepdims=True)
    return np.where(length > 1e-6, upward / np.maximum(length, 1e-6), np.array([1.0, 0.0, 0.0]))


def _edges(approach_speed: np.ndarray, far: int, near: int) -> tuple[int, int]:
    """Return the first and last frame around the fastest approach that is above the edge threshold."""
    top = far + int(approach_speed[far : near + 1].argmax())
    threshold = EDGE_FRACTION * approach_speed[top]
    slow = approach_speed < threshold
    before, after = np.flatnonzero(slow[far:top]), np.flatnonzero(slow[top : near + 1])
    return far + int(before[-1]) if len(before) else far, top + int(after[0]) if len(after) else near


def _closing(aperture: np.ndarray, begin: int, near: int, next_far: int) -> tuple[int, int, int]:
    """Return the frames where the hand has closed by 10 %, by 90 %, and where it opens again past 90 %."""
    tightest = begin + int(aperture[begin : next_far + 1].argmin())
    widest = begin + int(aperture[begin : tightest + 1].argmax())
    closed_by = (aperture[widest] - aperture) / max(aperture[widest] - aperture[tightest], 1e-9)
    onset = widest + int(np.flatnonzero(closed_by[widest : tightest + 1] <= 0.1)[-1])
    closed = onset + int(np.argmax(closed_by[onset : tightest + 1] >= 0.9))
    still = np.flatnonzero(closed_by[tightest : next_far + 1] < 0.9)
    opened = tightest + int(still[0]) if len(still) else next_far
    return onset, closed, opened
