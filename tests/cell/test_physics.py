"""Motion of the virtual cell against closed forms and against Pinocchio."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio
import pytest
from scipy.linalg import expm

from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.model import TIMESTEP_S
from r2s2r.cell.physics import CellPhysics
from r2s2r.contracts.errors import SimulationError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.contracts.transforms import pose, pose_inverse, quat_conjugate, quat_rotate
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import compose
from r2s2r.robot.ready import READY_ARM, READY_HAND

READY = np.array([*READY_ARM, *READY_HAND])


@cache
def _ready_inertia() -> np.ndarray:
    """Return the joint-space inertia (23, 23) [kg m2] at the ready pose without armature, by Pinocchio."""
    model = pinocchio.buildModelFromUrdf(str(compose().urdf_path))
    columns = [model.joints[model.getJointId(name)].idx_q for name in ROBOT_JOINTS]
    joint_pos = pinocchio.neutral(model)
    joint_pos[columns] = READY
    inertia = pinocchio.crba(model, model.createData(), joint_pos)
    return inertia[np.ix_(columns, columns)]


def _linear_response(hidden: HiddenWorld, way: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """Return how the robot answers to a small step of all targets by `way` (23,) at 0 s: offsets (T, 23) [rad].

    M x'' = K (way - x) - D x' with constant M: the whole robot as coupled springs, by the matrix exponential.
    """
    arm, hand = hidden.world.arm, hidden.world.hand
    inertia = _ready_inertia() + np.diag([*arm.armature, *hand.armature])
    stiffness = np.diag([*arm.drive_stiffness, *hand.drive_stiffness])
    damping = np.diag(np.add([*arm.drive_damping, *hand.drive_damping], [*arm.viscous_friction, *(0.0,) * 16]))
    system = np.zeros((46, 46))
    system[:23, 23:] = np.eye(23)
    system[23:] = -np.linalg.solve(inertia, np.hstack([stiffness, damping]))
    rest = np.concatenate([way, np.zeros(23)])
    return np.array([(rest - expm(system * t) @ rest)[:23] if t > 0.0 else np.zeros(23) for t in time_s])


@pytest.mark.parametrize("delay_s", [0.010, 0.0107, 0.0313])
def test_the_arm_answers_as_coupled_springs_after_exactly_its_delay(ideal, delay_s):
    hidden = ideal(arm={"command_delay_s": delay_s, "viscous_friction": (3.0,) * 4 + (1.0,) * 3})
    physics = CellPhysics(hidden)
    way = np.array([1.0, -1.0, 0.7, -0.5, 1.0, -0.8, 1.0, *(0.0,) * 16]) * 1e-3
    physics.command_arm(0.0, READY[:7] + way[:7])
    physics.advance(0.25)
    time_s = np.linspace(0.0, 0.25, 51)
    moved = physics.joint_pos(time_s)[:, :7] - READY[:7]
    expected = _linear_response(hidden, way, time_s - delay_s)[:, :7]
    # The step has 1 mrad; 0.1 ms of delay more or less would be 4 urad on the steepest joint's way.
    assert np.abs(moved - expected).max() < 2e-6


def test_a_finger_answers_after_dead_time_play_and_lag(ideal):
    delay_s, deadband, lag_s = 0.0433, 0.004, 0.037
    hidden = ideal(hand={"delay_s": (delay_s,) * 16, "deadband": (deadband,) * 16, "lag_s": (lag_s,) * 16})
    physics, steps = CellPhysics(hidden), np.zeros(23)
    steps[8] = 0.010
    physics.command_hand(0.0, (READY + steps)[7:])
    physics.advance(0.29)
    time_s = np.linspace(0.0, 0.29, 30)
    moved = physics.joint_pos(time_s)[:, 8] - READY[8]
    # The lag's answer is a sum of steps spread over time: superpose the drive's answers to them.
    spread = (np.arange(400) + 0.5) / 400.0
    times = delay_s - lag_s * np.log(1.0 - spread)
    steps[8] -= deadband
    late = np.linspace(-0.05, 0.29, 681)
    answer = np.interp(time_s[:, None] - times, late, _linear_response(hidden, steps, late)[:, 8])
    assert np.abs(moved - answer.mean(axis=1)).max() < 2e-5  # of 6 mrad
    assert np.abs(moved[time_s < delay_s]).max() < 1e-9


def test_links_are_where_the_true_chain_puts_them():
    hidden = HiddenWorld.draw(3)
    description = compose()
    physics = CellPhysics(hidden, description)
    physics.command_arm(physics.time_s, READY[:7] + 0.2)
    start_s = physics.time_s
    physics.advance(start_s + 0.2)
    chain = serial_chain(description.urdf_path, description.wrist_link)
    true = chain.moved(np.array(hidden.world.arm.kinematic_offsets))
    for time_s in (start_s + 0.1, start_s + 0.1337):
        scene = physics.scene_at(time_s)
        assert np.allclose(scene.link_poses["hand_palm_link"], true.wrist_pose(scene.joint_pos[:7]), atol=1e-9)
    assert not np.allclose(scene.link_poses["hand_palm_link"], chain.wrist_pose(scene.joint_pos[:7]), atol=1e-4)
    assert set(scene.link_poses) == set(description.link_paths)


def test_motion_between_steps_is_a_smooth_curve_through_them(ideal):
    physics = CellPhysics(ideal())
    physics.command_arm(0.0, READY[:7] + 0.02)
    physics.advance(0.06)
    steps = physics.joint_pos(np.arange(0.0, 0.06, TIMESTEP_S))
    between = physics.joint_pos(np.arange(TIMESTEP_S, 0.05, TIMESTEP_S) + 0.5 * TIMESTEP_S)
    # A cubic through four steps, at the middle: -1/16, 9/16, 9/16, -1/16.
    middle = (-steps[:-3] + 9.0 * steps[1:-2] + 9.0 * steps[2:-1] - steps[3:]) / 16.0
    assert np.abs(between[: len(middle)] - middle[: len(between)]).max() < 2e-6


def test_only_the_last_moments_are_remembered(ideal):
    physics = CellPhysics(ideal())
    physics.advance(1.0)
    physics.joint_pos(np.array([0.75, 1.0]))
    for time_s in (0.5, 1.1):
        with pytest.raises(SimulationError, match=r"motion at \[[0-9.]+\] s asked, known is 0\.[0-9]+ to"):
            physics.scene_at(time_s)


def test_b19_dry_friction_holds_below_and_lets_go_above(ideal):
    # 0.3 N m are a target 0.75 mrad away. With 3 N m it is 7.5 mrad away: two of them pull until 5 mrad, the joint
    # swings on by the tenth that its damping leaves, and sticks there.
    assert abs(_pushed(ideal, 0.3)) < 0.01e-3
    assert 5.0e-3 < _pushed(ideal, 3.0) < 6.0e-3


def _pushed(ideal, torque: float) -> float:
    """Return how far joint 7, with 1 N m of dry friction, gets in 1 s when its drive pulls with `torque` [N m]."""
    physics = CellPhysics(ideal(arm={"coulomb_friction": (0.0,) * 6 + (1.0,)}))
    target = READY[:7].copy()
    target[6] += torque / 400.0
    physics.command_arm(0.0, target)
    physics.advance(1.0)
    return physics.joint_pos(np.array([1.0]))[0, 6] - READY[6]


def test_b20_passive_friction_adds_to_the_drive_s_damping(ideal):
    way = np.array([*(0.0,) * 6, 1e-3])
    for viscous in (0.0, 2.0):
        hidden = ideal(arm={"viscous_friction": (0.0,) * 6 + (viscous,)})
        physics = CellPhysics(hidden)
        physics.command_arm(0.0, READY[:7] + way)
        physics.advance(0.05)
        expected = _linear_response(hidden, np.concatenate([way, np.zeros(16)]), np.array([0.05]))[0, 6]
        assert physics.joint_pos(np.array([0.05]))[0, 6] - READY[6] == pytest.approx(expected, abs=2e-6)


def test_drives_pull_no_harder_than_the_vendor_s_limit(ideal):
    hidden = ideal()
    physics = CellPhysics(hidden)
    physics.command_arm(0.0, READY[:7] + np.array([0.5, *(0.0,) * 6]))
    physics.advance(0.012)
    inertia = _ready_inertia() + np.diag([*hidden.world.arm.armature, *hidden.world.hand.armature])
    torque = np.array([50.0, *(0.0,) * 22])  # without the limit 1400 N m
    held, giving_way = torque[0] / inertia[0, 0], np.linalg.solve(inertia, torque)[0]
    moved = physics.joint_pos(np.array([0.012]))[0, 0] - READY[0]
    assert 0.5 * held * 0.012**2 < moved < 0.5 * giving_way * 0.012**2


def test_gravity_points_down_in_the_levelled_frame_and_robots_do_not_feel_it(ideal):
    hidden = ideal()
    physics = CellPhysics(hidden)
    start = np.array([0.3, 0.9, 1.0])
    physics.place_item(pose(start, np.array([0.0, 0.0, 0.0, 1.0])))
    physics.advance(0.2)
    moved = physics.scene_at(0.2).item_pose[:3, 3] - start
    down = quat_rotate(quat_conjugate(np.array(hidden.world.poses.base_quat_w)), np.array([0.0, 0.0, -1.0]))
    assert moved == pytest.approx(0.5 * 9.81 * 0.2**2 * down, abs=1e-6)
    assert np.abs(physics.joint_pos(np.array([0.2]))[0] - READY).max() < 1e-9


@pytest.mark.parametrize("speed", [0.06, 0.12])
def test_the_block_rides_at_the_belt_s_speed(ideal, speed):
    hidden = ideal()
    poses = hidden.world.poses
    belt = pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b))
    physics = CellPhysics(hidden)
    assert physics.scene_at(0.0).item_pose is None
    physics.place_item(belt @ pose(np.array([-0.45, 0.02, 0.02]), np.array([0.0, 0.0, 0.0, 1.0])))
    physics.command_belt(speed)
    seen = []
    for time_s in (1.0, 3.0, 5.0):
        physics.advance(time_s)
        scene = physics.scene_at(time_s)
        seen.append([*(pose_inverse(belt) @ scene.item_pose)[:3, 3], scene.belt_travel])
    way = np.diff(seen, axis=0)
    true = speed * poses.belt_speed_scale * 2.0
    assert way[:, 0] == pytest.approx(true, rel=0.005)
    assert way[:, 3] == pytest.approx(true, rel=1e-9)
    assert np.abs(way[:, 1:3]).max() < 2e-4
    assert seen[0][2] == pytest.approx(0.02, abs=1e-3)


def test_a_block_that_falls_off_is_out_of_the_cell(ideal):
    physics = CellPhysics(ideal())
    physics.place_item(pose(np.array([3.0, 0.0, 0.5]), np.array([0.0, 0.0, 0.0, 1.0])))
    physics.advance(0.1)
    assert physics.scene_at(0.1).item_pose is not None
    physics.advance(1.0)
    assert physics.scene_at(1.0).item_pose is None


def test_the_hand_pushes_the_block(ideal):
    hidden = ideal()
    physics = CellPhysics(hidden)
    tip = physics.scene_at(0.0).link_poses["hand_link_3_tip"][:3, 3]
    physics.place_item(pose(tip, np.array([0.0, 0.0, 0.0, 1.0])))  # into the fingertip, which throws it out
    physics.advance(0.1)
    fallen = np.array([0.0, 0.0, -0.5 * 9.81 * 0.1**2])
    assert np.linalg.norm(physics.scene_at(0.1).item_pose[:3, 3] - tip - fallen) > 0.03


def test_effects_of_joints_disturb_but_little(ideal):
    hidden = HiddenWorld.draw(1)
    plain, disturbed = ideal(), ideal(joints=replace(hidden.joints, arm_encoder_noise=0.0))
    ends = []
    for cell in (plain, disturbed):
        physics = CellPhysics(cell)
        physics.command_arm(0.0, READY[:7] + 0.3)
        physics.advance(1.5)
        ends.append(physics.joint_pos(np.array([1.5]))[0, :7])
    difference = np.abs(ends[1] - ends[0])
    assert (difference[:4] < 1e-5).all()  # no cables there
    assert (difference[4:] > 1e-6).all() and (difference[4:] < 1e-3).all()


def test_belt_speeds_up_without_a_jerk(ideal):
    physics = CellPhysics(ideal())
    physics.command_belt(0.1)
    physics.advance(0.1)
    assert 0.0 < physics.scene_at(0.1).belt_travel == pytest.approx(0.5 * 0.5 * 0.1**2, rel=0.05)
    assert math.isclose(physics.scene_at(0.0).belt_travel, 0.0)
