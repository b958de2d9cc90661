"""The field reports' rows about hands, through the layouts of new trackers and on to the robot hand."""

import numpy as np
import pytest

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.retargeting import retarget_hand
from r2s2r.behavior.wrist import retarget_wrist
from r2s2r.contracts.errors import RetargetingError
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.mirroring import mirrored

from ..hand_layouts import FIELDS, FRAMES, POS, QUAT, TIME_S, mano_parameter_fields, mediapipe_fields, save
from ..synthetic_hand import hand_keypoints

FLAT = hand_keypoints(np.zeros(4))[0]
CLOSING = np.repeat(np.clip(np.linspace(-0.5, 1.0, FRAMES), 0.0, 1.0)[:, None] * 0.9, 4, axis=1)
FINGER_JOINTS = {"index": slice(0, 4), "middle": slice(4, 8), "ring": slice(8, 12), "thumb": slice(12, 16)}
BENDING = [k for k in range(12) if k % 4]


@pytest.fixture(scope="module")
def hand():
    return HandModel()


def layouts(bend, handedness="right"):
    points = hand_keypoints(bend, handedness)
    in_the_room = {kind: make(points, POS, QUAT, TIME_S, handedness) for kind, make in FIELDS.items()}
    return in_the_room | {"mediapipe": mediapipe_fields(points, QUAT, TIME_S, handedness)}


def load(path, fields):
    return load_hand_recording(save(path, fields))


def test_b33_flat_hand_is_flat_out_of_every_layout(hand, tmp_path):
    """OpenXR, Vision Pro, MANO (joints and parameters), MediaPipe: flexion below 0.15 rad, 0.05 rad apart at most."""
    fields = layouts(CLOSING) | {"mano parameters": mano_parameter_fields(FLAT, CLOSING, POS, QUAT, TIME_S)}
    robots = {name: retarget_hand(load(tmp_path / "a.npz", f), hand).joint_pos for name, f in fields.items()}
    flat = np.stack([robot[5][BENDING] for robot in robots.values()])
    assert np.abs(flat).max() < 0.15, dict(zip(robots, np.abs(flat).max(axis=1), strict=True))
    assert np.ptp(flat, axis=0).max() < 0.05
    closed = np.stack([robot[-3][BENDING] for robot in robots.values()])
    assert np.ptp(closed, axis=0).max() < 0.05 and closed.min() > 0.3


@pytest.mark.parametrize("handedness", ["right", "left"])
def test_b34_single_fingers_of_either_hand(hand, tmp_path, handedness):
    """The human index alone bends by 60 deg: the robot's index moves, its ring does not; a left hand is mirrored."""
    bend = np.zeros((FRAMES, 4))
    bend[:, 0] = np.linspace(0.0, np.radians(60.0), FRAMES)
    for name, fields in layouts(bend, handedness).items():
        human = load(tmp_path / "a.npz", fields)
        human = mirrored(human) if handedness == "left" else human
        robot = retarget_hand(human, hand).joint_pos
        moved = {finger: np.ptp(robot[:, joints], axis=0).max() for finger, joints in FINGER_JOINTS.items()}
        assert moved["index"] > 0.3 and moved["ring"] < 0.05, (name, moved)


def test_b34_left_hand_moves_the_robot_as_its_mirror_image_does(hand, tmp_path):
    right, left = (load(tmp_path / "a.npz", layouts(CLOSING, side)["openxr"]) for side in ("right", "left"))
    with pytest.raises(RetargetingError, match="a left hand"):
        retarget_hand(left, hand)
    difference = retarget_hand(mirrored(left), hand).joint_pos - retarget_hand(right, hand).joint_pos
    assert np.abs(difference).max() < 1e-3


def test_b28_invalid_openxr_joint_10_leaves_the_other_fingers_alone(hand, tmp_path):
    """The index finger's tip is at zero and not valid in one frame: thumb, middle and ring move by less than 1 mrad."""
    bend = 0.6 + 0.1 * np.sin(np.linspace(0.0, 6.0, FRAMES))[:, None] * np.ones(4)
    fields = layouts(bend)["openxr"]
    whole = retarget_hand(load(tmp_path / "a.npz", fields), hand).joint_pos
    fields["joint_positions_m"][30, 10] = 0.0
    fields["joint_valid"][30, 10] = False
    robot = retarget_hand(load(tmp_path / "b.npz", fields), hand).joint_pos
    for finger in ("thumb", "middle", "ring"):
        assert np.abs(robot - whole)[:, FINGER_JOINTS[finger]].max() < 1e-3
    step = np.abs(np.diff(whole[:, FINGER_JOINTS["index"]], axis=0)).max()
    assert np.abs(robot - whole)[:, FINGER_JOINTS["index"]].max() <= step


def test_b27_fist_stays_a_fist_while_the_headset_has_lost_it(hand, tmp_path):
    """9 frames of zeros that are not valid: the fingers hold to 1e-6, where they would open."""
    bend = np.full((FRAMES, 4), 1.2 / 3)
    fields = layouts(bend)["mediapipe"]
    fields["hand_world_landmarks"][30:39] = np.nan
    lost = load(tmp_path / "a.npz", fields)
    robot = retarget_hand(lost, hand).joint_pos
    assert np.flatnonzero(~lost.tracked).tolist() == list(range(30, 39))
    assert np.ptp(robot[30:39], axis=0).max() < 1e-6


def test_b35_wrist_that_never_moves_is_hand_local(tmp_path):
    """300 frames, the wrist constant, the fingers closing: refused by name; moving by 20 mm it is taken."""
    time_s, frames = np.arange(300) / 30.0, 300
    points = hand_keypoints(np.linspace(0.0, 1.0, frames)[:, None] * np.ones(4))
    still, quat = np.tile([0.1, 0.3, 1.0], (frames, 1)), np.tile(QUAT[:1], (frames, 1))
    moving = still + 0.02 * np.linspace(0.0, 1.0, frames)[:, None] * (1.0, 0.0, 0.0)
    for make in (FIELDS["openxr"], FIELDS["vision_pro"]):
        with pytest.raises(RetargetingError, match="hand-local source"):
            retarget_wrist(load(tmp_path / "a.npz", make(points, still, quat, time_s)))
        path = retarget_wrist(load(tmp_path / "b.npz", make(points, moving, quat, time_s))).wrist_pos_b
        assert np.linalg.norm(path[-1] - path[0]) == pytest.approx(0.02, abs=1e-6)
