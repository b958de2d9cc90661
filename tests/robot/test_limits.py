"""The limits written down against those of the vendors' URDFs."""

import numpy as np
import pytest

from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.robot.description import compose
from r2s2r.robot.limits import ARM_LIMITS, HAND_LIMITS, JointLimits
from r2s2r.robot.ready import READY_JOINT_POS
from r2s2r.robot.urdf import named, read_urdf


@pytest.fixture(scope="module")
def urdf_limits(tmp_path_factory) -> dict[str, dict[str, float]]:
    joints = named(read_urdf(compose(cache_dir=tmp_path_factory.mktemp("cache")).urdf_path), "joint")
    limits = {name: joint.find("limit") for name, joint in joints.items()}
    return {
        name: {key: float(value) for key, value in limit.attrib.items()}
        for name, limit in limits.items()
        if limit is not None
    }


@pytest.mark.parametrize("limits", [ARM_LIMITS, HAND_LIMITS], ids=["arm", "hand"])
@pytest.mark.parametrize("field", ["lower", "upper", "velocity"])
def test_positions_and_speeds_are_those_of_the_urdf(urdf_limits, limits: JointLimits, field: str):
    expected = [urdf_limits[name][field] for name in limits.names]
    np.testing.assert_array_equal(getattr(limits, field), expected)


def test_arm_torques_are_those_of_the_urdf_and_hand_torques_the_data_sheets(urdf_limits):
    np.testing.assert_array_equal(ARM_LIMITS.effort, [urdf_limits[name]["effort"] for name in ARM_LIMITS.names])
    assert {urdf_limits[name]["effort"] for name in HAND_LIMITS.names} == {15.0}  # why the data sheet is used
    np.testing.assert_array_equal(HAND_LIMITS.effort, 0.7)


def test_arm_speed_is_180_degrees_a_second_rounded_down():
    np.testing.assert_allclose(ARM_LIMITS.velocity, np.radians(180.0), atol=0.002)
    assert (ARM_LIMITS.velocity <= np.radians(180.0)).all()


def test_ready_pose_names_every_joint_and_is_within_limits():
    assert tuple(READY_JOINT_POS) == ROBOT_JOINTS
    for limits in (ARM_LIMITS, HAND_LIMITS):
        ready = np.array([READY_JOINT_POS[name] for name in limits.names])
        assert ((limits.lower < ready) & (ready < limits.upper)).all()
