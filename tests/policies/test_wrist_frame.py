"""Learned actions are told from the wrist: exactly, back again, and the same wherever the robot's base has turned."""

import numpy as np
import pytest

from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_LINK, WRIST_POS, WRIST_ROT6D
from r2s2r.contracts.transforms import matrix_from_quat, matrix_from_rot6d, quat_exp, rot6d_from_matrix
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import compose
from r2s2r_policies.wrist_frame import LEARNED_NAMES, STATE_NAMES, WristFrame


@pytest.fixture(scope="module")
def frame():
    return WristFrame()


def drawn(rng, *shape: int) -> "tuple[np.ndarray, np.ndarray]":
    """Return actions (*shape, 25) and joint positions (*shape, 23)."""
    actions = rng.uniform(-1, 1, (*shape, 25))
    actions[..., WRIST_ROT6D] = rot6d_from_matrix(matrix_from_quat(quat_exp(rng.uniform(-2, 2, (*shape, 3)))))
    return actions, rng.uniform(-2, 2, (*shape, 23))


def test_actions_return(frame, rng):
    actions, joint_pos = drawn(rng, 50)
    back = frame.absolute(frame.relative(actions, joint_pos), joint_pos)
    # Two roundings to float32 of numbers up to 3.
    np.testing.assert_allclose(back, actions, atol=2 * 3 * 2.0**-24)


def test_staying_is_no_way_and_no_turn(frame, rng):
    actions, joint_pos = drawn(rng, 20)
    wrist = serial_chain(compose().urdf_path, WRIST_LINK).wrist_pose(joint_pos[:, :7])
    actions[:, WRIST_POS], actions[:, WRIST_ROT6D] = wrist[:, :3, 3], rot6d_from_matrix(wrist[:, :3, :3])
    learned = frame.relative(actions, joint_pos)
    np.testing.assert_allclose(learned[:, :9], np.tile([0, 0, 0, 1, 0, 0, 0, 1, 0], (20, 1)), atol=1e-7)
    np.testing.assert_array_equal(learned[:, HAND_JOINT_POS], actions[:, HAND_JOINT_POS].astype(np.float32))


def test_a_turn_is_told_in_the_wrist_and_a_way_along_the_base(frame, rng):
    actions, joint_pos = drawn(rng, 20)
    learned = frame.relative(actions, joint_pos)
    wrist = serial_chain(compose().urdf_path, WRIST_LINK).wrist_pose(joint_pos[:, :7])
    np.testing.assert_allclose(learned[:, WRIST_POS], actions[:, WRIST_POS] - wrist[:, :3, 3], atol=1e-6)
    turned = wrist[:, :3, :3] @ matrix_from_rot6d(learned[:, WRIST_ROT6D])
    np.testing.assert_allclose(turned, matrix_from_rot6d(actions[:, WRIST_ROT6D]), atol=1e-6)


def test_a_chunk_is_seen_from_one_observation_and_a_sequence_from_its_own(frame, rng):
    actions, joint_pos = drawn(rng, 3, 5)
    chunk = frame.relative(actions, joint_pos[:, :1])
    sequence = frame.relative(actions, joint_pos)
    for sample in range(3):
        for step in range(5):
            alone = frame.relative(actions[sample, step], joint_pos[sample, 0])
            np.testing.assert_array_equal(chunk[sample, step], alone)
            own = frame.relative(actions[sample, step], joint_pos[sample, step])
            np.testing.assert_array_equal(sequence[sample, step], own)
    np.testing.assert_array_equal(frame.absolute(chunk[0], joint_pos[0, 0]), frame.absolute(chunk, joint_pos[:, :1])[0])


def test_turning_the_base_joint_turns_the_way_and_leaves_the_turn(frame, rng):
    """The first joint stands upright in the base: turning robot and target about it turns what is seen of the way."""
    actions, joint_pos = drawn(rng, 10)
    angle = 0.7
    about_z = matrix_from_quat(quat_exp(np.array([0.0, 0.0, angle])))
    turned, turned_joints = actions.copy(), joint_pos.copy()
    turned[:, WRIST_POS] = actions[:, WRIST_POS] @ about_z.T
    turned[:, WRIST_ROT6D] = rot6d_from_matrix(about_z @ matrix_from_rot6d(actions[:, WRIST_ROT6D]))
    turned_joints[:, 0] += angle
    before, after = frame.relative(actions, joint_pos), frame.relative(turned, turned_joints)
    np.testing.assert_allclose(after[:, WRIST_POS], before[:, WRIST_POS] @ about_z.T, atol=1e-6)
    np.testing.assert_allclose(after[:, 3:], before[:, 3:], atol=1e-6)


def test_the_state_is_joints_and_the_wrist_they_give(frame, rng):
    _, joint_pos = drawn(rng, 4, 2)
    state = frame.state(joint_pos)
    assert state.shape == (4, 2, len(STATE_NAMES)) and state.dtype == np.float32
    wrist = serial_chain(compose().urdf_path, WRIST_LINK).wrist_pose(joint_pos[..., :7])
    np.testing.assert_allclose(state[..., :23], joint_pos, atol=1e-6)
    np.testing.assert_allclose(state[..., 23:26], wrist[..., :3, 3], atol=1e-6)
    np.testing.assert_allclose(matrix_from_rot6d(state[..., 26:]), wrist[..., :3, :3], atol=1e-6)
    assert len(LEARNED_NAMES) == 25
