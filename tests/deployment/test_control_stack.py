"""What reaches the drives of a cell for an action: the same as in the simulated task."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.cell.virtual_cell import VirtualCell
from r2s2r.contracts.action import HAND_JOINT_POS, POLICY_RATE_HZ, WRIST_LINK, WRIST_POS
from r2s2r.contracts.errors import ConfigError
from r2s2r.control.kinematics import serial_chain
from r2s2r.deployment.control_stack import SUBSTEPS, ControlStack
from r2s2r.robot.description import compose
from r2s2r.robot.limits import ARM_LIMITS, HAND_LIMITS
from r2s2r.robot.ready import READY_ARM, READY_HAND

STEP_S = 1.0 / POLICY_RATE_HZ
REST = np.array([*READY_ARM, *READY_HAND])


@pytest.fixture(scope="module")
def cell() -> VirtualCell:
    return VirtualCell(3, cameras=False)


@pytest.fixture
def stack(cell) -> ControlStack:
    stack = ControlStack(cell.info)
    stack.reset(REST)
    cell.read()
    return stack


def _sent(cell: VirtualCell, stream: str) -> list:
    return [message for message in cell.read() if message.stream == stream]


def test_rest_action_keeps_the_robot_where_it_is(cell, stack):
    """Action and kinematics belong together: what the ready pose's action comes to is the ready pose."""
    for _ in range(5):
        stack.command(cell, stack.rest_action(REST))
    np.testing.assert_allclose(stack.joint_pos_target, REST, atol=1e-4)
    assert stack.followable


def test_one_step_is_a_straight_line_in_joint_space(cell, stack):
    """Four arm targets 1 / 120 s apart, evenly from the last step's to this one's, and the hand's at once."""
    action = stack.rest_action(REST)
    action[WRIST_POS] += (0.01, -0.01, 0.005)
    begin_s = cell.now()
    stack.command(cell, action)
    assert cell.now() == pytest.approx(begin_s + STEP_S, abs=1e-9)
    messages = cell.read()
    arm = [message for message in messages if message.stream == "arm_command"]
    hand = [message for message in messages if message.stream == "hand_command"]
    assert [message.time_s - begin_s for message in hand] == [0.0]
    np.testing.assert_allclose([m.time_s - begin_s for m in arm], np.arange(SUBSTEPS) * STEP_S / SUBSTEPS, atol=1e-9)
    end = stack.joint_pos_target[:7]
    shares = np.arange(1, SUBSTEPS + 1)[:, None] / SUBSTEPS
    np.testing.assert_allclose([m.value for m in arm], REST[:7] + shares * (end - REST[:7]), atol=1e-12)
    assert np.abs(end - REST[:7]).max() > 1e-3


def test_wrist_target_is_reached(cell, stack):
    """A steady target is reached by the commanded joints: a few time constants of the 5 Hz filter leave nothing."""
    action = stack.rest_action(REST)
    action[WRIST_POS] += (0.03, 0.05, -0.04)
    for _ in range(30):
        stack.command(cell, action)
    reached = stack.wrist_pose_b(stack.joint_pos_target)[:3]
    np.testing.assert_allclose(reached, action[WRIST_POS], atol=1e-4)


def test_kinematics_are_those_of_the_calibration_sheet(cell, stack):
    """With a sheet the wrist is where the moved chain puts it, without one where the nominal does."""
    chain = serial_chain(compose().urdf_path, WRIST_LINK)
    sheet = 1e-3 * np.random.default_rng(0).normal(size=(7, 6))
    informed = ControlStack(replace(cell.info, factory_kinematics=tuple(map(tuple, sheet))))
    bare = ControlStack(replace(cell.info, factory_kinematics=None))
    for built, expected in ((informed, chain.moved(sheet)), (bare, chain)):
        np.testing.assert_allclose(built.wrist_pose_b(REST)[:3], expected.wrist_pose(REST[:7])[:3, 3], atol=1e-12)
    assert np.linalg.norm(informed.wrist_pose_b(REST)[:3] - bare.wrist_pose_b(REST)[:3]) > 1e-4


def test_hand_targets_stay_within_their_limits(cell, stack):
    """A policy may ask for anything."""
    action = stack.rest_action(REST)
    for value, limit in ((9.0, HAND_LIMITS.upper), (-9.0, HAND_LIMITS.lower)):
        action[HAND_JOINT_POS] = value
        stack.command(cell, action)
        np.testing.assert_array_equal(_sent(cell, "hand_command")[-1].value, limit)


def test_what_cannot_be_followed_is_flagged_and_limited(cell, stack):
    """A jump of half a metre: no joint is sent further than its largest speed allows, and the step says so."""
    action = stack.rest_action(REST)
    action[WRIST_POS] += (0.0, 0.5, 0.0)
    stack.command(cell, action)
    assert not stack.followable
    assert (np.abs(stack.joint_pos_target[:7] - REST[:7]) <= ARM_LIMITS.velocity * STEP_S + 1e-6).all()


def test_steps_follow_an_even_grid(cell, stack):
    """What the caller takes between two steps is waited for less; who takes longer than a step is not chased."""
    action, begin_s = stack.rest_action(REST), cell.now()
    for _ in range(3):
        stack.command(cell, action)
        cell.wait(0.01)
    assert cell.now() - 0.01 - begin_s == pytest.approx(3 * STEP_S, abs=1e-9)
    cell.wait(0.1)
    late_s = cell.now()
    stack.command(cell, action)
    assert cell.now() - late_s == pytest.approx(STEP_S, abs=1e-9)


def test_bad_actions_are_refused_before_anything_is_sent(cell, stack):
    """Not finite, of another width, or without a position to start from."""
    for action in (np.full(25, np.nan), np.zeros(24)):
        with pytest.raises(ConfigError, match="control stack"):
            stack.command(cell, action)
    with pytest.raises(ConfigError, match="call reset first"):
        ControlStack(cell.info).command(cell, stack.rest_action(REST))
    with pytest.raises(ConfigError, match="expected 23 numbers"):
        stack.reset(np.zeros(7))
    assert not _sent(cell, "arm_command")
