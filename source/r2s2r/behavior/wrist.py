"""The human wrist's path placed in front of the robot."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError, RetargetingError
from r2s2r.contracts.transforms import quat_multiply, quat_rotate, yaw_quat
from r2s2r.recording.hand_recording import HandRecording

STILL_M = 1e-6
"""A wrist that stays within this while the fingers move was not measured [m]."""

FINGERS_MOVE_M = 0.02
"""Fingertip motion relative to the wrist that proves a moving hand [m]."""


@dataclass(frozen=True)
class Workspace:
    """Box in the robot base that the wrist's path must fit into.

    Raises:
        ConfigError: a corner is not three finite numbers, or the box is empty.
    """

    lower_b: tuple[float, float, float] = (0.33, -0.25, 0.25)
    """Corner with the smallest coordinates [m]; the default box lies over the belt, within easy reach."""

    upper_b: tuple[float, float, float] = (0.55, 0.25, 0.50)
    """Corner with the largest coordinates [m]."""

    def __post_init__(self):
        corners = np.array([self.lower_b, self.upper_b], dtype=float)
        if corners.shape != (2, 3) or not np.isfinite(corners).all() or not (corners[0] < corners[1]).all():
            raise ConfigError(f"workspace: received {self.lower_b} to {self.upper_b}; lower must lie below upper")


@dataclass(frozen=True)
class RetargetedWrist:
    """Wrist poses in the robot base, and how the source's world was laid into it: p_b = scale R(yaw) p + offset."""

    wrist_pos_b: np.ndarray
    """(T, 3) [m]."""

    wrist_quat_b: np.ndarray
    """(T, 4) xyzw."""

    yaw: float
    """Turn of the source's world about the vertical [rad]."""

    scale: float
    """1 where the path fits as it is, below 1 where it was shrunk."""

    offset_b: np.ndarray
    """(3,) origin of the source's world in the base [m]."""

    def place(self, points: np.ndarray) -> np.ndarray:
        """Return points (..., 3) of the source's world in the robot base."""
        return self.scale * quat_rotate(yaw_quat(self.yaw), points) + self.offset_b


def retarget_wrist(recording: HandRecording, workspace: Workspace | None = None) -> RetargetedWrist:
    """Return the wrist's path in the workspace: up stays up, the hand's mean direction becomes the robot's forward.

    The path is centred in the box and shrunk only if it does not fit. Orientations are turned with it and kept.

    Raises:
        RetargetingError: the source is hand-local: it has no wrist motion while the fingers move.
    """
    workspace = workspace or Workspace()
    if recording.wrist_pos is None or recording.wrist_quat is None:
        raise RetargetingError(f"{recording.source}: hand-local source without wrist motion; use its fingers alone")
    _check_moves(recording, recording.wrist_pos)
    forward = quat_rotate(recording.wrist_quat, np.array([0.0, 0.0, 1.0])).mean(axis=0)
    yaw = float(-np.arctan2(forward[1], forward[0]))
    turned = quat_rotate(yaw_quat(yaw), recording.wrist_pos)
    low, high = turned.min(axis=0), turned.max(axis=0)
    lower, upper = np.array(workspace.lower_b), np.array(workspace.upper_b)
    scale = float(min(1.0, ((upper - lower) / np.maximum(high - low, 1e-9)).min()))
    offset = 0.5 * (lower + upper) - scale * 0.5 * (low + high)
    quat = quat_multiply(yaw_quat(yaw), recording.wrist_quat)
    return RetargetedWrist(scale * turned + offset, quat, yaw, scale, offset)


def _check_moves(recording: HandRecording, wrist_pos: np.ndarray) -> None:
    if np.ptp(wrist_pos, axis=0).max() > STILL_M:
        return
    tips = recording.keypoints_m[:, (4, 8, 12, 16, 20)]
    if np.nanmax(np.nanmax(tips, axis=0) - np.nanmin(tips, axis=0)) > FINGERS_MOVE_M:
        raise RetargetingError(
            f"{recording.source}: hand-local source, the wrist never moves while the fingers do; "
            "retarget its fingers alone"
        )
