"""The weighted solver: against a reference in NumPy, a peer (pink on Pinocchio), closed forms and its sibling."""

import dataclasses
import math

import numpy as np
import pytest
import warp as wp

from r2s2r.contracts import transforms as tf
from r2s2r.contracts.errors import ConfigError
from r2s2r.control import kernels, weighted_ik_kernels
from r2s2r.control.damped_least_squares import DampedLeastSquares
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.control.weighted_ik import WeightedIK, WeightedIKCfg
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.ready import READY_ARM

READY = np.array(READY_ARM)
SINGLE = 2e-6
"""Metres and radians left by single precision: 1e-7 of 1 m, over some tens of operations."""

PLAIN = WeightedIKCfg(filter_cutoff_hz=1e6, posture_rate=0.0, limit_rate=0.0)
"""The inverse kinematics alone."""


@pytest.fixture(scope="module")
def description(tmp_path_factory) -> RobotDescription:
    return compose(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def chain(description) -> SerialChain:
    return serial_chain(description.urdf_path, description.wrist_link)


def wrist_target(poses: np.ndarray) -> np.ndarray:
    """Return (N, 9) targets of poses (N, 4, 4)."""
    return np.concatenate([poses[:, :3, 3], tf.rot6d_from_matrix(poses[:, :3, :3])], axis=-1).astype(np.float32)


def run(chain, target, start, device="cpu", calls=1, cfg: WeightedIKCfg | None = None, solver=WeightedIK):
    """Return joint targets (N, 7), followable (N,) and error (N, 2) after `calls` calls."""
    controller = solver(chain, len(target), device, cfg)
    joint_pos = wp.array(start, dtype=wp.float32, device=device)
    targets = wp.array(target, dtype=wp.float32, device=device)
    for _ in range(calls):
        controller.solve(targets, joint_pos)
    return joint_pos.numpy(), controller.followable.numpy(), controller.error.numpy()


def jacobian(chain: SerialChain, joint_pos: np.ndarray) -> np.ndarray:
    """Return the geometric Jacobian (6, 7) in the base by central differences (error 1e-10)."""
    columns = []
    for step in 1e-5 * np.eye(7):
        ahead, behind = chain.wrist_pose(joint_pos + step), chain.wrist_pose(joint_pos - step)
        turn = tf.so3_log(ahead[:3, :3] @ behind[:3, :3].T)
        columns.append(np.r_[ahead[:3, 3] - behind[:3, 3], turn] / 2e-5)
    return np.array(columns).T


def pose_error(at: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.r_[target[:3, 3] - at[:3, 3], tf.so3_log(target[:3, :3] @ at[:3, :3].T)]


def reference(chain: SerialChain, target: np.ndarray, start: np.ndarray, cfg: WeightedIKCfg) -> np.ndarray:
    """Return one call's joint targets (7) in double precision, by pseudo-inverses; without limits of position."""
    joint_pos, pose = start.copy(), chain.wrist_pose(start)
    way = cfg.share(2.0 * math.pi * cfg.filter_cutoff_hz) * pose_error(pose, target)
    filtered = tf.pose(pose[:3, 3] + way[:3], tf.quat_from_matrix(tf.so3_exp(way[3:]) @ pose[:3, :3]))
    units = np.diag([1.0] * 3 + [cfg.rotation_length] * 3)
    inverse_weight = np.diag(1.0 / np.array(cfg.joint_weights))
    for iteration in range(cfg.iterations):
        left = units @ pose_error(chain.wrist_pose(joint_pos), filtered)
        j = units @ jacobian(chain, joint_pos)
        damping = cfg.damping**2 + cfg.error_damping * left @ left
        step = inverse_weight @ j.T @ np.linalg.solve(j @ inverse_weight @ j.T + damping * np.eye(6), left)
        if iteration == 0:
            wish = cfg.share(cfg.posture_rate) * (np.array(cfg.posture) - joint_pos)
            below = np.maximum(chain.lower + cfg.limit_margin - joint_pos, 0.0)
            above = np.maximum(joint_pos - chain.upper + cfg.limit_margin, 0.0)
            wish += cfg.share(cfg.limit_rate) * (below - above)
            projector = np.eye(7) - inverse_weight @ j.T @ np.linalg.inv(j @ inverse_weight @ j.T) @ j
            step = step + projector @ wish
        joint_pos = joint_pos + step * min(1.0, cfg.max_joint_step / np.abs(step).max())
    way = joint_pos - start
    return start + way * min(1.0, (chain.velocity / cfg.rate_hz / np.maximum(np.abs(way), 1e-12)).min())


def near_ready(rng, n: int, spread: float) -> np.ndarray:
    return READY + rng.uniform(-spread, spread, (n, 7))


def test_agrees_with_the_reference(chain, device, rng):
    start, goal = near_ready(rng, 20, 0.3), near_ready(rng, 20, 0.4)
    start = start.astype(np.float32).astype(float)
    start[:5, 3] = chain.lower[3] + 0.25 + 0.1 * rng.random(5)  # within or near the margin
    target = wrist_target(chain.wrist_pose(goal))
    cfg = WeightedIKCfg(posture_rate=5.0, limit_margin=0.3, rate_hz=4.0)
    joint_pos, _, _ = run(chain, target, start, device, cfg=cfg)
    exact = tf.pose(target[:, :3].astype(float), tf.quat_from_matrix(tf.matrix_from_rot6d(target[:, 3:].astype(float))))
    expected = np.array([reference(chain, t, q, cfg) for t, q in zip(exact, start, strict=True)])
    inside = ((expected > chain.lower) & (expected < chain.upper)).all(axis=-1)
    assert inside.sum() >= 15
    # Rounding of 1e-6 in the error, divided by the smallest singular value of some centimetres.
    np.testing.assert_allclose(joint_pos[inside], expected[inside], atol=1e-4)


def test_reachable_targets_are_reached(chain, device, rng):
    target = wrist_target(chain.wrist_pose(near_ready(rng, 257, 0.3)))
    joint_pos, followable, error = run(chain, target, np.tile(READY, (257, 1)), device, calls=40)
    assert followable.all()
    assert error.max() < SINGLE
    np.testing.assert_allclose(wrist_target(chain.wrist_pose(joint_pos)), target, atol=SINGLE)


def test_slow_targets_are_met_better_than_by_damped_least_squares(chain, rng):
    """Along a path past a wrist that loses a rank (joint 6 through zero), with one iteration each."""
    n, calls = 40, 60
    start = near_ready(rng, n, 0.2)
    start[:, 5] = 0.25
    end = start + rng.uniform(-0.1, 0.1, (n, 7))
    end[:, 5] = -0.15
    cfg = dataclasses.replace(PLAIN, iterations=1)
    errors = {}
    for solver, settings in ((WeightedIK, cfg), (DampedLeastSquares, None)):
        controller = solver(chain, n, "cpu", settings)
        if solver is DampedLeastSquares:
            controller._settings[2] = 1
        joint_pos = wp.array(start, dtype=wp.float32)
        total = np.zeros(n)
        for share in np.linspace(0.0, 1.0, calls):
            pose = chain.wrist_pose(start + share * (end - start))
            controller.solve(wp.array(wrist_target(pose), dtype=wp.float32), joint_pos)
            error = controller.error.numpy()
            total += error[:, 0] + 0.1 * error[:, 1]
        errors[solver] = total / calls
    assert np.isfinite(errors[WeightedIK]).all()
    assert np.median(errors[WeightedIK]) < 0.5 * np.median(errors[DampedLeastSquares])
    assert np.quantile(errors[WeightedIK], 0.9) < np.quantile(errors[DampedLeastSquares], 0.9)


def test_peer_pink_ends_no_nearer(description, chain, rng):
    """Reachable targets: both at zero. Out of reach: ours is no worse a compromise in the cost that both are given.

    (There pink weighs the logarithm in SE(3), which mixes rotation into the position; ours keeps them apart.)
    """
    pink = pytest.importorskip("pink")
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(description.urdf_path))
    hand = [i for i, name in enumerate(model.names) if name.startswith("hand_")]
    model = pin.buildReducedModel(model, hand, pin.neutral(model))
    poses = chain.wrist_pose(near_ready(rng, 12, 0.3))
    poses[8:, :3, 3] += [0.8, 0.0, 0.0]
    ours = run(chain, wrist_target(poses), np.tile(READY, (12, 1)), calls=400, cfg=PLAIN)[2]
    errors = []
    for target in poses:
        configuration = pink.Configuration(model, model.createData(), READY)
        task = pink.FrameTask(description.wrist_link, position_cost=1.0, orientation_cost=0.1, lm_damping=1e-3)
        task.set_target(pin.SE3(target))
        for _ in range(300):
            velocity = pink.solve_ik(configuration, [task], 0.1, solver="daqp", damping=1e-6)
            configuration.integrate_inplace(velocity, 0.1)
        reached = configuration.get_transform_frame_to_world(description.wrist_link).homogeneous
        left = pose_error(reached, target)
        errors.append([np.linalg.norm(left[:3]), np.linalg.norm(left[3:])])
    np.testing.assert_allclose(ours[:8], np.array(errors)[:8], atol=1e-5)
    costs = [np.hypot(e[8:, 0], 0.1 * e[8:, 1]) for e in (ours, np.array(errors))]
    assert (costs[0] <= costs[1] * 1.001).all() and (costs[0] >= costs[1] * 0.8).all()


def test_a_step_of_the_target_is_answered_in_closed_form(chain, device):
    """With the filter, what is left of a small step falls by exp(-2 pi f / rate) a call, in place and orientation."""
    cfg = WeightedIKCfg(filter_cutoff_hz=3.0, iterations=6)
    start = chain.wrist_pose(READY)
    turn = np.array([0.03, -0.05, 0.02])
    goal = tf.pose(start[:3, 3] + [0.02, -0.03, 0.01], tf.quat_from_matrix(tf.so3_exp(turn) @ start[:3, :3]))
    way = np.array([np.linalg.norm([0.02, -0.03, 0.01]), np.linalg.norm(turn)])
    for calls in (1, 2, 5, 9):
        _, followable, error = run(chain, wrist_target(goal[None]), READY[None], device, calls, cfg)
        assert followable[0]
        np.testing.assert_allclose(error[0], way * np.exp(-2.0 * np.pi * 3.0 / 30.0 * calls), atol=3 * SINGLE)


def test_steps_of_the_policy_become_smooth(chain):
    """Called at 120 Hz with targets that step at 30 Hz, the wrist's largest step falls to the filter's share."""
    cfg = WeightedIKCfg(rate_hz=120.0)
    controller = WeightedIK(chain, 1, cfg=cfg)
    joint_pos = wp.array(READY[None], dtype=wp.float32)
    start, positions = chain.wrist_pose(READY), []
    for k in range(240):
        pose = start.copy()
        pose[0, 3] += 0.003 * (k // 4)  # 0.09 m/s
        controller.solve(wp.array(wrist_target(pose[None]), dtype=wp.float32), joint_pos)
        positions.append(chain.wrist_pose(joint_pos.numpy()[0].astype(float))[0, 3])
    moves = np.diff(positions)[120:]
    kept = math.exp(-2.0 * math.pi * 5.0 / 120.0)
    assert moves.max() == pytest.approx(0.003 * (1.0 - kept) / (1.0 - kept**4), abs=2 * SINGLE)
    assert moves.min() == pytest.approx(moves.max() * kept**3, abs=2 * SINGLE)


@wp.kernel
def evaluate_null_direction(jacobians: wp.array3d(dtype=wp.float32), directions: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    matrix = kernels.jacobian_mat()
    for r in range(6):
        for j in range(7):
            matrix[r, j] = jacobians[i, r, j]
    direction = weighted_ik_kernels.null_direction(matrix)
    for j in range(7):
        directions[i, j] = direction[j]


def test_the_null_direction_is_one_also_where_rank_is_lost(device, rng):
    matrices = rng.normal(size=(64, 6, 7)).astype(np.float32)
    matrices[16:32, 5] = matrices[16:32, 4]
    matrices[32:48, :, 2] = 0.0
    matrices[48:56, 0] = 0.0
    matrices[56:] = 0.0
    directions = wp.zeros((64, 7), dtype=wp.float32, device=device)
    inputs = [wp.array(matrices, dtype=wp.float32, device=device)]
    wp.launch(evaluate_null_direction, 64, inputs=inputs, outputs=[directions], device=device)
    np.testing.assert_allclose(np.linalg.norm(directions.numpy(), axis=-1), 1.0, atol=2e-6)
    moved = np.einsum("nij,nj->ni", matrices, directions.numpy())
    # Householder is backward stable: some tens of roundings of 6e-8 of the matrix's size.
    assert (np.abs(moved).max(axis=-1) <= 3e-6 * np.maximum(np.linalg.norm(matrices, axis=(1, 2)), 1e-9)).all()


def test_the_elbow_moves_without_the_wrist(chain, device, rng):
    """Far from the posture, at its own wrist pose: joints move towards the posture, the wrist stays."""
    start = near_ready(rng, 64, 0.4).clip(chain.lower + 0.3, chain.upper - 0.3)
    target = wrist_target(chain.wrist_pose(start.astype(np.float32).astype(float)))
    cfg = WeightedIKCfg(posture_rate=3.0)
    joint_pos, followable, error = run(chain, target, start, device, calls=1, cfg=cfg)
    assert error.max() < 5e-5  # curvature of steps of up to 0.04 rad, undone by the iterations after the first
    assert np.abs(joint_pos - start).max() > 0.01
    joint_pos, _, error = run(chain, target, start, device, calls=200, cfg=cfg)
    assert error.max() < SINGLE
    weights = np.array(cfg.joint_weights)
    distance = [np.sum(weights * (q - READY) ** 2, axis=-1) for q in (start, joint_pos)]
    assert (distance[1] <= distance[0] * (1.0 + 1e-4)).all() and (distance[1] < 0.9 * distance[0]).mean() > 0.5


def test_a_joint_is_kept_away_from_its_limit_where_the_wrist_allows(chain):
    start = READY.copy()
    start[3] = chain.lower[3] + 0.05
    start[1] = -0.3
    target = wrist_target(chain.wrist_pose(start[None]))
    free, _, _ = run(chain, target, start[None], calls=100, cfg=PLAIN)
    pushed, _, error = run(chain, target, start[None], calls=100, cfg=dataclasses.replace(PLAIN, limit_rate=5.0))
    assert pushed[0, 3] >= free[0, 3] and error.max() < SINGLE
    assert np.abs(pushed - free).max() > 0.01


@pytest.mark.parametrize(
    "posture", [np.zeros(7), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), READY * [1, 1, 1, 1, 1, 0, 1]]
)
def test_singular_poses_stay_finite_and_bounded(chain, device, posture):
    pose = chain.wrist_pose(posture[None])
    away = np.repeat(pose, 7, axis=0)
    for k in range(6):
        shift = np.eye(6)[k] * (1.0 if k < 3 else 0.5)
        away[k] = pose[0] @ tf.se3_exp(shift)
    start = np.tile(posture, (7, 1))
    joint_pos, _, error = run(chain, wrist_target(away), start, device, cfg=PLAIN)
    assert np.isfinite(joint_pos).all() and np.isfinite(error).all()
    assert np.abs(joint_pos - start).max() <= 3.14 / 30.0 + SINGLE
    joint_pos, _, error = run(chain, wrist_target(away), start, device, calls=300)
    assert np.isfinite(joint_pos).all() and np.isfinite(error).all()


def test_one_step_is_bounded_by_the_damping(chain):
    stretched = np.zeros((1, 7))
    pose = chain.wrist_pose(stretched)
    pose[:, :3, 3] += [1.0, 0.0, 0.0]  # out of the arm's reach
    cfg = dataclasses.replace(PLAIN, iterations=1, max_joint_step=10.0, rate_hz=1.0)
    joint_pos, _, _ = run(chain, wrist_target(pose), stretched, cfg=cfg)
    assert np.linalg.norm(joint_pos - stretched) <= 1.0 / (2.0 * math.sqrt(0.5)) * (1.0 + 1e-5)


def test_commands_stay_within_limits_of_position_and_speed(chain, rng):
    start = rng.uniform(chain.lower, chain.upper, (64, 7))
    target = wrist_target(chain.wrist_pose(rng.uniform(chain.lower, chain.upper, (64, 7))))
    controller = WeightedIK(chain, 64)
    joint_pos, targets = wp.array(start, dtype=wp.float32), wp.array(target, dtype=wp.float32)
    before = start.astype(np.float32)
    for _ in range(60):
        controller.solve(targets, joint_pos)
        now = joint_pos.numpy().copy()
        assert (now.astype(float) >= chain.lower).all() and (now.astype(float) <= chain.upper).all()
        assert np.abs(now - before).max() <= 3.14 / 30.0 + SINGLE
        before = now


def test_other_joints_do_the_part_of_one_at_its_limit(chain):
    """The target is reachable, but the straight way leads through the lower limit of joint 4."""
    narrow = dataclasses.replace(chain, lower=np.where(np.arange(7) == 3, READY[3] - 0.05, chain.lower))
    target = chain.wrist_pose(READY + [0.0, 0.25, 0.0, -0.05, 0.0, 0.3, 0.0])[None]
    joint_pos, _, error = run(narrow, wrist_target(target), READY[None], calls=60, cfg=PLAIN)
    assert joint_pos[0, 3] >= READY[3] - 0.05 - SINGLE
    assert error.max() < 10 * SINGLE


def test_b51_a_target_that_jumps_is_flagged_and_followed_at_the_speed_limit(chain):
    goal = READY.copy()
    goal[0] += 0.3
    target = wrist_target(chain.wrist_pose(goal[None]))
    joint_pos, followable, _ = run(chain, target, READY[None], cfg=PLAIN)
    assert not followable[0]
    assert np.abs(joint_pos - READY).max() == pytest.approx(3.14 / 30.0, abs=SINGLE)
    _, followable, error = run(chain, target, READY[None], calls=40)
    assert followable[0] and error.max() < 2 * SINGLE


def test_many_equal_each_alone(chain, device, rng):
    start = near_ready(rng, 257, 0.2)
    target = wrist_target(chain.wrist_pose(near_ready(rng, 257, 0.5)))
    many = run(chain, target, start, device)
    for i in (0, 100, 256):
        alone = run(chain, target[i : i + 1], start[i : i + 1], device)
        for whole, single in zip(many, alone, strict=True):
            np.testing.assert_array_equal(single[0], whole[i])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_b27_kind_a_missing_target_holds_the_last_command(chain, value):
    target = wrist_target(chain.wrist_pose(READY[None] + 0.1)).repeat(9, axis=0)
    target[np.arange(9), np.arange(9)] = value
    joint_pos, followable, error = run(chain, target, np.tile(READY, (9, 1)), calls=3)
    np.testing.assert_array_equal(joint_pos, np.tile(READY, (9, 1)).astype(np.float32))
    assert not followable.any() and np.isinf(error).all()


def test_a_grounded_chain_is_followed_on_its_own_geometry(chain, rng):
    offsets = rng.normal(size=(7, 6)) * np.repeat([3e-4, 5e-4], 3)
    moved = chain.moved(offsets)
    target = wrist_target(moved.wrist_pose(near_ready(rng, 8, 0.2)))
    joint_pos, _, _ = run(moved, target, np.tile(READY, (8, 1)), calls=40)
    np.testing.assert_allclose(wrist_target(moved.wrist_pose(joint_pos.astype(float))), target, atol=2 * SINGLE)
    assert np.abs(wrist_target(chain.wrist_pose(joint_pos.astype(float))) - target).max() > 1e-4


def test_wrong_values_are_refused(chain):
    for field, value in (
        ("filter_cutoff_hz", 0.0), ("rotation_length", -1.0), ("damping", 1e-4), ("error_damping", -1.0),
        ("max_joint_step", 0.0), ("posture_rate", -1.0), ("limit_margin", 2.0), ("limit_rate", -1.0), ("rate_hz", 0.0),
        ("iterations", 0), ("joint_weights", (0.5,) * 7), ("posture", (0.0,) * 6),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=f"WeightedIKCfg.{field}: received"):
            WeightedIKCfg(**{field: value})
    with pytest.raises(ConfigError, match="num_envs: received 0"):
        WeightedIK(chain, 0)
    short = dataclasses.replace(chain, names=chain.names[:6])
    with pytest.raises(ConfigError, match="received 6 joints, allowed are 7"):
        WeightedIK(short, 1)
    with pytest.raises(ConfigError, match=r"wrist_target: received shape \(2, 8\)"):
        WeightedIK(chain, 2).solve(wp.zeros((2, 8)), wp.zeros((2, 7)))
