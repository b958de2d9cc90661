"""The virtual cell as a MuJoCo model: the robot with its true joint frames, table, bins, belt, what rides on it."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import mujoco
import numpy as np

from r2s2r.cell.solids import turned_mesh
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.targets import ITEM_SIZE
from r2s2r.contracts.transforms import quat_conjugate, quat_from_matrix, quat_rotate, se3_exp
from r2s2r.contracts.trials import BeltObject
from r2s2r.contracts.world import ArmModel, CellPoses, HandResponse, World
from r2s2r.robot.description import RobotDescription
from r2s2r.robot.limits import ARM_LIMITS, HAND_LIMITS
from r2s2r.robot.urdf import end_link, named, origin_matrix, read_urdf

TIMESTEP_S = 0.002
"""Physics step [s]. Fourth-order Runge-Kutta follows the fastest pole (a finger's drive, 200/s) to 1e-4 with it. A
first-order integrator would have to be ten times finer: with implicit damping D a step h adds D h / 2 to a joint's
inertia, at 1 ms up to 0.05 kg m2, as much as the rotors that grounding looks for."""

BELT, ITEM = "belt", "item"
"""Joints of the belt (slides along its x) and of the block (free)."""

BELT_THICKNESS = 0.04
"""[m]"""

BELT_MASS = 1e4
"""[kg]: so much that what lies on the belt does not slow it between two steps."""

RAIL_WIDTH = 0.06
"""Width of the frame on either side of the belt [m]; it is as high as the belt's upper side and carries tags."""

ITEM_MASS = 0.1
"""[kg]: an empty block of 6 x 6 x 4 cm."""

TABLE_SIZE, TABLE_POS = (1.4, 2.4, 0.04), (0.25, 0.0, -0.02)
"""Table top [m], the one of the simulated cell; levelled."""

BIN_WALL = 0.01
"""Thickness of floor and walls of a bin [m]."""

SHARP_SOLREF, SHARP_SOLIMP = (0.004, 1.0), (0.999, 0.999, 0.001, 0.5, 2.0)
"""Dry friction as sharp as the step allows. With MuJoCo's defaults a joint under load creeps by 1 mrad/s and friction
grows with speed up to 0.05 rad/s; real seals and gears stick."""

_HAND, _MOVING, _FIXED = 1, 2, 4
"""Contact bits: the hand, what it can move, what stands."""


def cell_model(world: World, description: RobotDescription, objects: Sequence[BeltObject] = ()) -> mujoco.MjModel:
    """Return the model of the true `world`, everything in the robot base's frame.

    Joints come first and in the order of ROBOT_JOINTS, so does `ctrl`: joint targets [rad]. Only the hand, what it can
    move and what stands collide: the arm's motions are planned free of contacts.

    Args:
        world: the truth.
        description: the robot.
        objects: what rides on the belt in a trial, bodies and free joints called :func:`object_name`; with none there
            is the block instead.

    Raises:
        RobotDescriptionError: the robot's description is damaged.
    """
    spec = _robot(world.arm, description)
    spec.option.timestep = TIMESTEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0  # held things creep out of the hand with less
    level = quat_conjugate(np.array(world.poses.base_quat_w))
    spec.option.gravity = quat_rotate(level, np.array([0.0, 0.0, -9.81]))
    _set_joints(spec, world.arm, world.hand)
    _add_drives(spec, world.arm, world.hand)
    _add_table_and_bins(spec, world.poses, level)
    _add_belt(spec, world.poses)
    if not objects:
        _add_item(spec)
    for index, item in enumerate(objects):
        _add_object(spec, object_name(index), item)
    return spec.compile()


def _robot(arm: ArmModel, description: RobotDescription) -> mujoco.MjSpec:
    """Return the robot with its links as bodies, its arm joints' frames moved by the kinematic offsets."""
    root = read_urdf(description.urdf_path)
    for link in root.findall("link"):
        shapes = ["visual"] if link.get("name", "").startswith("hand_") else ["visual", "collision"]
        for shape in [shape for tag in shapes for shape in link.findall(tag)]:
            link.remove(shape)
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    spec.compiler.fusestatic = False
    joints = named(root, "joint")
    for name, offset in zip(ARM_JOINTS, arm.kinematic_offsets, strict=True):
        frame = origin_matrix(joints[name]) @ se3_exp(np.array(offset))
        body = spec.body(end_link(joints[name], "child"))
        body.pos, body.quat = frame[:3, 3], _wxyz(quat_from_matrix(frame[:3, :3]))
    for body in spec.bodies[1:]:
        body.gravcomp = 1.0
    for geom in spec.geoms:
        geom.contype, geom.conaffinity = _HAND, _HAND | _MOVING | _FIXED
        geom.friction[0] = 1.0
    return spec


def _set_joints(spec: mujoco.MjSpec, arm: ArmModel, hand: HandResponse) -> None:
    rows = [
        *zip(ARM_JOINTS, arm.armature, arm.viscous_friction, arm.coulomb_friction, strict=True),
        *zip(HAND_JOINTS, hand.armature, (0.0,) * len(HAND_JOINTS), hand.coulomb_friction, strict=True),
    ]
    for name, armature, viscous, coulomb in rows:
        joint = spec.joint(name)
        joint.armature, joint.frictionloss = armature, coulomb
        joint.damping = np.array([viscous, 0.0, 0.0]) if np.ndim(joint.damping) else viscous
        joint.actfrclimited = False  # the drive has the limit; the URDF's 15 N m of the hand are no property of it
        joint.solref_friction, joint.solimp_friction = SHARP_SOLREF, SHARP_SOLIMP


def _add_drives(spec: mujoco.MjSpec, arm: ArmModel, hand: HandResponse) -> None:
    rows = [
        *zip(ARM_JOINTS, arm.drive_stiffness, arm.drive_damping, ARM_LIMITS.effort, strict=True),
        *zip(HAND_JOINTS, hand.drive_stiffness, hand.drive_damping, HAND_LIMITS.effort, strict=True),
    ]
    for name, stiffness, damping, effort in rows:
        drive = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        drive.gaintype, drive.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        drive.gainprm[0] = stiffness
        drive.biasprm[:3] = (0.0, -stiffness, -damping)
        drive.forcelimited, drive.forcerange = True, (-effort, effort)


def _add_table_and_bins(spec: mujoco.MjSpec, poses: CellPoses, level: np.ndarray) -> None:
    """Add what stands level, `level` (4,) being the orientation of the world in the base."""
    _add_box(spec.worldbody, quat_rotate(level, np.array(TABLE_POS)), level, TABLE_SIZE)
    length, width, height = poses.bin_size
    for pos in poses.bin_pos_b.values():
        boxes = [
            ((0.0, 0.0, 0.5 * BIN_WALL), (length, width, BIN_WALL)),
            *(((sign * 0.5 * (length + BIN_WALL), 0.0, 0.5 * height), (BIN_WALL, width, height)) for sign in (-1, 1)),
            *(((0.0, sign * 0.5 * (width + BIN_WALL), 0.5 * height), (length, BIN_WALL, height)) for sign in (-1, 1)),
        ]
        for middle, size in boxes:
            _add_box(spec.worldbody, np.array(pos) + quat_rotate(level, np.array(middle)), level, size)


def _add_belt(spec: mujoco.MjSpec, poses: CellPoses) -> None:
    """Add the belt's frame, and the belt as a heavy body on a slide joint; the physics holds its place and speed."""
    pos, quat = np.array(poses.belt_pos_b), np.array(poses.belt_quat_b)
    length, width = poses.belt_size
    for side in (-1.0, 1.0):
        middle = np.array([0.0, side * 0.5 * (width + RAIL_WIDTH), -0.5 * BELT_THICKNESS])
        _add_box(spec.worldbody, pos + quat_rotate(quat, middle), quat, (length, RAIL_WIDTH, BELT_THICKNESS))
    belt = spec.worldbody.add_body(name=BELT, pos=pos, quat=_wxyz(quat), gravcomp=1.0)
    belt.add_joint(name=BELT, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(1.0, 0.0, 0.0))
    surface = _add_box(
        belt, np.array([0.0, 0.0, -0.5 * BELT_THICKNESS]), np.array([0.0, 0.0, 0.0, 1.0]), (length, width, 0.04)
    )
    surface.mass = BELT_MASS


def _add_item(spec: mujoco.MjSpec) -> None:
    item = spec.worldbody.add_body(name=ITEM)
    item.add_freejoint(name=ITEM)
    shape = _add_box(item, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), ITEM_SIZE)
    shape.mass = ITEM_MASS
    shape.contype, shape.conaffinity = _MOVING, _HAND | _FIXED


def object_name(index: int) -> str:
    """Return the name of the body and the free joint of a trial's object."""
    return f"object_{index}"


def _add_object(spec: mujoco.MjSpec, name: str, item: BeltObject) -> None:
    body = spec.worldbody.add_body(name=name)
    body.add_freejoint(name=name)
    shape, half = item.shape, 0.5 * np.array(item.shape.extents)
    if shape.sides:
        vertices, triangles = turned_mesh(shape)
        spec.add_mesh(name=name, uservert=vertices.ravel(), userface=triangles.ravel())
        geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)
    elif shape.name == "cylinder":
        geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[half[0], half[2], 0.0])
    else:
        geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half)
    geom.mass, geom.friction[0] = item.mass, item.friction
    geom.contype, geom.conaffinity = _MOVING, _HAND | _FIXED | _MOVING


def _add_box(body, pos: np.ndarray, quat: np.ndarray, size: tuple[float, ...]):
    """Add a box of full extents `size` that the hand and the block can touch."""
    box = body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, quat=_wxyz(quat), size=0.5 * np.array(size))
    box.contype, box.conaffinity = _FIXED, _HAND | _MOVING
    box.friction[0] = 1.0
    return box


def _wxyz(quat: np.ndarray) -> np.ndarray:
    """Return a quaternion xyzw (4,) in MuJoCo's order."""
    return np.roll(quat, 1)
