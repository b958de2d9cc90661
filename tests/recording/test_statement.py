"""What is said about a recording: measured, not repeated from the file; and mirroring, which it tells."""

import json

import numpy as np
import pytest

from r2s2r.contracts.transforms import matrix_from_quat
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.mirroring import mirrored
from r2s2r.recording.resampling import resample
from r2s2r.recording.statement import MOST_SPANS, describe
from r2s2r.recording.tracking import mark_untracked

from ..hand_layouts import in_room, openxr_fields, save, wandering
from ..synthetic_hand import hand_keypoints

REAL = {
    "leap_grab.npz": ("Leap Motion controller", "assumed, the file does not say", 115.4, 374),
    "qualisys_reach_grasp.npz": ("Qualisys optical motion capture", "by the layout of the markers", 100.0, 6000),
    "human_joint_right.npz": ("stream of 21 keypoints", "assumed, the file does not say", 30.0, 621),
    "webxr_hand_poses_left.json": ("WebXR hand poses", "declared by the file", 1.0, 55),
}


def hand(frames=300, rate_hz=60.0, handedness="right", **changes):
    time_s, pos, quat = wandering(frames, rate_hz)
    points = hand_keypoints(np.linspace(0.0, 0.9, frames)[:, None] * np.ones(4), handedness)
    fields = {"keypoints_m": in_room(points, pos, quat), "wrist_pos": pos, "wrist_quat": quat, "time_s": time_s}
    fields |= {"source": "test", "handedness": handedness, "valid": np.ones((frames, 21), dtype=bool)}
    return HandRecording(**(fields | changes))


@pytest.mark.parametrize("name", REAL)
def test_statement_of_the_real_recordings(data_dir, name):
    kind, who, rate_hz, frames = REAL[name]
    statement = describe(load_hand_recording(data_dir / "hand_motion" / name))
    assert (statement.facts.kind, statement.facts.handedness, statement.frames) == (kind, who, frames)
    assert statement.rate_hz == pytest.approx(rate_hz, rel=1e-3)
    assert statement.measured_handedness == statement.handedness
    assert statement.tracked_share == 1.0 and statement.spans == () and statement.gaps_s == ()
    assert 0.08 < statement.size_m < 0.25 and "mm" in statement.lines()[2]
    json.dumps(statement.summary())


def test_b29_rate_jitter_and_gaps_are_measured(rng):
    """Stamps 11 to 40 ms apart with three gaps of 120 ms."""
    steps = rng.uniform(0.011, 0.040, 299)
    steps[[70, 140, 210]] = 0.120
    time_s = np.append(0.0, np.cumsum(steps))
    statement = describe(mark_untracked(hand(time_s=time_s)))
    assert statement.rate_hz == pytest.approx(1 / np.median(steps)) and statement.jitter_s == pytest.approx(steps.std())
    assert [begin for begin, _ in statement.gaps_s] == pytest.approx(time_s[[70, 140, 210]])
    assert "3 gaps above 0.1 s" in " ".join(statement.lines())


def test_shares_count_what_was_tracked():
    valid = np.ones((300, 21), dtype=bool)
    valid[:30] = False
    valid[:, 20] = False
    statement = describe(mark_untracked(hand(valid=valid)))
    assert statement.tracked_share == pytest.approx(0.9)
    assert statement.keypoint_share == pytest.approx(0.9), "a keypoint that the source does not have is none lost"
    assert "fingers lost, untracked" in " ".join(statement.lines())


def test_many_spans_are_printed_short_and_kept_whole():
    valid = np.ones((300, 21), dtype=bool)
    valid[5::10] = False
    statement = describe(mark_untracked(hand(valid=valid)))
    assert len(statement.summary()["spans"]) == 30
    assert f"{30 - MOST_SPANS} more" in " ".join(statement.lines())


def test_mirroring_twice_changes_nothing_and_once_makes_the_other_hand(tmp_path):
    left = hand(handedness="left")
    right = mirrored(left)
    assert right.handedness == right.measured_handedness == "right"
    again = mirrored(right)
    assert np.abs(again.keypoints_m - left.keypoints_m).max() < 1e-12
    assert np.abs(again.wrist_quat - left.wrist_quat).max() < 1e-12
    # Both frames are mirrored in y: R becomes M R M.
    mirror = np.diag([1.0, -1.0, 1.0])
    expected = mirror @ matrix_from_quat(left.wrist_quat) @ mirror
    assert np.abs(matrix_from_quat(right.wrist_quat) - expected).max() < 1e-12
    # The right hand lies in its wrist as one that was recorded right.
    local = np.einsum("tji,tkj->tki", matrix_from_quat(right.wrist_quat), right.keypoints_m - right.wrist_pos[:, None])
    assert np.abs(local - hand_keypoints(np.linspace(0.0, 0.9, 300)[:, None] * np.ones(4))).max() < 1e-12
    time_s, pos, quat = wandering(60)
    points = hand_keypoints(np.linspace(0.0, 0.9, 60)[:, None] * np.ones(4), "left")
    fields = openxr_fields(points, pos, quat, time_s, "left")
    told = mirrored(load_hand_recording(save(tmp_path / "a.npz", fields)))
    assert "hand: right, a left hand (declared by the file) mirrored on request" in " ".join(describe(told).lines())


def test_resampling_carries_wrist_validity_on():
    """Bridged up to 0.15 s, held and flagged beyond: positions stay finite, flags say which are measured."""
    for lost_s, kept in ((0.1, True), (0.3, False)):
        time_s = hand().time_s
        wrist_valid = ~((time_s > 2.0) & (time_s < 2.0 + lost_s))
        even = resample(hand(wrist_valid=wrist_valid), 30.0).recording
        inside = (even.time_s > 2.02) & (even.time_s < 2.0 + lost_s - 0.02)
        assert inside.any() and (even.wrist_valid[inside] == kept).all()
        assert even.wrist_valid[~((even.time_s > 1.96) & (even.time_s < 2.04 + lost_s))].all()
        assert np.isfinite(even.wrist_pos).all() and not even.valid[inside & ~even.wrist_valid].any()
