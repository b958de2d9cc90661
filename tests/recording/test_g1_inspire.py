"""The teleoperated G1 with Inspire hands: real episodes through the loader, kinematics against Pinocchio."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import matrix_from_quat, pose_apply, pose_inverse
from r2s2r.recording.g1_inspire import (
    MOUNT_AXES,
    RIGHT_ARM,
    RIGHT_HAND,
    URDF,
    WAIST_JOINTS,
    WRIST_LINK,
    column_unit,
    right_arm,
    right_hand,
)
from r2s2r.recording.hand_recording import KEYPOINTS
from r2s2r.recording.inspire_hand import PALM_AXES, SKELETON, hinge_angles, keypoints_in_palm
from r2s2r.recording.lerobot import open_lerobot
from r2s2r.recording.lerobot_teleop import load_lerobot, teleop_recording
from r2s2r.recording.teleop_recording import TeleopRecording
from r2s2r.recording.video import read_pictures
from r2s2r.robot.description import packaged_share

EPISODES = (0, 1, 2, 10, 28, 29)
OPEN, CLOSED = np.ones((1, 6)), np.zeros((1, 6))
WRIST, THUMB_TIP, MIDDLE_MCP = (KEYPOINTS.index(name) for name in ("wrist", "thumb_tip", "middle_mcp"))
TIPS = [KEYPOINTS.index(f"{finger}_tip") for finger in ("index", "middle", "ring", "pinky")]


@pytest.fixture(scope="module")
def folder(data_dir):
    return data_dir / "teleop_g1_inspire"


@pytest.fixture(scope="module")
def episode_29(folder) -> TeleopRecording:
    return load_lerobot(folder, 29)


def test_real_episodes_are_read_and_the_others_are_told(folder):
    data_set = open_lerobot(folder)
    assert tuple(sorted(data_set.episodes)) == EPISODES
    assert len(data_set.lost) == 94 and "there is no such file" in data_set.lost[3]
    lengths = [len(teleop_recording(data_set, index)) for index in EPISODES]
    assert lengths == [479, 393, 343, 290, 278, 221]


def test_real_numbers_are_those_of_the_npz_beside_them(folder):
    """The data folder holds episodes 28 and 29 a second time, written by another reader of the tables."""
    for index in (28, 29):
        recording = load_lerobot(folder, index)
        with np.load(folder / "episodes_028_029.npz", allow_pickle=False) as file:
            names = [str(name) for name in file["names"]]
            key = next(name for name in file.files if f"{index:03d}" in name and "state" in name)
            state = file[key]
        assert list(recording.joint_names) == names
        assert np.array_equal(recording.measured, state.astype(float))


def test_without_a_number_the_first_episode_with_a_video_is_taken(folder):
    recording = load_lerobot(folder)
    assert recording.source == "teleop_g1_inspire episode 29"
    assert recording.video is not None and recording.video.camera == "observation.images.cam_high"
    assert recording.task == "Pick up the yellow bottle on the table."
    assert recording.hw_time_s is None and recording.tracked.all()


def test_real_video_gives_a_picture_for_each_row(folder, episode_29):
    """Beside the video lie four of its pictures as JPEG of quality 97, which is a few grey levels off."""
    from PIL import Image

    pictures = read_pictures(episode_29.video, len(episode_29))
    assert pictures.shape == (221, 480, 640, 3)
    for row in (0, 60, 110, 170):
        kept = np.asarray(Image.open(folder / f"frames/episode_000029_frame_{row:03d}.jpg"), dtype=float)
        assert np.abs(pictures[row] - kept).mean() < 2.0
        assert np.abs(pictures[(row + 20) % 221] - kept).mean() > 2.0


def test_the_arm_follows_its_commands_as_late_as_the_readme_says(folder):
    """130 to 200 ms for the arm, 330 to 430 ms for the hand: which shift fits best, over all episodes."""
    for columns, low, high in ((RIGHT_ARM, 4, 6), (RIGHT_HAND, 10, 13)):
        error = np.zeros(20)
        for index in EPISODES:
            recording = load_lerobot(folder, index)
            sent, read = recording.columns(columns, "commanded"), recording.columns(columns)
            error += [np.square(read[20:] - sent[20 - k : len(sent) - k]).mean() for k in range(20)]
        assert low <= np.argmin(error) <= high


def test_wrist_path_agrees_with_pinocchio(episode_29):
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(packaged_share()[0] / URDF))
    data, chain = model.createData(), right_arm()
    arm = episode_29.columns(RIGHT_ARM)[::20]
    ours = chain.wrist_pose(np.hstack([np.zeros((len(arm), WAIST_JOINTS)), arm]))
    for row, joints in enumerate(arm):
        q = pin.neutral(model)
        for name, value in zip(chain.names[WAIST_JOINTS:], joints, strict=True):
            q[model.joints[model.getJointId(name)].idx_q] = value
        pin.framesForwardKinematics(model, data, q)
        theirs = data.oMf[model.getFrameId(WRIST_LINK)].homogeneous
        assert np.allclose(ours[row], theirs, atol=1e-9)


def test_columns_are_those_of_the_chain_joint_by_joint():
    for column, joint in zip(RIGHT_ARM, right_arm().names[WAIST_JOINTS:], strict=True):
        words = joint.removesuffix("_joint").removeprefix("right_").split("_")
        assert column == "kRight" + "".join(word.capitalize() for word in words)
    assert [column_unit(name) for name in ("kLeftElbow", "kRightHandIndex", "kHead")] == ["rad", "share", None]


def test_inspire_hand_has_the_published_lengths():
    """Phalanges of dex-urdf's links: the distance of neighbouring frames does not depend on the motors."""
    for share in (OPEN, CLOSED, np.full((1, 6), 0.3)):
        points = keypoints_in_palm(share)[0]
        proximal = [np.linalg.norm(points[tip - 2] - points[tip - 3]) for tip in TIPS]
        assert np.allclose(proximal, 0.0321, atol=1e-4)
        distal = [np.linalg.norm(points[tip] - points[tip - 2]) for tip in TIPS]
        assert np.allclose(distal, [0.0453, 0.0483, 0.0453, 0.0373], atol=2e-4)
    assert np.isnan(points[[tip - 1 for tip in TIPS]]).all(), "a finger of two hinges has no last joint"


def test_open_fingers_point_along_the_hand_and_closed_ones_into_the_palm():
    open_hand, closed = keypoints_in_palm(OPEN)[0], keypoints_in_palm(CLOSED)[0]
    assert (open_hand[TIPS, 2] > 0.16).all() and (np.abs(open_hand[TIPS, 0]) < 0.01).all()
    assert (closed[TIPS, 2] < open_hand[MIDDLE_MCP, 2]).all() and (closed[TIPS, 0] > 0.015).all()
    assert (np.diff(open_hand[TIPS, 1]) < 0.0).all(), "index on the thumb's side, little finger furthest from it"
    opposed = keypoints_in_palm(np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]]))[0]
    assert opposed[THUMB_TIP, 0] > open_hand[THUMB_TIP, 0] + 0.05, "turned in front of the palm"


def test_motors_move_their_own_finger_alone():
    """Each hinge is driven by one motor, evenly, and shares beyond 0..1 are the ends."""
    base = hinge_angles(np.full((1, 6), 0.5))
    for motor, hinges in enumerate(((10, 11), (8, 9), (6, 7), (4, 5), (1, 2, 3), (0,))):
        share = np.full((1, 6), 0.5)
        share[0, motor] = 0.25
        moved = np.flatnonzero(np.abs(hinge_angles(share) - base)[0] > 1e-9)
        assert tuple(moved) == hinges, SKELETON.names
    assert np.array_equal(hinge_angles(np.full((1, 6), 1.3)), hinge_angles(OPEN))


def test_real_hand_is_where_the_arm_holds_it(episode_29):
    """Keypoints taken back into the wrist are the hand's own; its axes: x out of the palm, z along the fingers."""
    hand = right_hand(episode_29)
    axes = matrix_from_quat(hand.wrist_quat)
    matrix = np.tile(np.eye(4), (len(hand), 1, 1))
    matrix[:, :3, :3], matrix[:, :3, 3] = axes, hand.wrist_pos
    local = pose_apply(pose_inverse(matrix)[:, None], hand.keypoints_m)
    assert np.allclose(local, keypoints_in_palm(episode_29.columns(RIGHT_HAND)), atol=1e-9, equal_nan=True)
    assert np.allclose(hand.keypoints_m[:, WRIST], hand.wrist_pos)
    assert hand.handedness == hand.measured_handedness == "right"
    # In the video the hand reaches forward with its palm to the left and the index finger on top.
    assert (axes[:, 0, 2] > 0.5).all() and (axes[:, 1, 0] > 0.5).all() and (axes[:, 2, 1] > 0.5).all()


def test_the_mount_is_the_makers_roll_and_yaw():
    turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) @ np.diag([1.0, -1.0, -1.0])
    assert np.array_equal(MOUNT_AXES, turn)
    assert np.linalg.det(PALM_AXES) == pytest.approx(1.0)


def test_commands_lead_and_missing_rows_are_not_tracked(episode_29):
    measured, commanded = right_hand(episode_29), right_hand(episode_29, "commanded")
    assert np.abs(measured.wrist_pos - commanded.wrist_pos).max() > 0.005
    values = episode_29.measured.copy()
    values[10:14, episode_29.joint_names.index("kRightElbow")] = np.nan
    gap = right_hand(replace(episode_29, measured=values))
    assert np.flatnonzero(~gap.tracked).tolist() == [10, 11, 12, 13]
    assert np.isfinite(gap.wrist_pos).all() and np.isnan(gap.keypoints_m[10:14]).all()


def test_b66_degrees_within_a_turn_are_told_by_the_arms_limits(episode_29):
    """6 deg given as 6 rad lie within a turn, but no wrist of the G1 turns by more than 2."""
    column = episode_29.joint_names.index("kRightWristYaw")
    values = episode_29.measured.copy()
    values[:, column] = np.degrees(0.1)
    with pytest.raises(RecordingError, match="kRightWristYaw is 5.73 rad.*its limits are -1.614 to 1.614 rad.*degrees"):
        right_hand(replace(episode_29, measured=values))


def test_other_robots_and_units_are_refused(episode_29):
    with pytest.raises(RecordingError, match="columns missing: kRightElbow; there are"):
        right_hand(replace(episode_29, joint_names=tuple(n.replace("RightElbow", "X") for n in episode_29.joint_names)))
    with pytest.raises(RecordingError, match="column kRightShoulderPitch is in share, rad is needed"):
        right_hand(replace(episode_29, units=("share",) * 26))
    with pytest.raises(RecordingError, match="signal 'desired', allowed are measured, commanded"):
        right_hand(episode_29, "desired")


def test_every_statement_says_whether_it_is_a_fact_or_an_assumption(episode_29):
    facts = right_hand(episode_29).facts
    assert facts is not None and len(facts.notes) >= 6
    assert all(note.startswith(("fact: ", "assumption: ")) for note in facts.notes)
    assert any("waist" in note for note in facts.notes) and any("1.47 rad" in note for note in facts.notes)


def test_recordings_are_checked(episode_29):
    for change, message in (
        ({"side": "front"}, "side is 'front', allowed are left, right, both"),
        ({"units": ("deg",) * 26}, r"26 units \['deg'\], allowed are 26 of"),
        ({"commanded": np.zeros((3, 26))}, r"commanded has shape \(3, 26\), expected \(221, 26\)"),
        ({"tracked": np.zeros(221, dtype=bool)}, "no row has all its numbers"),
        ({"time_s": np.zeros(221)}, "time does not increase at row 1"),
    ):
        with pytest.raises(RecordingError, match=message):
            replace(episode_29, **change)
