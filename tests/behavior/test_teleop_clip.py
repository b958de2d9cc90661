"""The real teleoperated episode beside our robot: each frame with its own picture."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.behavior.motion import RobotMotion
from r2s2r.behavior.robot_view import BACKGROUND_RGB
from r2s2r.behavior.teleop_clip import PALM_VIEW, teleop_clip
from r2s2r.behavior.wrist import retarget_wrist
from r2s2r.contracts.errors import RetargetingError
from r2s2r.recording.g1_inspire import right_hand
from r2s2r.recording.lerobot_teleop import load_lerobot
from r2s2r.robot.ready import READY_ARM


@pytest.fixture(scope="module")
def motion(data_dir) -> RobotMotion:
    """The wrist's path placed, the arm at rest: what the clip shows does not depend on how well the arm follows."""
    hand = right_hand(load_lerobot(data_dir / "teleop_g1_inspire", 29))
    frames = len(hand)
    return RobotMotion(hand, None, retarget_wrist(hand), np.tile(READY_ARM, (frames, 1)), np.zeros(frames), ())


def test_every_frame_has_its_picture_the_hand_and_the_robot(motion):
    grey = np.broadcast_to(np.arange(221, dtype=np.uint8)[:, None, None, None], (221, 48, 64, 3))
    clip = teleop_clip(motion, grey, max_frames=3)
    height, width = PALM_VIEW.height, PALM_VIEW.width
    video = round(64 * height / 48)
    assert clip.shape == (3, height, video + 2 * width, 3) and clip.dtype == np.uint8
    assert [set(np.unique(frame[:, :video])) for frame in clip] == [{0}, {1}, {2}]
    for panel in (clip[0, :, video : video + width], clip[0, :, video + width :]):
        drawn = np.abs(panel.astype(int) - BACKGROUND_RGB).max(axis=-1) > 20
        assert 0.003 < drawn.mean() < 0.5
        assert not drawn[0].all() and not drawn[-1].all()
    assert np.array_equal(teleop_clip(motion, None, max_frames=1)[0], clip[0, :, video:])


def test_the_hand_stays_in_the_picture(motion):
    pixels = PALM_VIEW.project(motion.wrist.place(motion.recording.keypoints_m))
    seen = pixels[np.isfinite(pixels).all(axis=-1)]
    assert seen.min() > 0.0 and seen.max() < PALM_VIEW.width


def test_missing_pictures_and_wrists_are_refused(motion):
    with pytest.raises(RetargetingError, match="2 pictures for 3 frames"):
        teleop_clip(motion, np.zeros((2, 4, 4, 3), dtype=np.uint8), max_frames=3)
    with pytest.raises(RetargetingError, match="no wrist path to show: hand-local"):
        teleop_clip(replace(motion, wrist=None, left_out=("hand-local",)), None)
