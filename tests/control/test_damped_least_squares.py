"""The batched solver: against finite differences, closed bounds and itself one by one."""

import numpy as np
import pytest
import warp as wp

from r2s2r.contracts import transforms as tf
from r2s2r.contracts.errors import ConfigError
from r2s2r.control import kernels
from r2s2r.control.damped_least_squares import DampedLeastSquares, DampedLeastSquaresCfg
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.robot.description import compose
from r2s2r.robot.ready import READY_ARM

READY = np.array(READY_ARM)
SINGLE = 2e-6
"""Metres and radians left by single precision: 1e-7 of 1 m, over some tens of operations."""

DEVICES = ["cpu", *(["cuda:0"] if wp.is_cuda_available() else [])]


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> SerialChain:
    description = compose(cache_dir=tmp_path_factory.mktemp("cache"))
    return serial_chain(description.urdf_path, description.wrist_link)


@pytest.fixture(params=DEVICES)
def device(request) -> str:
    return request.param


def wrist_target(poses: np.ndarray) -> np.ndarray:
    """Return (N, 9) targets of poses (N, 4, 4)."""
    return np.concatenate([poses[:, :3, 3], tf.rot6d_from_matrix(poses[:, :3, :3])], axis=-1).astype(np.float32)


def run(chain, target: np.ndarray, start: np.ndarray, device: str = "cpu", calls: int = 1, **cfg):
    """Return joint targets (N, 7), followable (N,) and error (N, 2) after `calls` calls."""
    solver = DampedLeastSquares(chain, len(target), device, DampedLeastSquaresCfg(**cfg))
    joint_pos = wp.array(start, dtype=wp.float32, device=device)
    targets = wp.array(target, dtype=wp.float32, device=device)
    for _ in range(calls):
        solver.solve(targets, joint_pos)
    return joint_pos.numpy(), solver.followable.numpy(), solver.error.numpy()


@wp.kernel
def evaluate_chain(
    frames: wp.array(dtype=wp.transform),
    axes: wp.array(dtype=wp.vec3),
    tip: wp.transform,
    joint_pos: wp.array2d(dtype=wp.float32),
    # outputs
    poses: wp.array(dtype=wp.transform),
    jacobians: wp.array3d(dtype=wp.float32),
):
    i = wp.tid()
    q = kernels.joint_vec()
    for j in range(kernels.NUM_JOINTS):
        q[j] = joint_pos[i, j]
    pose, jacobian = kernels.wrist_and_jacobian(frames, axes, tip, q)
    poses[i] = pose
    for r in range(6):
        for j in range(kernels.NUM_JOINTS):
            jacobians[i, r, j] = jacobian[r, j]


def test_pose_and_jacobian_agree_with_finite_differences(chain, device):
    n, step = 50, 1e-6
    joint_pos = np.random.default_rng(0).uniform(-2.0, 2.0, (n, 7))
    joint_pos = joint_pos.astype(np.float32).astype(float)
    frames, axes, tip = DampedLeastSquares(chain, n, device)._chain[:3]
    poses = wp.zeros(n, dtype=wp.transform, device=device)
    jacobians = wp.zeros((n, 6, 7), dtype=wp.float32, device=device)
    inputs = [frames, axes, tip, wp.array(joint_pos, dtype=wp.float32, device=device)]
    wp.launch(evaluate_chain, n, inputs=inputs, outputs=[poses, jacobians], device=device)
    reference = chain.wrist_pose(joint_pos)
    np.testing.assert_allclose(poses.numpy()[:, :3], reference[:, :3, 3], atol=SINGLE)
    np.testing.assert_allclose(tf.matrix_from_quat(poses.numpy()[:, 3:]), reference[:, :3, :3], atol=SINGLE)
    for j in range(7):
        ahead, behind = joint_pos.copy(), joint_pos.copy()
        ahead[:, j] += step
        behind[:, j] -= step
        a, b = chain.wrist_pose(ahead), chain.wrist_pose(behind)
        linear = (a[:, :3, 3] - b[:, :3, 3]) / (2.0 * step)
        angular = tf.so3_log(a[:, :3, :3] @ np.swapaxes(b[:, :3, :3], -1, -2)) / (2.0 * step)
        np.testing.assert_allclose(jacobians.numpy()[:, :, j], np.concatenate([linear, angular], -1), atol=SINGLE)


def test_reachable_targets_are_reached(chain, device):
    rng = np.random.default_rng(1)
    goal = READY + rng.uniform(-0.3, 0.3, (257, 7))
    target = wrist_target(chain.wrist_pose(goal))
    joint_pos, followable, error = run(chain, target, np.tile(READY, (257, 1)), device, calls=30)
    assert followable.all()
    assert error.max() < SINGLE
    np.testing.assert_allclose(wrist_target(chain.wrist_pose(joint_pos)), target, atol=SINGLE)


@pytest.mark.parametrize("angle", [np.pi - 1e-2, np.pi - 1e-6, np.pi])
def test_half_turns_of_the_wrist_are_reached(chain, angle):
    goal = READY.copy()
    goal[6] += angle  # about the flange's axis, so that the arm can follow
    target = wrist_target(chain.wrist_pose(goal[None]))
    _, _, error = run(chain, target, READY[None], calls=200)
    assert error.max() < SINGLE


def test_many_equal_each_alone(chain, device):
    rng = np.random.default_rng(2)
    start = READY + rng.uniform(-0.2, 0.2, (257, 7))
    target = wrist_target(chain.wrist_pose(READY + rng.uniform(-0.5, 0.5, (257, 7))))
    joint_pos, followable, error = run(chain, target, start, device)
    for i in (0, 100, 256):
        alone = run(chain, target[i : i + 1], start[i : i + 1], device)
        np.testing.assert_array_equal(alone[0][0], joint_pos[i])
        assert alone[1][0] == followable[i]
        np.testing.assert_array_equal(alone[2][0], error[i])


def test_step_is_bounded_near_a_stretched_arm(chain):
    stretched = np.zeros((1, 7))  # all axes in one plane: the Jacobian loses a rank
    pose = chain.wrist_pose(stretched)
    pose[:, :3, 3] += [1.0, 0.0, 0.0]  # and the target is out of the arm's reach of 0.7 m plus the hand
    damping = 0.05
    joint_pos, _, error = run(
        chain, wrist_target(pose), stretched, iterations=1, damping=damping, max_joint_step=10.0, rate_hz=1.0
    )
    assert np.linalg.norm(joint_pos - stretched) <= 1.0 / (2.0 * damping) * (1.0 + 1e-5)
    assert np.isfinite(error).all()
    joint_pos, _, error = run(chain, wrist_target(pose), stretched, calls=300)
    assert np.isfinite(joint_pos).all() and error[0, 0] > 0.1


def test_commands_stay_within_joint_limits(chain):
    rng = np.random.default_rng(3)
    start = rng.uniform(chain.lower, chain.upper, (64, 7))
    target = wrist_target(chain.wrist_pose(rng.uniform(chain.lower, chain.upper, (64, 7))))
    joint_pos, _, _ = run(chain, target, start, calls=100)
    assert (joint_pos.astype(float) >= chain.lower).all() and (joint_pos.astype(float) <= chain.upper).all()


def test_b51_a_target_that_jumps_is_flagged_and_followed_at_the_speed_limit(chain):
    # The row's input: 0.3 rad in one frame of 33 ms, 9 rad/s against a limit of 3.14.
    goal = READY.copy()
    goal[0] += 0.3
    target = wrist_target(chain.wrist_pose(goal[None]))
    joint_pos, followable, error = run(chain, target, READY[None])
    step = np.abs(joint_pos - READY)
    assert not followable[0]
    assert step.max() == pytest.approx(3.14 / 30.0, abs=SINGLE)
    assert error[0, 0] > 0.01  # the wrist is not there yet: 0.3 rad at 0.44 m from the base are 0.13 m
    joint_pos, followable, error = run(chain, target, READY[None], calls=10)
    assert followable[0] and error.max() < SINGLE
    _, followable, _ = run(chain, wrist_target(chain.wrist_pose((READY + [0.1, 0, 0, 0, 0, 0, 0])[None])), READY[None])
    assert followable[0]


@pytest.mark.parametrize("column", range(9))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_b27_kind_a_missing_target_holds_the_last_command(chain, column, value):
    target = wrist_target(chain.wrist_pose(READY[None] + 0.1))
    target[0, column] = value
    joint_pos, followable, error = run(chain, target, READY[None], calls=3)
    np.testing.assert_array_equal(joint_pos[0], READY.astype(np.float32))
    assert not followable[0] and np.isinf(error[0]).all()


def test_an_all_zero_target_is_no_target(chain):
    joint_pos, followable, _ = run(chain, np.zeros((1, 9), np.float32), READY[None])
    np.testing.assert_array_equal(joint_pos[0], READY.astype(np.float32))
    assert not followable[0]


def test_actions_are_read_in_place(chain):
    """A (N, 25) action array works as it is, columns behind the ninth are not read."""
    target = wrist_target(chain.wrist_pose(READY[None] + 0.05))
    actions = np.concatenate([target, np.full((1, 16), np.nan, np.float32)], axis=-1)
    np.testing.assert_array_equal(run(chain, actions, READY[None])[0], run(chain, target, READY[None])[0])


def test_wrong_shapes_and_values_are_refused(chain):
    solver = DampedLeastSquares(chain, 2)
    with pytest.raises(ConfigError, match=r"wrist_target: received shape \(2, 8\)"):
        solver.solve(wp.zeros((2, 8)), wp.zeros((2, 7)))
    with pytest.raises(ConfigError, match=r"joint_pos_target: received shape \(3, 7\)"):
        solver.solve(wp.zeros((2, 9)), wp.zeros((3, 7)))
    with pytest.raises(ConfigError, match="num_envs: received 0"):
        DampedLeastSquares(chain, 0)
    with pytest.raises(ConfigError, match="iterations: received 0"):
        DampedLeastSquaresCfg(iterations=0)
    with pytest.raises(ConfigError, match="damping: received -1"):
        DampedLeastSquaresCfg(damping=-1.0)
