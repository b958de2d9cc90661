"""The robot hand alone, with its palm as the root: joints, limits, links and collision shapes from its URDF."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator

import numpy as np

from r2s2r.behavior.hand_shapes import FINGER_JOINTS, PALM, HandShapes, hand_shapes
from r2s2r.contracts.errors import RobotDescriptionError
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.transforms import pose, pose_apply, quat_exp
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.urdf import end_link, named, origin_matrix, parent_joints, parse_numbers, read_urdf

FINGERTIPS = ("hand_link_15_tip", "hand_link_3_tip", "hand_link_7_tip", "hand_link_11_tip")
"""Centres of the fingertip spheres: thumb, index, middle, ring."""

MIDDLE_LINKS = ("hand_link_15", "hand_link_2", "hand_link_6", "hand_link_10")
"""Links whose frames lie in the last joint of the thumb and in the middle joints of the fingers."""

KNUCKLE_LINKS = ("hand_link_1", "hand_link_5", "hand_link_9")
"""Links whose frames lie in the bending joints at the roots of index, middle and ring finger."""


class HandModel:
    """Four fingers of four joints; joint vectors are in the order of `contracts.joints.HAND_JOINTS`."""

    frames: np.ndarray
    """Pose of each joint's frame at position 0 in that of the joint before it, a root's in the palm (16, 4, 4)."""
    axes: np.ndarray
    """Unit axis of each joint in its frame (16, 3)."""
    lower: np.ndarray
    """Smallest positions (16) [rad]."""
    upper: np.ndarray
    """Largest positions (16) [rad]."""
    shapes: HandShapes
    """Collision shapes of palm and fingers."""

    def __init__(self, description: RobotDescription | None = None):
        """Read the hand out of the composed robot.

        Args:
            description: the robot; None for the default one.

        Raises:
            RobotDescriptionError: the URDF is damaged, lacks a joint of the hand, or the joints are no four fingers.
        """
        description = description or compose()
        root = read_urdf(description.urdf_path)
        self._parents, self._palm = parent_joints(root), description.wrist_link
        joints = named(root, "joint")
        missing = [name for name in HAND_JOINTS if name not in joints]
        if missing:
            raise RobotDescriptionError(f"URDF {str(description.urdf_path)!r}: no joint {', '.join(missing)}")
        elements = [joints[name] for name in HAND_JOINTS]
        self.frames = np.array([self._joint_frame(number, joint) for number, joint in enumerate(elements)])
        self.axes = np.array([_axis(joint) for joint in elements])
        self.lower, self.upper = np.array([_limits(joint) for joint in elements]).T
        self.shapes = hand_shapes(self._collisions(root))

    def carrier(self, link: str) -> tuple[int, np.ndarray]:
        """Return the number of the joint that carries `link`, PALM for none, and the link's pose (4, 4) in its frame.

        Raises:
            RobotDescriptionError: there is no such link on the hand.
        """
        matrix, at = np.eye(4), link
        while at != self._palm:
            if at not in self._parents:
                raise RobotDescriptionError(f"hand: link {link!r} does not hang on {self._palm!r}")
            joint = self._parents[at]
            if joint.get("name") in HAND_JOINTS:
                return HAND_JOINTS.index(joint.get("name", "")), matrix
            matrix, at = origin_matrix(joint) @ matrix, end_link(joint, "parent")
        return PALM, matrix

    def joint_poses(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return each joint's moving frame in the palm (..., 16, 4, 4) at joint positions (..., 16) [rad]."""
        joint_pos = np.asarray(joint_pos, dtype=float)
        poses = self.frames @ pose(np.zeros(3), quat_exp(joint_pos[..., None] * self.axes))
        for joint in range(len(HAND_JOINTS)):
            if joint % FINGER_JOINTS:
                poses[..., joint, :, :] = poses[..., joint - 1, :, :] @ poses[..., joint, :, :]
        return poses

    def link_pos(self, joint_pos: np.ndarray, links: tuple[str, ...]) -> np.ndarray:
        """Return the origins of moving `links` (..., L, 3) in the palm at joint positions (..., 16) [m]."""
        carriers = [self.carrier(link) for link in links]
        poses = self.joint_poses(joint_pos)[..., [joint for joint, _ in carriers], :, :]
        return pose_apply(poses, np.array([matrix[:3, 3] for _, matrix in carriers]))

    def _joint_frame(self, number: int, joint: ET.Element) -> np.ndarray:
        """Return the pose of a joint's frame in the frame of the joint before it."""
        parent, matrix = self.carrier(end_link(joint, "parent"))
        if parent != (number - 1 if number % FINGER_JOINTS else PALM):
            raise RobotDescriptionError(
                f"hand: joint {HAND_JOINTS[number]!r} hangs on {HAND_JOINTS[parent] if parent >= 0 else 'the palm'!r}; "
                f"retargeting knows hands of fingers with {FINGER_JOINTS} joints in a row"
            )
        return matrix @ origin_matrix(joint)

    def _collisions(self, root: ET.Element) -> Iterator[tuple[int, np.ndarray, ET.Element]]:
        """Yield what carries each collision element of the hand, its pose there, and the element."""
        for name, link in named(root, "link").items():
            if self._on_hand(name):
                joint, matrix = self.carrier(name)
                for shape in link.findall("collision"):
                    yield joint, matrix @ origin_matrix(shape), shape

    def _on_hand(self, link: str) -> bool:
        while link != self._palm and link in self._parents:
            link = end_link(self._parents[link], "parent")
        return link == self._palm


def _axis(joint: ET.Element) -> np.ndarray:
    element = joint.find("axis")
    axis = np.array(parse_numbers("1 0 0" if element is None else element.get("xyz", "1 0 0")))
    return axis / np.linalg.norm(axis)


def _limits(joint: ET.Element) -> tuple[float, float]:
    limit = joint.find("limit")
    if joint.get("type") != "revolute" or limit is None:
        raise RobotDescriptionError(
            f"hand: joint {joint.get('name')!r} is {joint.get('type')!r}; fingers have revolute ones with limits"
        )
    return float(limit.get("lower", 0.0)), float(limit.get("upper", 0.0))
