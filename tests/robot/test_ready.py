"""The ready pose and what is calculated from it, recomputed with Pinocchio from the composed robot."""

import numpy as np
import pytest

from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.world import DAMPING_RATIO, NATURAL_FREQUENCY, READY_INERTIA, World
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.ready import READY_HAND, READY_JOINT_POS

pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")


@pytest.fixture(scope="module")
def description(tmp_path_factory) -> RobotDescription:
    return compose(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def model(description):
    return pin.buildModelFromUrdf(str(description.urdf_path))


@pytest.fixture(scope="module")
def ready(model) -> np.ndarray:
    joint_pos = pin.neutral(model)
    for name, value in READY_JOINT_POS.items():
        joint_pos[model.joints[model.getJointId(name)].idx_q] = value
    return joint_pos


def test_wrist_waits_over_the_belt_with_the_fingers_down_and_forward(description, model, ready):
    data = model.createData()
    pin.framesForwardKinematics(model, data, ready)
    wrist = data.oMf[model.getFrameId(description.wrist_link)]
    np.testing.assert_allclose(wrist.translation, [0.42, -0.12, 0.42], atol=1e-4)  # four digits are written down
    fingers = wrist.rotation[:, 2]
    assert np.degrees(np.arcsin(-fingers[2])) == pytest.approx(34.0, abs=0.5)
    assert fingers[0] > 0.8


def test_hand_is_ready_as_a_grasp_opens_it():
    assert GraspGeometry().open_posture == READY_HAND


def test_ready_inertia_is_that_of_the_composed_robot(model, ready):
    inertia = pin.crba(model, model.createData(), ready)
    rows = [model.joints[model.getJointId(name)].idx_v for name in ARM_JOINTS]
    np.testing.assert_allclose(READY_INERTIA, [inertia[row, row] for row in rows], atol=1e-6)


def test_nominal_gains_give_the_damping_ratio_to_that_inertia():
    arm = World.nominal().arm
    stiffness, damping, inertia = (np.array(v) for v in (arm.drive_stiffness, arm.drive_damping, READY_INERTIA))
    np.testing.assert_allclose(damping / (2.0 * np.sqrt(stiffness * inertia)), DAMPING_RATIO, rtol=1e-12)
    np.testing.assert_allclose(damping / stiffness, 2.0 * DAMPING_RATIO / NATURAL_FREQUENCY, rtol=1e-12)
    np.testing.assert_allclose(damping / stiffness, 1.0 / 30.0, rtol=1e-12)  # the lag behind a steady motion
    assert not any(arm.armature)
