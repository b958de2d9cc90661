"""The wrist's path in the robot's workspace, and the arm that follows it."""

import numpy as np
import pytest

from r2s2r.behavior.arm_following import follow_wrist
from r2s2r.behavior.wrist import Workspace, retarget_wrist
from r2s2r.contracts.errors import ConfigError, RetargetingError
from r2s2r.contracts.transforms import quat_angle, quat_from_matrix, quat_multiply, quat_rotate, yaw_quat
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.resampling import resample

from ..synthetic_hand import hand_keypoints

PALM_DOWN = quat_from_matrix(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]))
"""Palm down, fingers along x."""


def recording(wrist_pos, fingers_move=True):
    frames = len(wrist_pos)
    bend = np.linspace(0.3, 1.0 if fingers_move else 0.3, frames)[:, None] * np.ones(4)
    keypoints = quat_rotate(PALM_DOWN, hand_keypoints(bend)) + wrist_pos[:, None]
    quat = np.tile(PALM_DOWN, (frames, 1))
    valid = np.ones((frames, 21), dtype=bool)
    return HandRecording("test", "right", np.arange(frames) / 30.0, keypoints, valid, wrist_pos, quat)


def line(length, frames=30):
    return np.linspace(0.0, length, frames)[:, None] * np.array([1.0, 0.0, 0.0])


def test_short_path_keeps_its_size_and_shape():
    wrist = retarget_wrist(recording(line(0.1)))
    assert wrist.scale == 1.0
    steps = np.diff(wrist.wrist_pos_b, axis=0)
    assert np.abs(steps - steps[0]).max() < 1e-12 and np.linalg.norm(steps[0]) == pytest.approx(0.1 / 29)


def test_long_path_is_shrunk_into_the_box():
    workspace = Workspace()
    wrist = retarget_wrist(recording(line(2.0)), workspace)
    assert wrist.scale < 1.0
    assert (wrist.wrist_pos_b >= np.array(workspace.lower_b) - 1e-12).all()
    assert (wrist.wrist_pos_b <= np.array(workspace.upper_b) + 1e-12).all()


@pytest.mark.parametrize("yaw", [0.0, 1.0, -2.5, np.pi])
def test_result_does_not_depend_on_how_the_source_was_turned(yaw):
    """The hand's mean direction becomes the robot's forward, whichever way the source's world was turned."""
    plain = recording(line(0.1))
    turn = yaw_quat(yaw)
    turned = HandRecording(
        "turned",
        "right",
        plain.time_s,
        quat_rotate(turn, plain.keypoints_m),
        plain.valid,
        quat_rotate(turn, plain.wrist_pos),
        quat_multiply(turn, plain.wrist_quat),
    )
    first, second = retarget_wrist(plain), retarget_wrist(turned)
    assert np.abs(first.wrist_pos_b - second.wrist_pos_b).max() < 1e-9
    assert quat_angle(first.wrist_quat_b, second.wrist_quat_b).max() < 1e-7


def test_keypoints_are_placed_with_the_wrist():
    human = recording(line(0.1))
    wrist = retarget_wrist(human)
    assert np.abs(wrist.place(human.wrist_pos) - wrist.wrist_pos_b).max() < 1e-12


def test_b35_missing_wrist_motion_is_refused():
    with pytest.raises(RetargetingError, match="hand-local source, the wrist never moves"):
        retarget_wrist(recording(np.zeros((300, 3))))
    retarget_wrist(recording(line(0.02, 300)))
    retarget_wrist(recording(np.zeros((300, 3)), fingers_move=False))


def test_hand_local_recording_is_refused(data_dir):
    with pytest.raises(RetargetingError, match="hand-local source without wrist motion"):
        retarget_wrist(load_hand_recording(data_dir / "hand_motion/human_joint_right.npz"))


@pytest.mark.parametrize("name", ["leap_grab.npz", "leap_pinch.npz"])
def test_arm_follows_recorded_wrists(data_dir, name):
    """Within the joints' speed limits the arm stays within a centimetre of the recorded path, mostly on it."""
    wrist = retarget_wrist(resample(load_hand_recording(data_dir / "hand_motion" / name), 30.0).recording)
    joint_pos, left_over = follow_wrist(wrist.wrist_pos_b, wrist.wrist_quat_b)
    assert joint_pos.shape == (len(wrist.wrist_pos_b), 7)
    assert left_over.max() < 0.01 and np.median(left_over) < 1e-4
    assert np.abs(np.diff(joint_pos, axis=0)).max() * 30.0 < 3.15


def test_bad_paths_and_boxes_are_named():
    with pytest.raises(RetargetingError, match="not finite at frame 1"):
        follow_wrist(np.array([[0.4, 0.0, 0.4], [np.nan, 0.0, 0.4]]), np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)))
    with pytest.raises(ConfigError, match="lower must lie below upper"):
        Workspace(lower_b=(0.5, 0.0, 0.3), upper_b=(0.4, 0.1, 0.4))
