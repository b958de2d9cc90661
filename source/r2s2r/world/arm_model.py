"""MuJoCo model of the arm that is fitted: hand locked, weight compensated, contacts off, the drive as in the contract.

Its physics is integrated by a fourth-order Runge-Kutta scheme: at 2 ms a semi-implicit step would add numerical
damping of about the size of the friction that is to be identified.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import mujoco
import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.transforms import pose, quat_exp
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.limits import ARM_LIMITS
from r2s2r.robot.urdf import named, origin_matrix, parse_numbers, read_urdf, set_origin

FIT_STEP_S = 0.002
"""Physics step of fits [s]: joint positions then differ from those of a 0.1 ms step by 1e-5 rad, less than an
encoder's noise (measured with a chirp to 8 Hz)."""

_SHARP_SOLREF, _SHARP_SOLIMP = (2.0 * FIT_STEP_S, 1.0), (0.99, 0.99, 0.001, 0.5, 2.0)
"""Dry friction as sharp as the step allows, since real joints stick. MuJoCo's defaults let friction grow with speed up
to 0.05 rad/s, which a fit would take for viscous friction."""


def arm_spec(hand_pos: np.ndarray, description: RobotDescription | None = None) -> mujoco.MjSpec:
    """Return the arm with the hand locked at joint positions (16) [rad] in the order of HAND_JOINTS.

    Raises:
        ConfigError: `hand_pos` is not 16 finite numbers.
    """
    hand_pos = np.asarray(hand_pos, dtype=float)
    if hand_pos.shape != (len(HAND_JOINTS),) or not np.isfinite(hand_pos).all():
        raise ConfigError(f"arm model: hand posture {hand_pos}, allowed are {len(HAND_JOINTS)} finite numbers [rad]")
    root = read_urdf((description or compose()).urdf_path)
    for link in root.findall("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
    joints = named(root, "joint")
    for name, position in zip(HAND_JOINTS, hand_pos, strict=True):
        _lock(joints[name], position)
    extension = ET.SubElement(root, "mujoco")
    ET.SubElement(extension, "compiler", {"fusestatic": "true", "balanceinertia": "false"})
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.option.gravity = np.zeros(3)  # compensated by the vendor's controller, whatever the base's tilt
    return driven(spec, ARM_JOINTS, ARM_LIMITS.effort)


def driven(spec: mujoco.MjSpec, joints: Sequence[str], effort: np.ndarray) -> mujoco.MjSpec:
    """Return `spec` with a position drive of limited effort (J) [N m] and an encoder on each of its hinges `joints`."""
    spec.option.timestep = FIT_STEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    off = mujoco.mjtDisableBit
    spec.option.disableflags |= int(off.mjDSBL_CONTACT) | int(off.mjDSBL_LIMIT)
    for name, limit in zip(joints, effort, strict=True):
        joint = spec.joint(name)
        joint.solref_friction, joint.solimp_friction = _SHARP_SOLREF, _SHARP_SOLIMP
        joint.actfrclimited = False  # the drive has the limit
        spec.add_actuator(
            name=name,
            target=name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            forcelimited=True,
            forcerange=[-limit, limit],
        )
        spec.add_sensor(
            name=name, type=mujoco.mjtSensor.mjSENS_JOINTPOS, objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=name
        )
    return spec


def set_passive(
    model: mujoco.MjModel, armature: np.ndarray, viscous_friction: np.ndarray, coulomb_friction: np.ndarray
) -> None:
    """Write what the joints have without a drive (J each) [kg m2, N m s/rad, N m] into a compiled model."""
    model.dof_armature[:] = armature
    model.dof_damping[:] = viscous_friction
    model.dof_frictionloss[:] = coulomb_friction
    # The regularisation of dry friction follows the inertia.
    mujoco.mj_setConst(model, mujoco.MjData(model))


def set_drive(model: mujoco.MjModel, stiffness: np.ndarray, damping: np.ndarray) -> None:
    """Write the gains of the drives (J each) [N m/rad, N m s/rad] into a compiled model."""
    model.actuator_gainprm[:, 0] = stiffness
    model.actuator_biasprm[:, 1] = -np.asarray(stiffness)
    model.actuator_biasprm[:, 2] = -np.asarray(damping)


def _lock(joint: ET.Element, position: float) -> None:
    """Make a revolute joint a fixed one at `position` [rad]."""
    axis = joint.find("axis")
    turn = quat_exp(position * np.array(parse_numbers("1 0 0" if axis is None else axis.get("xyz", "1 0 0"))))
    matrix = origin_matrix(joint) @ pose(np.zeros(3), turn)
    for tag in ("axis", "limit", "mimic"):
        for element in joint.findall(tag):
            joint.remove(element)
    joint.set("type", "fixed")
    set_origin(joint, matrix)
