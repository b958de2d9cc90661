"""The live hand: the same as a recording's, frame by frame, and what is not measured is held."""

import numpy as np
import pytest

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.human_hand import HumanHand
from r2s2r.behavior.live_retargeting import LiveRetargeter
from r2s2r.behavior.retargeting import FrameStatus, retarget_hand
from r2s2r.contracts.errors import ConfigError, RetargetingError
from r2s2r.contracts.transforms import quat_exp, quat_rotate
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.load import load_hand_recording

from ..synthetic_hand import hand_keypoints

BEND = 0.5 + 0.3 * np.sin(np.linspace(0.0, 6.0, 40))[:, None] * np.ones(4)
RATE_HZ = 15.0
"""Too slow for the filter of recordings, which a live hand does without."""


@pytest.fixture(scope="module")
def hand():
    return HandModel()


def recording(keypoints, **changes):
    valid = np.isfinite(keypoints).all(axis=-1)
    return HandRecording("test", "right", np.arange(len(keypoints)) / RATE_HZ, keypoints, valid, **changes)


def follow(live, human):
    """Return joints (T, 16) and status (T,) of a recording that comes in frame by frame."""
    pos, quat = human.wrist_pos, human.wrist_quat
    frames = [
        live.retarget(time_s, points, None if pos is None else pos[frame], None if quat is None else quat[frame])
        for frame, (time_s, points) in enumerate(zip(human.time_s, human.keypoints_m, strict=True))
    ]
    return np.array([frame.joint_pos for frame in frames]), np.array([frame.status for frame in frames])


def test_live_hand_is_the_recorded_one_unfiltered(hand, rng):
    keypoints = hand_keypoints(BEND)
    keypoints[10, 6], keypoints[20:23] = np.nan, np.nan
    moving, turn = rng.normal(size=(40, 3)), quat_exp(rng.normal(size=(40, 3)))
    placed = quat_rotate(turn[:, None], keypoints) + moving[:, None]
    for human in (recording(keypoints), recording(placed, wrist_pos=moving, wrist_quat=turn)):
        expected = retarget_hand(human, hand)
        joint_pos, status = follow(LiveRetargeter(HumanHand.measure(human), hand), human)
        assert np.abs(joint_pos - expected.joint_pos).max() < 1e-6
        assert np.array_equal(status, expected.status)
        assert status[10] == FrameStatus.PARTLY_MEASURED and (status[20:23] == FrameStatus.HELD).all()


def test_b27_lost_hand_is_held_and_comes_back(hand):
    fist = hand_keypoints(np.full((30, 4), 1.0))
    live = LiveRetargeter(HumanHand.measure(recording(fist)), hand)
    before = [live.retarget(frame / 30.0, fist[frame]) for frame in range(10)][-1]
    lost = [live.retarget(frame / 30.0, np.full((21, 3), np.nan)) for frame in range(10, 19)]
    assert all(frame.status == FrameStatus.HELD for frame in lost)
    assert all(np.array_equal(frame.joint_pos, before.joint_pos) for frame in lost)
    again = live.retarget(1.0, fist[19])
    assert again.status == FrameStatus.SOLVED and np.abs(again.joint_pos - before.joint_pos).max() < 0.02


def test_before_anything_is_seen_the_hand_rests(hand):
    keypoints = hand_keypoints(BEND)
    live = LiveRetargeter(HumanHand.measure(recording(keypoints)), hand)
    first = live.retarget(0.0, np.full((21, 3), np.nan))
    assert first.status == FrameStatus.HELD and (first.joint_pos >= hand.lower).all()
    partly = keypoints[0].copy()
    partly[6:9] = np.nan  # the index finger was never seen
    seen = live.retarget(0.1, partly)
    assert seen.status == FrameStatus.PARTLY_MEASURED and np.isfinite(seen.joint_pos).all()
    assert (
        np.abs(seen.joint_pos - first.joint_pos)[:4].max() < 0.05 < np.abs(seen.joint_pos - first.joint_pos)[4:8].max()
    )


def test_reset_forgets(hand):
    keypoints = hand_keypoints(BEND)
    live = LiveRetargeter(HumanHand.measure(recording(keypoints)), hand)
    first = follow(live, recording(keypoints))[0]
    live.reset()
    assert np.array_equal(follow(live, recording(keypoints))[0], first)


def test_recorded_stream_is_followed_closely(hand, data_dir):
    human = load_hand_recording(data_dir / "hand_motion/leap_pinch.npz")
    joint_pos, status = follow(LiveRetargeter(HumanHand.measure(human), hand), human)
    assert (status == FrameStatus.SOLVED).all()
    assert np.abs(joint_pos - retarget_hand(human, hand).joint_pos).max() < 0.1, "the filter's share"


def test_bad_input_is_named(hand):
    keypoints = hand_keypoints(BEND)
    live = LiveRetargeter(HumanHand.measure(recording(keypoints)), hand)
    live.retarget(1.0, keypoints[0])
    with pytest.raises(RetargetingError, match="time 1.0 s after 1.0 s; it must increase"):
        live.retarget(1.0, keypoints[1])
    with pytest.raises(RetargetingError, match=r"keypoints have shape \(25, 3\), expected \(21, 3\)"):
        live.retarget(2.0, np.zeros((25, 3)))
    with pytest.raises(ConfigError, match="HumanHand.first_m: received"):
        HumanHand((0.04, 0.04), (0.05, 0.05, 0.05), (0.0, 0.0, 0.0))
