"""Reaches in a recording of a hand that goes to an object again and again: where each begins, ends and how it runs."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import find_peaks

from r2s2r.behavior.low_pass import low_pass
from r2s2r.contracts.errors import RecordingError

EDGE_FRACTION = 0.05
"""A reach runs while the hand nears the object faster than this share of its fastest approach; 5 % is the usual
threshold of the reaching literature."""

MIN_SWING_M = 0.1
"""Hand-to-object distance must swing by this much to count as a reach [m]."""


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
    """Upward part of that largest deviation over the length; positive when the hand arcs over the line."""

    closing_onset_s: float
    """When the aperture has closed by 10 %, after the end of the reach (negative: before it)."""

    closing_duration_s: float
    """From 10 % to 90 % of the closing."""

    hold_s: float
    """How long the aperture stays beyond 90 % closed."""


def find_reaches(
    time_s: np.ndarray, wrist_pos: np.ndarray, object_pos: np.ndarray, aperture: np.ndarray
) -> list[Reach]:
    """Return the reaches of a recording in order.

    Args:
        time_s: evenly spaced times (T,) [s].
        wrist_pos: wrist positions (T, 3) in a frame whose z axis points up [m], finite.
        object_pos: object positions in the same frame (T, 3) [m], finite.
        aperture: distance between thumb and index finger (T,) [m], finite.

    Raises:
        RecordingError: the times are not evenly spaced, or too few for the low-pass.
    """
    rate_hz = _even_rate(time_s)
    smooth_pos = low_pass(wrist_pos, rate_hz)
    distance = np.linalg.norm(smooth_pos - low_pass(object_pos, rate_hz), axis=-1)
    gap = low_pass(aperture, rate_hz)
    nears, _ = find_peaks(-distance, prominence=MIN_SWING_M)
    fars, _ = find_peaks(distance, prominence=MIN_SWING_M)
    reaches = []
    for near in nears:
        before, after = fars[fars < near], fars[fars > near]
        if len(before) and len(after):
            reaches.append(_reach(time_s, smooth_pos, distance, gap, before[-1], near, after[0]))
    return reaches


def _even_rate(time_s: np.ndarray) -> float:
    steps = np.diff(time_s)
    if len(steps) < 20 or steps.max() - steps.min() > 0.01 * steps.mean():
        raise RecordingError(f"reaches: {len(time_s)} frames at uneven times or too few; resample to one rate first")
    return 1.0 / steps.mean()


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
        path_rise=float(widest[2] / length),
        closing_onset_s=float(time_s[onset] - time_s[end]),
        closing_duration_s=float(time_s[closed] - time_s[onset]),
        hold_s=float(time_s[opened] - time_s[closed]),
    )


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
