"""Group axioms, inverses, derivatives and peers of the transforms, with the singular places picked on purpose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation, Slerp

from r2s2r.contracts import transforms as tf
from r2s2r.contracts.errors import ConfigError

EPS = 1e-12
"""Numbers of order one after some tens of double-precision operations (each 1e-16)."""

AXES = [
    np.array(a, dtype=float) / np.linalg.norm(a) for a in ((1, 0, 0), (0, 1, 0), (0, 0, -1), (1, -2, 3), (-1, 1, 0))
]
ANGLES = (0.0, 1e-300, 1e-9, 0.99e-4, 1.01e-4, 1e-3, 1.0, 3.0, np.pi - 1e-3, np.pi - 1e-6, np.pi - 1e-9)
ROTVECS = np.array([angle * axis for angle in ANGLES for axis in AXES])
LINEAR = np.array([0.3, -0.2, 50.0])
TWISTS = np.concatenate([np.broadcast_to(LINEAR, ROTVECS.shape), ROTVECS], axis=-1)


def random_quats(seed: int, count: int = 200) -> np.ndarray:
    return tf.quat_normalise(np.random.default_rng(seed).normal(size=(count, 4)))


def random_poses(seed: int, count: int = 200) -> np.ndarray:
    pos = np.random.default_rng(seed).normal(size=(count, 3))
    return tf.pose(pos, random_quats(seed + 1, count))


def same_rotation(a: np.ndarray, b: np.ndarray, tolerance: float = EPS) -> bool:
    return bool(np.abs(np.abs(np.sum(a * b, axis=-1)) - 1.0).max() < tolerance)


def test_quaternions_form_a_group():
    a, b, c = random_quats(0), random_quats(1), random_quats(2)
    one = np.array([0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(
        tf.quat_multiply(tf.quat_multiply(a, b), c), tf.quat_multiply(a, tf.quat_multiply(b, c)), atol=EPS
    )
    np.testing.assert_allclose(tf.quat_multiply(a, one), a, atol=EPS)
    np.testing.assert_allclose(tf.quat_multiply(a, tf.quat_conjugate(a)), np.broadcast_to(one, a.shape), atol=EPS)
    np.testing.assert_allclose(np.linalg.norm(tf.quat_multiply(a, b), axis=-1), 1.0, atol=EPS)


def test_poses_form_a_group_and_act_on_points():
    a, b = random_poses(0), random_poses(2)
    point = np.random.default_rng(4).normal(size=(200, 3))
    np.testing.assert_allclose(a @ tf.pose_inverse(a), np.broadcast_to(np.eye(4), a.shape), atol=EPS)
    np.testing.assert_allclose(tf.pose_apply(a @ b, point), tf.pose_apply(a, tf.pose_apply(b, point)), atol=EPS)
    np.testing.assert_allclose(tf.pose_inverse(a @ b), tf.pose_inverse(b) @ tf.pose_inverse(a), atol=EPS)


def test_rotations_agree_with_scipy():
    a, b = random_quats(0), random_quats(1)
    vector = np.random.default_rng(2).normal(size=(200, 3))
    peer_a, peer_b = Rotation.from_quat(a), Rotation.from_quat(b)
    assert same_rotation(tf.quat_multiply(a, b), (peer_a * peer_b).as_quat())
    np.testing.assert_allclose(tf.quat_rotate(a, vector), peer_a.apply(vector), atol=EPS)
    np.testing.assert_allclose(tf.matrix_from_quat(a), peer_a.as_matrix(), atol=EPS)
    assert same_rotation(tf.quat_from_matrix(peer_a.as_matrix()), a)
    np.testing.assert_allclose(tf.quat_log(a), peer_a.as_rotvec(), atol=EPS)
    np.testing.assert_allclose(tf.quat_angle(a, b), (peer_a.inv() * peer_b).magnitude(), atol=1e-7)
    np.testing.assert_allclose(
        tf.matrix_from_quat(tf.yaw_quat(np.array([0.3, -3.0]))),
        Rotation.from_euler("z", [[0.3], [-3.0]]).as_matrix(),
        atol=EPS,
    )


def test_slerp_agrees_with_scipy_and_takes_the_shorter_way():
    a, b = random_quats(5, 20), random_quats(6, 20)
    fractions = np.linspace(0.0, 1.0, 7)
    for i in range(20):
        peer = Slerp([0.0, 1.0], Rotation.from_quat([a[i], b[i]]))(fractions).as_quat()
        assert same_rotation(tf.quat_slerp(a[i], b[i], fractions), peer)
        assert same_rotation(tf.quat_slerp(a[i], -b[i], fractions), peer)


def test_exp_and_log_undo_each_other_at_every_angle():
    # Near a half turn the log's error is the quaternion's rounding over its sine, which is one there: no digits go.
    np.testing.assert_allclose(tf.quat_log(tf.quat_exp(ROTVECS)), ROTVECS, atol=1e-14, rtol=1e-14)
    np.testing.assert_allclose(tf.so3_log(tf.so3_exp(ROTVECS)), ROTVECS, atol=EPS)
    # 50 m of translation: double precision leaves 1e-14 of it; J and its inverse each multiply that by at most pi/2.
    np.testing.assert_allclose(tf.se3_log(tf.se3_exp(TWISTS)), TWISTS, atol=50 * EPS)


def test_exact_half_turn_gives_a_rotation_vector_of_length_pi():
    for axis in AXES:
        matrix = 2.0 * np.outer(axis, axis) - np.eye(3)
        rotvec = tf.so3_log(matrix)
        assert np.linalg.norm(rotvec) == pytest.approx(np.pi, abs=EPS)
        np.testing.assert_allclose(tf.so3_exp(rotvec), matrix, atol=EPS)


def test_zero_rotation_keeps_a_large_translation_and_its_coupling():
    twist = np.array([1000.0, -2000.0, 3000.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(tf.se3_exp(twist)[:3, 3], twist[:3])
    np.testing.assert_array_equal(tf.se3_log(tf.se3_exp(twist)), twist)
    # To first order in the rotation w the translation is v + w x v / 2: the block that must not be dropped.
    small = np.array([1e-7, 2e-7, -1e-7])
    moved = tf.se3_exp(np.concatenate([twist[:3], small]))[:3, 3]
    np.testing.assert_allclose(moved - twist[:3], 0.5 * np.cross(small, twist[:3]), atol=2e-9)


def test_exp_and_log_agree_with_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    for twist in TWISTS:
        peer = pin.exp6(twist).homogeneous
        np.testing.assert_allclose(tf.se3_exp(twist), peer, atol=50 * EPS)
    for matrix in random_poses(7, 50):
        np.testing.assert_allclose(tf.se3_log(matrix), pin.log6(pin.SE3(matrix)).vector, atol=1e-9)


@pytest.mark.parametrize("rotvec", ROTVECS, ids=lambda r: f"{np.linalg.norm(r):.3g}")
def test_left_jacobian_is_the_derivative_of_exp(rotvec):
    step = 1e-6  # central differences: truncation 1e-12 of third derivatives, rounding 1e-16 / 1e-6
    columns = []
    for axis in np.eye(3):
        ahead, behind = tf.so3_exp(rotvec + step * axis), tf.so3_exp(rotvec - step * axis)
        columns.append(tf.so3_log(ahead @ behind.T) / (2.0 * step))
    np.testing.assert_allclose(tf.so3_left_jacobian(rotvec), np.stack(columns, axis=-1), atol=1e-9)
    np.testing.assert_allclose(tf.so3_left_jacobian(rotvec) @ tf.so3_left_jacobian_inverse(rotvec), np.eye(3), atol=EPS)


def test_log_is_invariant_under_a_change_of_world_frame():
    world, a, b = random_poses(8), random_poses(10), random_poses(12)
    relative = tf.se3_log(tf.pose_inverse(a) @ b)
    moved = tf.se3_log(tf.pose_inverse(world @ a) @ (world @ b))
    np.testing.assert_allclose(moved, relative, atol=1e-9)


def test_rot6d_round_trip_and_gram_schmidt():
    matrix = tf.matrix_from_quat(random_quats(3))
    rot6d = tf.rot6d_from_matrix(matrix)
    np.testing.assert_allclose(tf.matrix_from_rot6d(rot6d), matrix, atol=EPS)
    # Neither the columns' lengths nor a share of x in y change the rotation.
    bent = np.concatenate([3.0 * rot6d[..., :3], 0.5 * rot6d[..., 3:] + 0.7 * rot6d[..., :3]], axis=-1)
    np.testing.assert_allclose(tf.matrix_from_rot6d(bent), matrix, atol=EPS)


@given(arrays(float, (6,), elements=st.floats(-10.0, 10.0)))
def test_rot6d_is_a_rotation_or_an_error(rot6d):
    try:
        matrix = tf.matrix_from_rot6d(rot6d)
    except ConfigError:
        return
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-5)  # columns 1e-9 apart keep 1e-7 of their digits
    assert np.linalg.det(matrix) > 0.0


@pytest.mark.parametrize("rot6d", [[1, 0, 0, 2, 0, 0], [0, 0, 0, 0, 1, 0], [np.nan, 0, 0, 0, 1, 0]])
def test_rot6d_without_a_rotation_is_refused(rot6d):
    with pytest.raises(ConfigError, match="parallel, zero or not finite"):
        tf.matrix_from_rot6d(np.array(rot6d, dtype=float))


@pytest.mark.parametrize("quat", [[0, 0, 0, 0], [0, 0, np.inf, 1]])
def test_a_quaternion_without_length_is_refused(quat):
    with pytest.raises(ConfigError, match="zero length or not finite"):
        tf.quat_normalise(np.array(quat, dtype=float))


@pytest.mark.parametrize("lead", [(), (0,), (1,), (2, 3)])
def test_leading_dimensions_are_kept(lead):
    quat = np.broadcast_to(np.array([0.0, 0.6, 0.0, 0.8]), (*lead, 4))
    pos = np.zeros((*lead, 3))
    assert tf.pose(pos, quat).shape == (*lead, 4, 4)
    assert tf.se3_log(tf.pose(pos, quat)).shape == (*lead, 6)
    assert tf.quat_from_matrix(tf.matrix_from_quat(quat)).shape == (*lead, 4)
    assert tf.matrix_from_rot6d(tf.rot6d_from_matrix(tf.matrix_from_quat(quat))).shape == (*lead, 3, 3)
