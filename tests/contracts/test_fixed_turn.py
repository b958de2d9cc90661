"""Rotations as six numbers and back, and frames that differ by a fixed turn (B78)."""

import numpy as np
import pytest

from r2s2r.contracts import transforms as tf
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.fixed_turn import check_same_frames, fixed_turn


def random_rotations(count: int, seed: int = 0) -> np.ndarray:
    """Uniform rotations (count, 3, 3): normalised Gaussian quaternions."""
    return tf.matrix_from_quat(tf.quat_normalise(np.random.default_rng(seed).normal(size=(count, 4))))


def test_b78_200_rotations_survive_six_numbers_in_float32():
    matrix = random_rotations(200)
    there = tf.rot6d_from_matrix(matrix).astype(np.float32)
    np.testing.assert_allclose(tf.matrix_from_rot6d(there), matrix, atol=1e-6)
    np.testing.assert_allclose(tf.matrix_from_rot6d(tf.rot6d_from_matrix(matrix)), matrix, atol=1e-14)


def test_b78_rows_taken_for_columns_are_another_rotation():
    """Why the layout is tagged: the first two rows read as columns are the inverse rotation, a valid one."""
    matrix = random_rotations(200)
    rows = matrix[:, :2, :].reshape(-1, 6)
    np.testing.assert_allclose(tf.matrix_from_rot6d(rows), matrix.swapaxes(1, 2), atol=1e-12)


@pytest.mark.parametrize("side", ["tool", "base"])
def test_b78_a_flange_taken_for_the_tool_is_found_with_its_angle(side):
    flange = random_rotations(60)
    quarter = tf.so3_exp(np.array([0.0, 0.0, np.pi / 2]))
    noise = tf.so3_exp(np.random.default_rng(1).normal(scale=np.deg2rad(2.0), size=(60, 3)))
    tool = (flange @ quarter if side == "tool" else quarter @ flange) @ noise
    with pytest.raises(
        ConfigError, match=rf"fixed turn of (89|90)\.\d deg about \(-?0\.0\d, -?0\.0\d, 1\.00\) of the {side}"
    ):
        check_same_frames(flange, tool, "actions")


def test_b78_the_same_frame_and_unrelated_ones_pass():
    own = random_rotations(100)
    late = own @ tf.so3_exp(np.random.default_rng(2).normal(scale=np.deg2rad(3.0), size=(100, 3)))
    check_same_frames(own, late, "actions")
    check_same_frames(own, random_rotations(100, seed=3), "actions")


def test_any_fixed_turn_is_recovered_exactly():
    own, turns = random_rotations(30), random_rotations(20, seed=4)
    for turn in turns:
        found = fixed_turn(own, own @ turn)
        np.testing.assert_allclose(tf.so3_exp(found.rotvec), turn, atol=1e-9)
        assert found.side == "tool" and found.spread < 1e-6


def test_a_half_turn_has_a_mean_of_its_own():
    own = random_rotations(40)
    half = np.diag([1.0, -1.0, -1.0])
    assert fixed_turn(own, own @ half).angle == pytest.approx(np.pi)


@pytest.mark.parametrize("shapes", [((0, 3, 3), (0, 3, 3)), ((2, 3, 3), (3, 3, 3)), ((2, 6), (2, 6))])
def test_what_is_no_pair_is_refused(shapes):
    with pytest.raises(ConfigError, match="paired orientations"):
        fixed_turn(np.zeros(shapes[0]), np.zeros(shapes[1]))
