"""Collision shapes of the hand: exactly, and as balls that fill them, for the distance between fingers.

The distance from a ball to a box changes smoothly with the fingers' joints. That between two boxes, or two capsules
that are nearly parallel, jumps from one corner to another, and a solver zigzags along the ridge.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from r2s2r.contracts.transforms import pose_apply, pose_inverse
from r2s2r.robot.urdf import parse_numbers

BALL_EXCESS_M = 0.004
"""The balls of a box reach this far beyond its faces [m] and so cover its edges. Of an Allegro finger, balls that end
with the faces would leave out 4 mm of the edges; these leave out 3 mm of the corners."""

PALM = -1
"""Number of the joint that carries what is fixed to the palm."""

FINGER_JOINTS = 4
"""Joints of a finger: joints 4 f to 4 f + 3 of HAND_JOINTS are one, from the palm to the tip."""

OUTER_JOINTS = 2
"""So many last joints of a finger carry what can meet the palm; the others hang on it and overlap its shape."""


@dataclass(frozen=True)
class HandShapes:
    """S rounded boxes, one a collision shape, and B balls that fill them."""

    joint: np.ndarray
    """Number of the joint that carries each shape, PALM for none (S)."""
    frames: np.ndarray
    """Pose of each shape's middle in that joint's moving frame (S, 4, 4)."""
    half: np.ndarray
    """Half edges (S, 3) [m]; all zero for a sphere."""
    radius: np.ndarray
    """What is added around the edges (S) [m]; zero for a box."""
    ball_shape: np.ndarray
    """Shape that each ball fills, increasing (B)."""
    ball_centre: np.ndarray
    """Centre of each ball in the frame of its shape (B, 3) [m]."""
    ball_radius: np.ndarray
    """Radius of each ball (B) [m]."""
    pairs: np.ndarray
    """Pairs of shapes (P, 2): the balls of the first are kept away from the second."""
    ball_pairs: np.ndarray
    """The same for each ball: ball, and shape that it is kept away from (D, 2)."""

    @property
    def reach(self) -> np.ndarray:
        """Radius of the ball around each shape and its balls (S) [m]."""
        reach = np.linalg.norm(self.half, axis=-1) + self.radius
        np.maximum.at(reach, self.ball_shape, np.linalg.norm(self.ball_centre, axis=-1) + self.ball_radius)
        return reach

    def distances(self, joint_poses: np.ndarray) -> np.ndarray:
        """Return the distance (..., D) [m] from each ball to the shape that it is kept away from, negative inside.

        Args:
            joint_poses: moving frames of the hand's joints in the palm (..., J, 4, 4).
        """
        palm = np.broadcast_to(np.eye(4), (*joint_poses.shape[:-3], 1, 4, 4))
        poses = np.concatenate([joint_poses, palm], axis=-3)[..., self.joint, :, :] @ self.frames
        centres = pose_apply(poses[..., self.ball_shape, :, :], self.ball_centre)
        ball, shape = self.ball_pairs.T
        local = pose_apply(pose_inverse(poses)[..., shape, :, :], centres[..., ball, :])
        beyond = np.abs(local) - self.half[shape]
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1)
        return outside + np.minimum(beyond.max(axis=-1), 0.0) - self.radius[shape] - self.ball_radius[ball]


def hand_shapes(collisions: Iterable[tuple[int, np.ndarray, ET.Element]]) -> HandShapes:
    """Return boxes, spheres and cylinders as rounded boxes with their balls; meshes are left out.

    Args:
        collisions: of each `<collision>` the joint that carries it, PALM for none, its pose (4, 4) there, and itself.
    """
    kept = [(joint, frame, box) for joint, frame, shape in collisions if (box := _rounded_box(shape)) is not None]
    joint = np.array([joint for joint, _, _ in kept], dtype=int)
    half = np.array([half for _, _, (half, _) in kept]).reshape(-1, 3)
    radius = np.array([radius for _, _, (_, radius) in kept])
    balls = [_balls(*box) for _, _, box in kept]
    pairs = [pair for pair in permutations(range(len(kept)), 2) if _kept_apart(joint, half, *pair)]
    ball_shape = np.repeat(np.arange(len(kept)), [len(centres) for centres, _ in balls])
    ball_pairs = [(ball, other) for shape, other in pairs for ball in np.flatnonzero(ball_shape == shape)]
    return HandShapes(
        joint=joint,
        frames=np.array([frame for _, frame, _ in kept]).reshape(-1, 4, 4),
        half=half,
        radius=radius,
        ball_shape=ball_shape,
        ball_centre=np.concatenate([np.zeros((0, 3)), *(centres for centres, _ in balls)]),
        ball_radius=np.concatenate([np.zeros(0), *(np.full(len(centres), size) for centres, size in balls)]),
        pairs=np.array(pairs, dtype=int).reshape(-1, 2),
        ball_pairs=np.array(ball_pairs, dtype=int).reshape(-1, 2),
    )


def _kept_apart(joint: np.ndarray, half: np.ndarray, one: int, other: int) -> bool:
    """Return whether the balls of shape `one` are kept away from shape `other`."""
    if joint[one] == PALM or joint[one] // FINGER_JOINTS == joint[other] // FINGER_JOINTS:
        return False
    if joint[other] == PALM:
        return joint[one] % FINGER_JOINTS >= FINGER_JOINTS - OUTER_JOINTS
    # Between two spheres both ways are the same distance.
    return one < other or bool(half[one].any() or half[other].any())


def _rounded_box(collision: ET.Element) -> tuple[np.ndarray, float] | None:
    """Return half edges (3,) and radius of a collision shape; None for a mesh."""
    for kind, shape in ((child.tag, child) for geometry in collision.findall("geometry") for child in geometry):
        if kind == "box":
            return 0.5 * np.array(parse_numbers(shape.get("size", ""))), 0.0
        if kind == "sphere":
            return np.zeros(3), float(shape.get("radius", ""))
        if kind == "cylinder":
            return np.array([0.0, 0.0, 0.5 * float(shape.get("length", ""))]), float(shape.get("radius", ""))
    return None


def _balls(half: np.ndarray, radius: float) -> tuple[np.ndarray, float]:
    """Return the centres (B, 3) and the radius of balls that fill a rounded box, no further apart than their radius."""
    outer = half + radius + (BALL_EXCESS_M if half.any() else 0.0)
    size = float(outer.min())
    rows = [np.linspace(-way, way, 1 + int(np.ceil(2.0 * way / size))) for way in outer - size]
    return np.stack(np.meshgrid(*rows, indexing="ij"), axis=-1).reshape(-1, 3), size
