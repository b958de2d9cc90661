"""Frozen, jumping and lost frames: marked, filled or split at; honest motion is left alone."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_angle
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.resampling import resample
from r2s2r.recording.tracking import mark_untracked, split_tracked

from ..hand_layouts import in_room, wandering
from ..synthetic_hand import hand_keypoints


def moving(frames=900, rate_hz=90.0, frozen=(), local=False, **changes):
    """A right hand that wanders and closes; the frames of each pair in `frozen` repeat the first of them."""
    time_s, pos, quat = wandering(frames, rate_hz)
    local_points = hand_keypoints(np.tile(0.6 + 0.3 * np.sin(2.0 * time_s)[:, None], (1, 4)))
    source = np.arange(frames)
    for first, last in frozen:
        source[first : last + 1] = first
    fields = {"keypoints_m": local_points[source]}
    if not local:
        fields = {"wrist_pos": pos[source], "wrist_quat": quat[source]}
        fields["keypoints_m"] = in_room(local_points, pos, quat)[source]
    valid = np.ones((frames, 21), dtype=bool)
    return HandRecording(
        **({"source": "test", "handedness": "right", "time_s": time_s, "valid": valid} | fields | changes)
    )


@pytest.mark.parametrize("local", [False, True])
def test_b26_long_frozen_span_is_untracked_and_splits(local):
    """90 Hz, 10 s, frames 300 to 420 bit-identical: one span of 121 frames untracked, the demonstration split."""
    marked = mark_untracked(moving(frozen=[(300, 420)], local=local))
    assert [(s.frames, s.reason, s.filled) for s in marked.spans] == [(121, "frozen", False)]
    assert marked.spans[0].begin_s == pytest.approx(300 / 90) and marked.spans[0].end_s == pytest.approx(420 / 90)
    assert not marked.tracked[300:421].any() and marked.tracked[:300].all() and marked.tracked[421:].all()
    parts = split_tracked(marked)
    assert [len(part) for part in parts] == [300, 900 - 421]
    assert all(part.tracked.all() for part in parts)
    if not local:
        assert not marked.wrist_valid[300:421].any()


def test_b26_short_frozen_span_is_interpolated_and_flagged():
    """Frames 500 to 509 identical, 0.11 s: filled between the first of them and the one behind, and told."""
    honest, marked = moving(), mark_untracked(moving(frozen=[(500, 509)]))
    assert [(s.frames, s.reason, s.filled) for s in marked.spans] == [(10, "frozen", True)]
    assert marked.tracked.all() and split_tracked(marked) == [marked]
    # Between its ends a path bends away from the chord by at most a t^2 / 8; this wrist accelerates by 0.16 m/s^2.
    assert np.linalg.norm(marked.wrist_pos - honest.wrist_pos, axis=-1).max() < 0.16 * 0.112**2 / 8
    assert quat_angle(marked.wrist_quat, honest.wrist_quat).max() < 2e-3
    assert np.abs(marked.keypoints_m - honest.keypoints_m).max() < 1e-3
    assert len(np.unique(marked.wrist_pos[500:510], axis=0)) == 10


def test_b26_jump_and_back_is_untracked():
    """A jump of 0.4 m in one frame: that frame is untracked, and resampling goes on as if it had not been there."""
    honest = moving()
    pos, keypoints = honest.wrist_pos.copy(), honest.keypoints_m.copy()
    pos[400] += (0.4, 0.0, 0.0)
    keypoints[400] += (0.4, 0.0, 0.0)
    marked = mark_untracked(replace(honest, wrist_pos=pos, keypoints_m=keypoints))
    assert [(s.frames, s.reason, s.filled) for s in marked.spans] == [(1, "jump", False)]
    assert np.flatnonzero(~marked.tracked).tolist() == [400]
    assert len(split_tracked(marked)) == 1, "one frame is no reason to split"
    even, expected = resample(marked, 30.0).recording, resample(honest, 30.0).recording
    assert np.abs(even.wrist_pos - expected.wrist_pos).max() < 1e-4
    assert even.tracked.all()


def test_b26_jump_to_another_place_splits_there():
    """Both sides are long: which is wrong cannot be told, so the first frame of the second is untracked."""
    honest = moving()
    shift = np.where(np.arange(900) >= 400, 0.4, 0.0)[:, None] * np.array([0.0, 1.0, 0.0])
    jumping = replace(honest, wrist_pos=honest.wrist_pos + shift, keypoints_m=honest.keypoints_m + shift[:, None])
    marked = mark_untracked(jumping)
    assert np.flatnonzero(~marked.tracked).tolist() == [400] and marked.spans[0].reason == "jump"
    assert [len(part) for part in split_tracked(marked)] == [400, 499]


def test_jumping_about_out_of_view_is_untracked_as_a_whole(rng):
    """Half a second of poses all over the place, each held for some frames: all of it, nothing else."""
    honest = moving()
    places = np.repeat(rng.uniform(-1.0, 1.0, (9, 3)), 5, axis=0) + rng.normal(scale=1e-4, size=(45, 3))
    pos, keypoints = honest.wrist_pos.copy(), honest.keypoints_m.copy()
    keypoints[300:345] += (honest.wrist_pos[300:345] + places - pos[300:345])[:, None]
    pos[300:345] += places
    marked = mark_untracked(replace(honest, wrist_pos=pos, keypoints_m=keypoints))
    assert not marked.tracked[300:345].any() and marked.tracked[:300].all() and marked.tracked[345:].all()
    assert len(split_tracked(marked)) == 2


def test_wrist_that_repeats_while_the_fingers_go_on_is_frozen():
    """So it is streamed by an app that stops the wrist when it loses the hand, but goes on guessing the fingers."""
    honest = moving()
    pos, quat = honest.wrist_pos.copy(), honest.wrist_quat.copy()
    pos[300:360], quat[300:360] = pos[300], quat[300]
    marked = mark_untracked(replace(honest, wrist_pos=pos, wrist_quat=quat))
    assert [(s.frames, s.filled) for s in marked.spans] == [(60, False)]


def test_repeated_samples_of_a_slow_tracker_are_filled_throughout():
    """A tracker of 30 Hz polled at 90 Hz: two of three frames repeat; the path becomes the straight way between."""
    honest = moving()
    marked = mark_untracked(moving(frozen=[(k, k + 2) for k in range(0, 900, 3)]))
    assert marked.tracked[:897].all() and not marked.tracked[897:].any(), "behind the last new sample nothing is known"
    assert marked.spans[0].filled and marked.spans[0].frames == 897
    assert np.linalg.norm(marked.wrist_pos - honest.wrist_pos, axis=-1)[:897].max() < 1e-4


def test_honest_recordings_are_left_alone(data_dir):
    for name in ("leap_grab.npz", "leap_pinch.npz", "qualisys_reach_grasp.npz", "human_joint_right.npz"):
        recording = load_hand_recording(data_dir / "hand_motion" / name)
        assert recording.spans == () and split_tracked(recording) == [recording]


def test_frozen_and_jumping_throughout_are_refused(rng):
    with pytest.raises(RecordingError, match="frozen throughout"):
        mark_untracked(moving(frozen=[(0, 899)]))
    everywhere = rng.uniform(-2.0, 2.0, (900, 3))
    shifted = moving().keypoints_m + everywhere[:, None]
    with pytest.raises(RecordingError, match="jumps throughout"):
        mark_untracked(moving(wrist_pos=moving().wrist_pos + everywhere, keypoints_m=shifted))


def test_lost_wrist_is_held_never_zero():
    """B27: a frame without the wrist keeps the last one, and its keypoints are not valid whatever they say."""
    wrist_valid = np.ones(900, dtype=bool)
    wrist_valid[100:120] = False
    pos = moving().wrist_pos.copy()
    pos[100:120] = 0.0
    lost = moving(wrist_pos=pos, wrist_valid=wrist_valid)
    assert (lost.wrist_pos[100:120] == lost.wrist_pos[99]).all()
    assert not lost.valid[100:120].any() and not lost.tracked[100:120].any()
    marked = mark_untracked(lost)
    assert [(s.frames, s.reason) for s in marked.spans] == [(20, "wrist lost")]
    assert len(split_tracked(marked)) == 2, "0.22 s without the wrist"


def test_b27_lost_fingers_stay_inside_a_part_for_a_while():
    """0.3 s without the fingers, the wrist being tracked: the hand holds. More than 0.5 s splits."""
    for count, parts in ((27, 1), (60, 2)):
        valid = np.ones((900, 21), dtype=bool)
        valid[300 : 300 + count] = False
        marked = mark_untracked(moving(valid=valid))
        assert [(s.frames, s.reason) for s in marked.spans] == [(count, "fingers lost")]
        assert len(split_tracked(marked)) == parts
    even = resample(mark_untracked(moving(valid=np.arange(900)[:, None] // 27 != np.full((1, 21), 10))), 30.0)
    assert int((~even.recording.tracked).sum()) == 9, "9 frames at 30 Hz carry it on"
    assert even.recording.wrist_valid.all()


def test_pauses_of_the_recorder_split_and_slow_sources_do_not():
    honest = moving()
    paused = replace(honest, time_s=honest.time_s + np.where(np.arange(900) >= 450, 3.0, 0.0))
    assert [len(part) for part in split_tracked(mark_untracked(paused))] == [450, 450]
    poses = mark_untracked(moving(frames=55, rate_hz=1.0, local=True))
    assert split_tracked(poses) == [poses]


def test_parts_that_are_too_short_are_left_out():
    frozen = [(30, 400), (420, 860)]
    marked = mark_untracked(moving(frozen=frozen))
    with pytest.raises(RecordingError, match="longest tracked part lasts 0.42 s, at least 0.5 s"):
        split_tracked(marked)


def test_parts_inherit_the_handedness_of_the_whole():
    """The fingers may stay flat in a part; the whole has shown which hand it is."""
    time_s, pos, quat = wandering(900, 90.0)
    bend = np.where(np.arange(900) < 300, 0.8, 0.0)[:, None] * np.ones(4)
    points = in_room(hand_keypoints(bend), pos, quat)
    marked = mark_untracked(moving(keypoints_m=points, **_frozen_wrist(pos, quat, 400, 500)))
    flat = split_tracked(marked)[1]
    assert flat.measured_handedness == "right"


def _frozen_wrist(pos, quat, first, last):
    pos, quat = pos.copy(), quat.copy()
    pos[first:last], quat[first:last] = pos[first], quat[first]
    return {"wrist_pos": pos, "wrist_quat": quat}
