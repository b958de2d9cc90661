"""The chain of joints from the robot base to the wrist, as arrays."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RobotDescriptionError
from r2s2r.contracts.transforms import pose, quat_exp, se3_exp
from r2s2r.robot.urdf import end_link, named, origin_matrix, parent_joints, parse_numbers, read_urdf


@dataclass(frozen=True)
class SerialChain:
    """J revolute joints in a row; what is fixed between them is folded into their frames."""

    names: tuple[str, ...]
    """Joint names from base to tip (J)."""
    frames: np.ndarray
    """Pose of each joint's frame at position 0 in the frame of the joint before it, the first in the base (J, 4, 4)."""
    axes: np.ndarray
    """Unit axis of each joint in its frame (J, 3)."""
    tip: np.ndarray
    """Pose of the wrist in the last joint's frame (4, 4)."""
    lower: np.ndarray
    """Smallest positions (J) [rad]."""
    upper: np.ndarray
    """Largest positions (J) [rad]."""
    velocity: np.ndarray
    """Largest speeds (J) [rad/s]."""

    def wrist_pose(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return T_base_wrist (..., 4, 4) at joint positions (..., J) [rad]."""
        return self.joint_poses(joint_pos)[..., -1, :, :] @ self.tip

    def joint_poses(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return each joint's moving frame in the base (..., J, 4, 4) at joint positions (..., J) [rad]."""
        joint_pos = np.asarray(joint_pos, dtype=float)
        turns = pose(np.zeros(3), quat_exp(joint_pos[..., None] * self.axes))
        matrix, poses = np.eye(4), []
        for j in range(len(self.names)):
            matrix = matrix @ self.frames[j] @ turns[..., j, :, :]
            poses.append(matrix)
        return np.stack(poses, axis=-3)

    def moved(self, kinematic_offsets: np.ndarray) -> "SerialChain":
        """Return the chain with each joint's frame moved by a twist in that frame (J, 6) [m, rad], linear first."""
        return replace(self, frames=self.frames @ se3_exp(np.asarray(kinematic_offsets, dtype=float)))


def serial_chain(urdf_path: Path, wrist_link: str) -> SerialChain:
    """Return the chain from the root link of a URDF to `wrist_link`.

    Raises:
        RobotDescriptionError: the file is damaged, the link is unknown, or a joint on the way is neither revolute nor
            fixed or lacks its limits.
    """
    root = read_urdf(urdf_path)
    parents = parent_joints(root)
    if wrist_link not in named(root, "link"):
        raise RobotDescriptionError(f"URDF {str(urdf_path)!r}: no link {wrist_link!r}")
    joints, link = [], wrist_link
    while link in parents:
        joints.insert(0, parents[link])
        link = end_link(parents[link], "parent")
    frames, axes, limits, names, pending = [], [], [], [], np.eye(4)
    for joint in joints:
        pending = pending @ origin_matrix(joint)
        if joint.get("type") == "fixed":
            continue
        limits.append(_limits(joint))
        frames.append(pending)
        axes.append(_axis(joint))
        names.append(joint.get("name", ""))
        pending = np.eye(4)
    if not names:
        raise RobotDescriptionError(f"URDF {str(urdf_path)!r}: no joint moves {wrist_link!r}")
    lower, upper, velocity = np.array(limits).T
    return SerialChain(tuple(names), np.array(frames), np.array(axes), pending, lower, upper, velocity)


def _axis(joint: ET.Element) -> np.ndarray:
    element = joint.find("axis")
    axis = np.array(parse_numbers("1 0 0" if element is None else element.get("xyz", "1 0 0")))
    return axis / np.linalg.norm(axis)


def _limits(joint: ET.Element) -> tuple[float, float, float]:
    name, limit = joint.get("name"), joint.find("limit")
    if joint.get("type") != "revolute" or limit is None:
        raise RobotDescriptionError(
            f"joint {name!r} is {joint.get('type')!r}; a wrist hangs on revolute ones with limits"
        )
    return float(limit.get("lower", 0.0)), float(limit.get("upper", 0.0)), float(limit.get("velocity", 0.0))
