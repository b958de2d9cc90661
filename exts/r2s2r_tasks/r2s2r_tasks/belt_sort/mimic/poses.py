"""Between this task's actions and the 4x4 poses that Mimic computes with."""

import torch
from isaaclab.utils.math import make_pose, matrix_from_quat

from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_POS, WRIST_ROT6D


def pose_matrix(pose: torch.Tensor) -> torch.Tensor:
    """Return (..., 4, 4) of poses (..., 7): position [m], quaternion xyzw."""
    return make_pose(pose[..., :3], matrix_from_quat(pose[..., 3:7]))


def action_from_pose(wrist_pose_b: torch.Tensor, hand_joint_pos: torch.Tensor) -> torch.Tensor:
    """Return actions (..., 25) of wrist poses (..., 4, 4) and hand joint targets (..., 16) [rad]."""
    x, y, pos = (wrist_pose_b[..., :3, column] for column in (0, 1, 3))
    return torch.cat((pos, x, y, hand_joint_pos), dim=-1)


def pose_from_action(actions: torch.Tensor) -> torch.Tensor:
    """Return the wrist poses (..., 4, 4) that actions (..., 25) command; their rot6d belongs to a rotation."""
    x, y = actions[..., WRIST_ROT6D].unflatten(-1, (2, 3)).unbind(-2)
    return make_pose(actions[..., WRIST_POS], torch.stack((x, y, torch.linalg.cross(x, y)), dim=-1))


def hand_from_action(actions: torch.Tensor) -> torch.Tensor:
    """Return the hand joint targets (..., 16) [rad] of actions (..., 25)."""
    return actions[..., HAND_JOINT_POS]
