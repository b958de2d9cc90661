"""Every layout of a hand tracker, read back to the same hand in our axes."""

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import matrix_from_quat, quat_angle, quat_multiply
from r2s2r.recording.joint_orders import OPENXR_JOINTS
from r2s2r.recording.load import load_hand_recording, source_type
from r2s2r.recording.statement import describe

from ..hand_layouts import (
    FRAMES,
    POS,
    QUAT,
    TIME_S,
    headset_joints,
    in_room,
    mano_joint_fields,
    mano_parameter_fields,
    mediapipe_fields,
    openxr_fields,
    save,
    vision_pro_fields,
)
from ..synthetic_hand import hand_keypoints

BEND = np.linspace(0.0, 1.0, FRAMES)[:, None] * np.array([1.0, 0.9, 0.8, 0.7])
HANDS = ("right", "left")


def points(handedness="right"):
    return hand_keypoints(BEND, handedness)


def world_layouts(handedness):
    """Every layout that has the wrist's motion, as (kind, fields)."""
    hand = (points(handedness), POS, QUAT, TIME_S, handedness)
    return {
        "openxr 26": ("openxr", openxr_fields(*hand)),
        "openxr 25": ("openxr", openxr_fields(*hand, count=25)),
        "vision pro 25": ("vision_pro", vision_pro_fields(*hand)),
        "vision pro 27": ("vision_pro", vision_pro_fields(*hand, count=27)),
        "mano joints": ("mano", mano_joint_fields(*hand)),
        "openpose joints": (
            "mano",
            mano_joint_fields(*hand, joint_order="openpose", mano_joints_m=in_room(*hand[:3]), up_axis="z"),
        ),
    }


@pytest.mark.parametrize("suffix", [".npz", ".json"])
@pytest.mark.parametrize("handedness", HANDS)
@pytest.mark.parametrize("name", world_layouts("right"))
def test_same_hand_out_of_every_layout(name, handedness, suffix, tmp_path):
    """Round trip: keypoints and wrist in the room with z up, to rounding."""
    kind, fields = world_layouts(handedness)[name]
    path = save(tmp_path / f"hand{suffix}", fields)
    assert source_type(path) == kind
    hand = load_hand_recording(path)
    assert hand.handedness == hand.measured_handedness == handedness
    assert np.abs(hand.keypoints_m - in_room(points(handedness), POS, QUAT)).max() < 1e-9
    assert np.abs(hand.wrist_pos - POS).max() < 1e-9
    assert quat_angle(hand.wrist_quat, QUAT).max() < (1e-6 if "joints" not in name else 0.02)
    assert hand.wrist_valid.all() and hand.valid.all() and hand.spans == ()


def test_same_hand_out_of_mano_parameters(tmp_path):
    """Forward kinematics of the chain: the flat hand in the file and the bends give the bent hand."""
    flat = hand_keypoints(np.zeros(4))[0]
    hand = load_hand_recording(save(tmp_path / "a.npz", mano_parameter_fields(flat, BEND, POS, QUAT, TIME_S)))
    assert np.abs(hand.keypoints_m - in_room(points(), POS, QUAT)).max() < 1e-9
    assert quat_angle(hand.wrist_quat, QUAT).max() < 1e-6
    fields = mano_parameter_fields(flat, BEND, POS, QUAT, TIME_S)
    del fields["transl"]
    assert load_hand_recording(save(tmp_path / "b.npz", fields)).wrist_pos is None, "no translation: hand-local"


@pytest.mark.parametrize("handedness", HANDS)
def test_hand_local_layouts_keep_the_hand_and_have_no_wrist(handedness, tmp_path):
    turned = in_room(points(handedness), 0.0 * POS, QUAT)
    camera = load_hand_recording(
        save(tmp_path / "a.npz", mediapipe_fields(points(handedness), QUAT, TIME_S, handedness))
    )
    wrist = {"space": "wrist", "joint_positions_m": headset_joints(turned, 25)}
    headset = openxr_fields(points(handedness), POS, QUAT, TIME_S, handedness, count=25, **wrist)
    for hand in (camera, load_hand_recording(save(tmp_path / "b.npz", headset))):
        assert hand.wrist_pos is None and hand.wrist_valid is None and hand.handedness == handedness
        between = np.linalg.norm(hand.keypoints_m[:, 4] - hand.keypoints_m[:, 8], axis=-1)
        assert np.abs(between - np.linalg.norm(turned[:, 4] - turned[:, 8], axis=-1)).max() < 1e-9
        assert np.abs(hand.keypoints_m[:, 0]).max() < 1e-9


def test_joint_names_settle_any_order(tmp_path, rng):
    fields = openxr_fields(points(), POS, QUAT, TIME_S)
    order = rng.permutation(26)
    shuffled = {k: fields[k][:, order] for k in ("joint_positions_m", "joint_quats", "joint_valid")}
    names = np.array([OPENXR_JOINTS[k] for k in order])
    hand = load_hand_recording(save(tmp_path / "a.npz", fields | shuffled | {"joint_names": names}))
    assert np.abs(hand.keypoints_m - in_room(points(), POS, QUAT)).max() < 1e-9
    with pytest.raises(RecordingError, match="26 joint_names for 26 joints, missing: index-finger-tip"):
        wrong = np.where(names == "index-finger-tip", "tip", names)
        load_hand_recording(save(tmp_path / "b.npz", fields | shuffled | {"joint_names": wrong}))


def test_b27_b28_joints_that_are_not_valid_are_never_used(tmp_path):
    """Flags decide, whatever the numbers say; without flags an untouched zero counts as not tracked."""
    fields = openxr_fields(points(), POS, QUAT, TIME_S)
    fields["joint_positions_m"][20, 10] = 0.0
    fields["joint_valid"][20, 10] = False
    hand = load_hand_recording(save(tmp_path / "a.npz", fields))
    assert np.argwhere(~hand.valid).tolist() == [[20, 8]], "OpenXR's joint 10 is the index finger's tip"
    fields["joint_positions_m"][30:35] = 0.0
    del fields["joint_valid"]
    hand = load_hand_recording(save(tmp_path / "b.json", fields))
    assert not hand.valid[30:35].any() and not hand.wrist_valid[30:35].any() and not hand.valid[20, 8]
    assert (hand.wrist_pos[30:35] == hand.wrist_pos[29]).all()
    assert any("no validity in the file" in line for line in describe(hand).lines())


def test_wrist_without_orientation_takes_the_knuckles(tmp_path):
    fields = openxr_fields(points(), POS, QUAT, TIME_S)
    del fields["joint_quats"]
    hand = load_hand_recording(save(tmp_path / "a.npz", fields))
    assert quat_angle(hand.wrist_quat, QUAT).max() < 0.02, "the made-up hand's knuckles lie slightly aslant"
    assert "from the knuckles" in " ".join(describe(hand).lines())
    fields["joint_quats"] = np.zeros((FRAMES, 26, 4))
    with pytest.raises(RecordingError, match="the wrist is not tracked in any"):
        load_hand_recording(save(tmp_path / "b.npz", fields))


@pytest.mark.parametrize("axis", range(3))
def test_b33_wrist_turned_by_a_quarter_is_an_error(axis, tmp_path):
    """The joints say where the wrist's axes lead; a file in another convention contradicts them."""
    quarter = np.array([*(np.sqrt(0.5) * np.eye(3)[axis]), np.sqrt(0.5)])
    fields = openxr_fields(points(), POS, QUAT, TIME_S)
    fields["joint_quats"][:, 1] = quat_multiply(fields["joint_quats"][:, 1], quarter)
    with pytest.raises(RecordingError, match="axis points .* deg away from where the knuckles say"):
        load_hand_recording(save(tmp_path / "a.npz", fields))
    turn = np.eye(4)
    turn[:3, :3] = matrix_from_quat(quarter)
    fields = vision_pro_fields(points(), POS, QUAT, TIME_S)
    fields["right_fingers"] = turn @ fields["right_fingers"]
    with pytest.raises(RecordingError, match="axis points .* deg away from where the knuckles say"):
        load_hand_recording(save(tmp_path / "b.npz", fields))


def test_vision_pro_world_with_another_axis_up_is_an_error(tmp_path):
    fields = vision_pro_fields(points(), POS, QUAT, TIME_S)
    y_up = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
    turned = {name: y_up @ fields[name] for name in ("head", "right_wrist")}
    with pytest.raises(RecordingError, match="head's up is 90 deg away from z"):
        load_hand_recording(save(tmp_path / "a.npz", fields | turned))
    del fields["head"]
    hand = load_hand_recording(save(tmp_path / "b.npz", fields))
    assert any("that z is up was not checked" in line for line in describe(hand).lines())


def test_vision_pro_before_the_hand_is_seen(tmp_path):
    """The stream begins with unit matrices: no hand is there, and no recording begins at the origin."""
    fields = vision_pro_fields(points(), POS, QUAT, TIME_S)
    fields["right_wrist"][:7], fields["right_fingers"][:7] = np.eye(4), np.eye(4)
    hand = load_hand_recording(save(tmp_path / "a.npz", fields))
    assert not hand.tracked[:7].any() and hand.tracked[7:].all()
    assert [(s.frames, s.reason) for s in hand.spans] == [(7, "wrist lost")]
    assert (hand.wrist_pos[:7] == hand.wrist_pos[7]).all()


def test_one_of_two_hands_is_read(tmp_path):
    right = vision_pro_fields(points(), POS, QUAT, TIME_S)
    left = vision_pro_fields(points("left"), POS - (0.4, 0.0, 0.0), QUAT, TIME_S, "left")
    path = save(tmp_path / "both.npz", right | left)
    assert load_hand_recording(path).handedness == "right"
    assert load_hand_recording(path, handedness="left").handedness == "left"
    with pytest.raises(RecordingError, match="holds a right hand, a left hand was asked for"):
        load_hand_recording(save(tmp_path / "one.npz", right), handedness="left")


def test_b30_mediapipe_label_and_mirroring(tmp_path):
    """A right hand labelled left contradicts the bend of its fingers; with the picture mirrored it is right."""
    fields = mediapipe_fields(points(), QUAT, TIME_S, "left")
    with pytest.raises(RecordingError, match="given as a left hand, but its fingers bend as a right hand's"):
        load_hand_recording(save(tmp_path / "a.npz", fields))
    assert load_hand_recording(save(tmp_path / "b.npz", fields | {"mirrored_input": True})).handedness == "right"
    flat = mediapipe_fields(hand_keypoints(0.0 * BEND), QUAT, TIME_S)
    with pytest.raises(RecordingError, match="handedness undecided"):
        load_hand_recording(save(tmp_path / "c.npz", flat))
    del fields["mirrored_input"]
    with pytest.raises(RecordingError, match="mirrored_input missing, allowed are true and false"):
        load_hand_recording(save(tmp_path / "d.json", fields))


def test_mediapipe_frames_without_a_hand_and_image_landmarks(tmp_path):
    fields = mediapipe_fields(points(), QUAT, TIME_S)
    fields["hand_world_landmarks"][10:14] = np.nan
    hand = load_hand_recording(save(tmp_path / "a.json", fields))
    assert np.flatnonzero(~hand.tracked).tolist() == [10, 11, 12, 13]
    fields["hand_landmarks"] = fields.pop("hand_world_landmarks")
    with pytest.raises(RecordingError, match="hand_landmarks are places in the picture .* save hand_world_landmarks"):
        load_hand_recording(save(tmp_path / "b.npz", fields))


def index_flexion(hand):
    """Return the sum of the index finger's bends (T,) [rad]."""
    parts = np.diff(hand.keypoints_m[:, (0, 5, 6, 7, 8)], axis=1)
    parts /= np.linalg.norm(parts, axis=-1, keepdims=True)
    return np.arccos(np.clip(np.sum(parts[:, 1:2] * parts[:, 3:4], axis=-1), -1.0, 1.0))[:, 0]


def test_b32_pose_space_and_mean_are_stated(tmp_path, rng):
    """The zero vector is flat or curled, by the file's word; the same hand comes out of axis-angle and PCA."""
    flat = hand_keypoints(np.zeros(4))[0]
    fields = mano_parameter_fields(flat, BEND, POS, QUAT, TIME_S)
    hand = load_hand_recording(save(tmp_path / "a.npz", fields))
    assert index_flexion(hand)[0] < 0.05, "zero, flat"
    curled = fields["hand_pose"][15]
    mean = fields | {"pose_mean": "mean", "mean_pose": curled}
    assert index_flexion(load_hand_recording(save(tmp_path / "b.npz", mean)))[0] > 0.2, "zero, mean added"
    basis = np.linalg.qr(rng.normal(size=(45, 45)))[0]
    pca = {"pose_space": "pca", "components": 45, "pca_basis": basis, "hand_pose": fields["hand_pose"] @ basis.T}
    again = load_hand_recording(save(tmp_path / "c.npz", fields | pca))
    assert np.abs(again.keypoints_m - hand.keypoints_m).max() < 1e-9
    for name in ("pose_space", "pose_mean", "rest_joints", "up_axis"):
        with pytest.raises(RecordingError, match=f"{name} missing"):
            load_hand_recording(save(tmp_path / "d.npz", {k: v for k, v in fields.items() if k != name}))
    with pytest.raises(RecordingError, match="mean_pose missing"):
        load_hand_recording(save(tmp_path / "e.npz", fields | {"pose_mean": "mean"}))
    with pytest.raises(RecordingError, match="hand_pose has 24 columns, components says 45"):
        load_hand_recording(save(tmp_path / "f.npz", fields | pca | {"hand_pose": np.zeros((FRAMES, 24))}))
    with pytest.raises(RecordingError, match="rest_joints has 16 rows, expected 21: the 16 joints, then the tips"):
        load_hand_recording(save(tmp_path / "g.npz", fields | {"rest_joints": fields["rest_joints"][:16]}))
