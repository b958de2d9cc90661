"""Frames that a tracker repeated or made up: told from the numbers, marked, and the recording split where they are.

Trackers that lose a hand rarely say so. They give the last pose again and again, or a pose somewhere else.
"""

from dataclasses import replace

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_slerp
from r2s2r.recording.hand_facts import TrackingSpan
from r2s2r.recording.hand_recording import HandRecording

MAX_BRIDGED_S = 0.15
"""Longest time without the wrist that interpolation fills [s]: at 2 m/s^2, as in a reach, 6 mm off at most."""

MAX_HELD_S = 0.5
"""Longest time without the fingers alone that stays inside a demonstration [s]; the robot hand holds meanwhile."""

MAX_WRIST_SPEED = 6.0
"""Faster than the wrist of somebody at work [m/s]; reaches stay below 3."""

JUMP_MARGIN_M = 0.05
"""Distance that a late time stamp can feign at any rate [m]: 50 ms at 1 m/s."""

MIN_TRACK_S = 0.5
"""What lasts shorter is no track of its own [s]: between two jumps it is untracked, as a part it is left out."""

SLOW_GAP = 2.5
"""Frames of a slow source may lie this many of its median steps apart without a gap between them."""


def mark_untracked(recording: HandRecording) -> HandRecording:
    """Return `recording` with frozen and jumping frames marked, and a span for each of them and for lost ones.

    Frozen means the same bits again: of the wrist's pose where the source measures it, else of all keypoints. Up to
    :data:`MAX_BRIDGED_S` the repeated frames are interpolated, longer spans are untracked from their first frame on. A
    wrist that moves faster than :data:`MAX_WRIST_SPEED` has jumped: what lies between two jumps for less than
    :data:`MIN_TRACK_S` is untracked; after a jump to a place where the hand stays, its first frame is.

    Raises:
        RecordingError: the hand is frozen or jumps throughout.
    """
    frames, lost = np.arange(len(recording)), ~recording.tracked
    first, last = _runs(recording, lost)
    repeated = first != last
    until = np.append(recording.time_s, recording.time_s[-1])[last + 1]
    long = repeated & (until - recording.time_s[first] > MAX_BRIDGED_S)
    # A run is filled between its first frame, which is measured, and the frame behind it, which must be.
    filled = repeated & ~long & np.append(~(lost | long), False)[last + 1]
    frozen = repeated & ~filled
    if (frozen | lost).all():
        raise RecordingError(f"{recording.source}: the hand is frozen throughout, every frame repeats the one before")
    jumped = _jumped(recording, ~(lost | frozen) & ~(filled & (frames > first))) & ~(lost | frozen)
    if (frozen | lost | jumped).all():
        raise RecordingError(
            f"{recording.source}: the wrist jumps throughout, never below {MAX_WRIST_SPEED} m/s for {MIN_TRACK_S} s"
        )
    filled &= ~jumped
    wrist_lost = np.zeros(len(recording), dtype=bool) if recording.wrist_valid is None else ~recording.wrist_valid
    spans = [
        *_spans(recording, frozen, "frozen"),
        *_spans(recording, filled, "frozen", filled=True),
        *_spans(recording, jumped, "jump"),
        *_spans(recording, wrist_lost, "wrist lost"),
        *_spans(recording, lost & ~wrist_lost, "fingers lost"),
    ]
    marked = _filled(recording, np.flatnonzero(filled & (frames > first)), first, last + 1)
    untracked = frozen | jumped
    return replace(
        marked,
        valid=marked.valid & ~untracked[:, None],
        wrist_valid=None if marked.wrist_valid is None else marked.wrist_valid & ~untracked,
        spans=tuple(sorted(spans, key=lambda span: span.begin_s)),
    )


def split_tracked(recording: HandRecording) -> list[HandRecording]:
    """Return the parts of a marked recording between its untracked spans, without untracked frames at their ends.

    Spans up to :data:`MAX_BRIDGED_S` stay inside a part, those in which only the fingers are lost up to
    :data:`MAX_HELD_S`. Parts shorter than :data:`MIN_TRACK_S` are left out. Without a reason to split the recording
    comes back as it is.

    Raises:
        RecordingError: no part is long enough.
    """
    good = np.flatnonzero(recording.tracked)
    cuts = np.flatnonzero(_apart(recording, good))
    if not len(cuts) and len(good) and good[0] == 0 and good[-1] == len(recording) - 1:
        return [recording]
    begins, ends = good[np.append(0, cuts + 1)], good[np.append(cuts, len(good) - 1)]
    lasting = recording.time_s[ends] - recording.time_s[begins]
    if lasting.max() < MIN_TRACK_S:
        raise RecordingError(
            f"{recording.source}: the longest tracked part lasts {lasting.max():.2f} s, at least {MIN_TRACK_S} s needed"
        )
    return [part_of(recording, int(begins[k]), int(ends[k])) for k in np.flatnonzero(lasting >= MIN_TRACK_S)]


def _runs(recording: HandRecording, lost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each frame the first and the last frame (T,) of the run of equal frames that it is in."""
    wrist = [array for array in (recording.wrist_pos, recording.wrist_quat) if array is not None]
    # A wrist that never moves was never measured; such a source is refused where its wrist is needed.
    arrays = wrist if any(np.ptp(array, axis=0).any() for array in wrist) else [recording.keypoints_m]
    same = ~lost[1:] & ~lost[:-1]
    for array in arrays:
        before, after = array[:-1].reshape(len(same), -1), array[1:].reshape(len(same), -1)
        same &= ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=-1)
    begins = np.flatnonzero(np.append(True, ~same))
    ends = np.append(begins[1:], len(recording)) - 1
    run = np.append(0, np.cumsum(~same))
    return begins[run], ends[run]


def _jumped(recording: HandRecording, measured: np.ndarray) -> np.ndarray:
    """Return the frames (T,) that jumps make unusable, told from those in which the wrist was `measured` (T,)."""
    jumped, knots = np.zeros(len(recording), dtype=bool), np.flatnonzero(measured)
    if recording.wrist_pos is None:
        return jumped
    time_s = recording.time_s[knots]
    jumps = _too_far(np.diff(time_s), np.diff(recording.wrist_pos[knots], axis=0))
    begins = np.flatnonzero(np.append(True, jumps))
    ends = np.append(begins[1:], len(knots)) - 1
    short = time_s[ends] - time_s[begins] < MIN_TRACK_S
    if not jumps.any():
        return jumped
    wrong = short[np.append(0, np.cumsum(jumps))]
    wrong[begins[1:][~short[1:] & ~short[:-1]]] = True
    # Frames between two measured ones share the fate of the first, and nothing is filled across a jump.
    before = np.maximum(np.searchsorted(knots, np.arange(len(jumped)), side="right") - 1, 0)
    return wrong[before] | (~measured & np.append(jumps, False)[before])


def _too_far(step_s: np.ndarray, step_m: np.ndarray) -> np.ndarray:
    """Return which steps (K, 3) of the wrist in times (K,) are jumps."""
    return np.linalg.norm(step_m, axis=-1) > MAX_WRIST_SPEED * step_s + JUMP_MARGIN_M


def _spans(recording: HandRecording, mask: np.ndarray, reason: str, filled: bool = False) -> list[TrackingSpan]:
    """Return a span for each row of neighbouring frames in `mask` (T,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    time_s = recording.time_s
    return [
        TrackingSpan(float(time_s[begin]), float(time_s[end - 1]), int(end - begin), reason, filled)
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
    ]


def _filled(recording: HandRecording, frames: np.ndarray, first: np.ndarray, behind: np.ndarray) -> HandRecording:
    """Return `recording` with `frames` (F,) interpolated between frames `first` and `behind` (T,) of their runs."""
    a, b, time_s = first[frames], behind[frames], recording.time_s
    share = (time_s[frames] - time_s[a]) / (time_s[b] - time_s[a])
    keypoints = recording.keypoints_m.copy()
    keypoints[frames] = _between(keypoints[a], keypoints[b], share[:, None, None])
    changes = {"keypoints_m": keypoints, "valid": np.isfinite(keypoints).all(axis=-1)}
    if recording.wrist_pos is not None and recording.wrist_quat is not None:
        pos, quat = recording.wrist_pos.copy(), recording.wrist_quat.copy()
        pos[frames] = _between(pos[a], pos[b], share[:, None])
        quat[frames] = quat_slerp(quat[a], quat[b], share)
        changes |= {"wrist_pos": pos, "wrist_quat": quat}
    return replace(recording, **changes)


def _between(before: np.ndarray, after: np.ndarray, share: np.ndarray) -> np.ndarray:
    return before + share * (after - before)


def _apart(recording: HandRecording, good: np.ndarray) -> np.ndarray:
    """Return between which neighbours (G - 1,) of the tracked frames `good` (G,) the recording has to be split."""
    time_s, step_s = recording.time_s, np.diff(recording.time_s[good])
    broken = np.zeros(len(recording), dtype=bool)
    for span in recording.spans:
        if not span.filled and span.reason != "fingers lost":
            broken |= (span.begin_s <= time_s) & (time_s <= span.end_s)
    count = np.append(0, np.cumsum(broken))
    # Neighbouring frames far apart: the recorder paused.
    paused = (np.diff(good) == 1) | (count[good[1:]] > count[good[:-1]])
    limit = np.where(paused, MAX_BRIDGED_S, MAX_HELD_S)
    apart = step_s > np.maximum(limit, SLOW_GAP * np.median(np.diff(time_s)))
    if recording.wrist_pos is not None:
        apart |= _too_far(step_s, np.diff(recording.wrist_pos[good], axis=0))
    return apart


def part_of(recording: HandRecording, begin: int, end: int) -> HandRecording:
    """Return frames `begin` to `end`, both included."""
    kept, time_s = slice(begin, end + 1), recording.time_s
    arrays = ("time_s", "keypoints_m", "valid", "wrist_pos", "wrist_quat", "object_pos", "wrist_valid")
    values = {name: getattr(recording, name) for name in arrays}
    return replace(
        recording,
        source=f"{recording.source} from {time_s[begin]:.2f} s to {time_s[end]:.2f} s",
        spans=tuple(s for s in recording.spans if time_s[begin] <= s.begin_s and s.end_s <= time_s[end]),
        **{name: None if value is None else value[kept] for name, value in values.items()},
    )
