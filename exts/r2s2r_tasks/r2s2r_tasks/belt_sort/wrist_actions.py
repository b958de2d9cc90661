"""Actions from wrist poses."""

import torch
from isaaclab.utils.math import matrix_from_quat


def wrist_actions(wrist_pose_b: torch.Tensor, hand_joint_pos: torch.Tensor) -> torch.Tensor:
    """Return the actions (N, 25) whose targets are wrist poses (N, 7) in the base and hand joints (N, 16) [rad]."""
    rotation = matrix_from_quat(wrist_pose_b[:, 3:])
    return torch.cat((wrist_pose_b[:, :3], rotation[:, :, 0], rotation[:, :, 1], hand_joint_pos), dim=-1)
