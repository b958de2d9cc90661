import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS, ROBOT_JOINTS, JointSet

ROBOT = JointSet(ROBOT_JOINTS)


def test_robot_joints_are_arm_then_hand():
    assert len(ARM_JOINTS) == 7 and len(HAND_JOINTS) == 16
    assert ROBOT_JOINTS == ARM_JOINTS + HAND_JOINTS


def test_b50_joint_order_is_mapped_by_name():
    values = np.arange(23.0)
    shuffled = np.random.default_rng(1).permutation(23)
    names = [ROBOT_JOINTS[i] for i in shuffled]
    np.testing.assert_array_equal(ROBOT.reorder(values[shuffled], names), values)


def test_b50_a_name_that_comes_twice_is_refused():
    names = [*ROBOT_JOINTS[:-1], "joint1"]
    with pytest.raises(ConfigError, match="'joint1' comes twice"):
        ROBOT.reorder(np.zeros(23), names)


@given(order=st.permutations(range(23)), rows=st.integers(0, 3))
def test_reordering_there_and_back_is_the_identity(order, rows):
    values = np.random.default_rng(rows).normal(size=(rows, 2, 23))
    other = JointSet(tuple(ROBOT_JOINTS[i] for i in order))
    np.testing.assert_array_equal(ROBOT.reorder(other.reorder(values, ROBOT), other), values)


def test_a_subset_is_picked_from_a_larger_source():
    hand = JointSet(HAND_JOINTS)
    np.testing.assert_array_equal(hand.reorder(np.arange(23), ROBOT), np.arange(7, 23))
    assert hand.index("hand_joint_3") == 3
    assert len(hand) == 16


def test_missing_joints_are_listed():
    with pytest.raises(ConfigError, match="joints missing: hand_joint_14, hand_joint_15; the source has joint1"):
        ROBOT.indices_in(ROBOT_JOINTS[:-2])


def test_unknown_joint_lists_the_known():
    with pytest.raises(ConfigError, match="joint 'joint8' is unknown, known are joint1, joint2"):
        ROBOT.index("joint8")


def test_width_must_match_the_names():
    with pytest.raises(ConfigError, match="received 22 numbers for 23 names"):
        ROBOT.reorder(np.zeros((5, 22)), ROBOT)


def test_an_empty_name_is_refused():
    with pytest.raises(ConfigError, match="an empty name"):
        JointSet(("joint1", ""))
