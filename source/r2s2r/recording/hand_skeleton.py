"""The keypoints of a robot hand at given joint positions: from a hand with encoders to one with keypoints."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.transforms import pose, quat_exp, quat_multiply, yaw_quat
from r2s2r.recording.hand_recording import KEYPOINTS

ROOT = ""
"""Name of the frame that the first joints hang on."""


@dataclass(frozen=True)
class Hinge:
    """A revolute joint of a hand."""

    name: str
    """Its name."""

    parent: str
    """The joint before it, or :data:`ROOT`."""

    pos: tuple[float, float, float]
    """Where it is in the moving frame of the joint before it [m]."""

    axis: tuple[float, float, float]
    """What it turns about, in its own frame; made a unit vector."""

    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """How its frame at position 0 is turned in that of the joint before it, roll-pitch-yaw as URDF defines it [rad]."""

    @property
    def placed(self) -> np.ndarray:
        """Its frame at position 0 in that of the joint before it (4, 4)."""
        roll, pitch, yaw = self.rpy
        turn = quat_multiply(quat_exp(np.array([0.0, pitch, 0.0])), quat_exp(np.array([roll, 0.0, 0.0])))
        return pose(np.array(self.pos), quat_multiply(yaw_quat(yaw), turn))


@dataclass(frozen=True)
class HandSkeleton:
    """J hinges, each after the one that it hangs on, and where keypoints lie."""

    hinges: tuple[Hinge, ...]
    """In the order of the joint positions (J)."""

    keypoints: dict[str, tuple[str, tuple[float, float, float]]]
    """By name (of :data:`r2s2r.recording.hand_recording.KEYPOINTS`): the hinge in whose moving frame it lies, and where
    [m]."""

    def __post_init__(self):
        seen = {ROOT}
        for hinge in self.hinges:
            if hinge.parent not in seen or hinge.name in seen:
                raise ValueError(f"hinge {hinge.name!r} on {hinge.parent!r}: each is named once, after its parent")
            seen.add(hinge.name)
        unknown = [k for k, (hinge, _) in self.keypoints.items() if k not in KEYPOINTS or hinge not in seen]
        if unknown:
            raise ValueError(f"keypoints {unknown}: not a keypoint, or on no hinge")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the joints (J)."""
        return tuple(hinge.name for hinge in self.hinges)

    def keypoints_r(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return keypoints (T, 21, 3) in the root's frame at joint positions (T, J) [rad]; NaN where there is none."""
        frames = {ROOT: np.tile(np.eye(4), (len(joint_pos), 1, 1))}
        for j, hinge in enumerate(self.hinges):
            axis = np.array(hinge.axis) / np.linalg.norm(hinge.axis)
            turn = pose(np.zeros(3), quat_exp(joint_pos[:, j, None] * axis))
            frames[hinge.name] = frames[hinge.parent] @ hinge.placed @ turn
        points = np.full((len(joint_pos), len(KEYPOINTS), 3), np.nan)
        for keypoint, (hinge, offset) in self.keypoints.items():
            frame = frames[hinge]
            points[:, KEYPOINTS.index(keypoint)] = frame[:, :3, :3] @ np.array(offset) + frame[:, :3, 3]
        return points
