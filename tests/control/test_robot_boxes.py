"""The robot as boxes: where they are, what they hide, whether they meet; against MuJoCo and by sampling."""

import mujoco
import numpy as np
import pytest

from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse, quat_normalise
from r2s2r.control.robot_boxes import RobotBoxes, hides, lowest, overlap, robot_boxes
from r2s2r.robot.description import compose
from r2s2r.robot.ready import READY_ARM, READY_HAND

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


@pytest.fixture(scope="module")
def robot() -> RobotBoxes:
    return robot_boxes(compose(), np.array(READY_HAND))


def _random_poses(rng: np.random.Generator, count: int, spread: float = 0.3) -> np.ndarray:
    return pose(rng.uniform(-spread, spread, (count, 3)), quat_normalise(rng.normal(size=(count, 4))))


def test_boxes_are_where_mujoco_has_the_collision_shapes(robot, rng):
    spec = mujoco.MjSpec.from_file(str(compose().urdf_path))
    spec.compiler.balanceinertia, spec.compiler.discardvisual, spec.compiler.fusestatic = True, True, False
    model = spec.compile()
    data = mujoco.MjData(model)
    arm = np.array(READY_ARM) + rng.uniform(-0.5, 0.5, 7)
    for name, value in zip(ROBOT_JOINTS, (*arm, *READY_HAND), strict=True):
        data.joint(name).qpos = value
    mujoco.mj_kinematics(model, data)
    poses = robot.poses(arm)
    assert len(robot.names) == model.ngeom
    left = set(range(model.ngeom))
    for k, name in enumerate(robot.names):
        bodies = {g: model.body(model.geom_bodyid[g]).name for g in left}
        own = [g for g, body in bodies.items() if body == name or (name == "link_base" and body == "world")]
        nearest = min(own, key=lambda g: np.linalg.norm(data.geom_xpos[g] - poses[k, :3, 3]))
        np.testing.assert_allclose(data.geom_xpos[nearest], poses[k, :3, 3], atol=1e-6)
        if model.geom_type[nearest] == mujoco.mjtGeom.mjGEOM_BOX:
            # MuJoCo may order a box's axes otherwise: the corners are the same.
            theirs = (
                data.geom_xpos[nearest] + CORNERS * model.geom_size[nearest] @ data.geom_xmat[nearest].reshape(3, 3).T
            )
            mine = pose_apply(poses[k], CORNERS * robot.half[k])
            assert np.linalg.norm(theirs[:, None] - mine, axis=-1).min(axis=1).max() < 1e-6
        left.remove(nearest)


def test_a_box_on_the_flange_moves_with_it(robot):
    frame = pose(np.array([0.0, 0.1, 0.2]), np.array([0.0, 0.0, 0.0, 1.0]))
    more = robot.with_box("tool", frame, np.array([0.01, 0.02, 0.03]))
    flange = robot.chain.wrist_pose(np.array(READY_ARM))
    np.testing.assert_allclose(more.poses(np.array(READY_ARM))[-1], flange @ frame, atol=1e-12)
    assert more.select(("tool",)).sum() == 1 and not robot.select(("tool",)).any()


def test_batches_of_postures_agree_with_single_ones(robot, rng):
    joint_pos = rng.uniform(-1.0, 1.0, (4, 7))
    np.testing.assert_allclose(robot.poses(joint_pos), np.stack([robot.poses(q) for q in joint_pos]), atol=1e-12)
    assert robot.poses(joint_pos[:0]).shape == (0, len(robot.names), 4, 4)


def test_lowest_is_the_lowest_corner(rng):
    poses, half = _random_poses(rng, 50), rng.uniform(0.01, 0.2, (50, 3))
    corners = pose_apply(poses[:, None], CORNERS * half[:, None])
    np.testing.assert_allclose(lowest(poses, half), corners[..., 2].min(axis=1), atol=1e-12)


def test_overlap_agrees_with_sampling(rng):
    """Two boxes overlap where a point of one lies in the other: 4000 points find all but grazing ones."""
    poses, half = _random_poses(rng, 400, 0.15).reshape(2, 200, 4, 4), rng.uniform(0.02, 0.12, (2, 200, 3))
    claimed = overlap(poses[0], half[0], poses[1], half[1])
    points = rng.uniform(-1.0, 1.0, (200, 4000, 3)) * half[0][:, None]
    inside = pose_apply((pose_inverse(poses[1]) @ poses[0])[:, None], points)
    found = (np.abs(inside) <= half[1][:, None]).all(axis=-1).any(axis=1)
    assert 20 < found.sum() < 180
    assert not (found & ~claimed).any()
    # Shrunk by a tenth, what is still claimed has a core that sampling cannot miss.
    core = overlap(poses[0], 0.9 * half[0], poses[1], 0.9 * half[1])
    assert not (core & ~found).any()


def test_overlap_of_parallel_boxes():
    """Edges that are parallel have no common normal."""
    here, half = np.eye(4), np.array([0.1, 0.1, 0.1])
    for shift, expected in ((0.19, True), (0.21, False)):
        there = pose(np.array([shift, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
        assert bool(overlap(here, half, there, half)) is expected


def test_a_box_hides_what_lies_behind_it_only():
    box, half = np.eye(4)[None], np.array([[0.1, 0.1, 0.1]])
    eye = np.array([0.0, 0.0, 1.0])
    points = np.array(
        [
            [0.0, 0.0, -1.0],  # behind
            [0.0, 0.0, 0.5],  # before
            [0.0, 0.0, 2.0],  # at the eye's back
            [0.5, 0.0, -1.0],  # aside
            [0.0, 0.0, 0.05],  # inside
            [0.2, 0.0, -1.0],  # leaves through a side, but enters from above at x = 0.09
        ]
    )
    np.testing.assert_array_equal(hides(box, half, eye, points), [True, False, False, False, True, True])
    assert not hides(box[:0], half[:0], eye, points).any()
