"""The robot as boxes on its arm's links: how high it is, what it hides from a camera, where it meets itself."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse, quat_exp
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.robot.description import RobotDescription
from r2s2r.robot.urdf import end_link, named, origin_matrix, parent_joints, parse_numbers, read_urdf

BASE = -1
"""Number of the joint that carries what is fixed to the base."""


@dataclass(frozen=True)
class RobotBoxes:
    """B boxes that enclose the robot's collision shapes, the hand held in one posture."""

    chain: SerialChain
    """The arm from its base to the flange."""
    names: tuple[str, ...]
    """Link of each box (B)."""
    joints: np.ndarray
    """Number of the arm joint that carries each box, BASE for none (B)."""
    frames: np.ndarray
    """Pose of each box's middle in that joint's moving frame (B, 4, 4)."""
    half: np.ndarray
    """Half edges (B, 3) [m]."""

    def with_box(self, name: str, frame: np.ndarray, half: np.ndarray) -> "RobotBoxes":
        """Return the robot with one more box on the flange, its pose (4, 4) and half edges (3,) [m] given there."""
        last = len(self.chain.names) - 1
        return replace(
            self,
            names=(*self.names, name),
            joints=np.append(self.joints, last),
            frames=np.concatenate([self.frames, (self.chain.tip @ frame)[None]]),
            half=np.concatenate([self.half, np.asarray(half, dtype=float)[None]]),
        )

    def poses(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return the pose of each box in the base (..., B, 4, 4) at arm joint positions (..., 7) [rad]."""
        moving = self.chain.joint_poses(joint_pos)
        base = np.broadcast_to(np.eye(4), (*moving.shape[:-3], 1, 4, 4))
        return np.concatenate([moving, base], axis=-3)[..., self.joints, :, :] @ self.frames

    def select(self, names: tuple[str, ...]) -> np.ndarray:
        """Return which boxes (B,) bool belong to links that begin with one of `names`."""
        return np.array([name.startswith(names) for name in self.names])


def robot_boxes(description: RobotDescription, hand_joint_pos: np.ndarray) -> RobotBoxes:
    """Return the boxes of the composed robot with its hand joints at `hand_joint_pos` (16) [rad].

    Spheres and cylinders become the boxes around them.

    Raises:
        RobotDescriptionError: the URDF is damaged or lacks a part.
    """
    root = read_urdf(description.urdf_path)
    parents = parent_joints(root)
    held = dict(zip(HAND_JOINTS, np.asarray(hand_joint_pos, dtype=float), strict=True))
    names, joints, frames, halves = [], [], [], []
    for name, link in named(root, "link").items():
        carrier, matrix = _place(name, parents, held)
        for collision in link.findall("collision"):
            half = _half_edges(collision)
            if half is not None:
                names.append(name)
                joints.append(carrier)
                frames.append(matrix @ origin_matrix(collision))
                halves.append(half)
    chain = serial_chain(description.urdf_path, description.flange_link)
    return RobotBoxes(chain, tuple(names), np.array(joints), np.array(frames), np.array(halves))


def lowest(poses: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return the height (..., B) [m] of the lowest corner of boxes at `poses` (..., B, 4, 4)."""
    return poses[..., 2, 3] - np.sum(np.abs(poses[..., 2, :3]) * half, axis=-1)


def hides(poses: np.ndarray, half: np.ndarray, eye: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return which points (P,) bool are hidden from `eye` (3,) by boxes at `poses` (B, 4, 4) with `half` (B, 3).

    Args:
        poses: boxes in any frame.
        half: their half edges [m].
        eye: where the camera is, in that frame [m].
        points: (P, 3) [m].
    """
    inverse = pose_inverse(poses)[:, None]
    start, end = pose_apply(inverse, eye), pose_apply(inverse, points)  # (B, 1, 3), (B, P, 3)
    way = np.where(np.abs(end - start) < 1e-12, 1e-12, end - start)
    first, second = (-half[:, None] - start) / way, (half[:, None] - start) / way
    entry = np.max(np.minimum(first, second), axis=-1)
    leave = np.min(np.maximum(first, second), axis=-1)
    return np.any((entry < leave) & (leave > 0.0) & (entry < 1.0), axis=0)


def overlap(first: np.ndarray, first_half: np.ndarray, second: np.ndarray, second_half: np.ndarray) -> np.ndarray:
    """Return which pairs of boxes (...) bool overlap: no axis separates them (Gottschalk et al., SIGGRAPH 1996).

    Args:
        first: poses (..., 4, 4).
        first_half: half edges (..., 3) [m].
        second: poses (..., 4, 4).
        second_half: half edges (..., 3) [m].
    """
    relative = pose_inverse(first) @ second
    turn, shift = relative[..., :3, :3], relative[..., :3, 3]
    size = np.abs(turn) + 1e-9  # parallel edges give a zero cross product, which separates nothing
    apart = np.any(np.abs(shift) > first_half + (size @ second_half[..., None])[..., 0], axis=-1)
    back = (np.swapaxes(turn, -1, -2) @ shift[..., None])[..., 0]
    reach = (np.swapaxes(size, -1, -2) @ first_half[..., None])[..., 0]
    apart |= np.any(np.abs(back) > second_half + reach, axis=-1)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            distance = np.abs(shift[..., k] * turn[..., j, m] - shift[..., j] * turn[..., k, m])
            mine = first_half[..., j] * size[..., k, m] + first_half[..., k] * size[..., j, m]
            theirs = second_half[..., n] * size[..., i, o] + second_half[..., o] * size[..., i, n]
            apart |= distance > mine + theirs
    return ~apart


def _place(link: str, parents: dict[str, ET.Element], held: dict[str, float]) -> tuple[int, np.ndarray]:
    """Return the arm joint that carries a link, and the link's pose in that joint's moving frame."""
    matrix = np.eye(4)
    while link in parents:
        joint = parents[link]
        name = joint.get("name", "")
        if name in ARM_JOINTS:
            return ARM_JOINTS.index(name), matrix
        turn = pose(np.zeros(3), quat_exp(held.get(name, 0.0) * _axis(joint)))
        matrix = origin_matrix(joint) @ turn @ matrix
        link = end_link(joint, "parent")
    return BASE, matrix


def _axis(joint: ET.Element) -> np.ndarray:
    element = joint.find("axis")
    axis = np.array(parse_numbers("1 0 0" if element is None else element.get("xyz", "1 0 0")))
    return axis / np.linalg.norm(axis)


def _half_edges(collision: ET.Element) -> np.ndarray | None:
    """Return half the edges of the box around a collision shape; None for a shape that is neither (a mesh)."""
    for kind, shape in ((child.tag, child) for geometry in collision.findall("geometry") for child in geometry):
        if kind == "box":
            return 0.5 * np.array(parse_numbers(shape.get("size", "")))
        if kind == "sphere":
            return np.full(3, float(shape.get("radius", "")))
        if kind == "cylinder":
            radius = float(shape.get("radius", ""))
            return np.array([radius, radius, 0.5 * float(shape.get("length", ""))])
    return None
