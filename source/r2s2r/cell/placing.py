"""Where the objects of a trial begin, in the true cell."""

import numpy as np

from r2s2r.cell.draws import matrix
from r2s2r.contracts.transforms import pose, pose_inverse, yaw_quat
from r2s2r.contracts.trials import BeltObject
from r2s2r.contracts.world import CellPoses, World

CLEARANCE = 0.001
"""Height above the belt at which objects start [m]: no contact yet, no drop worth the name."""


def start_pose_b(poses: CellPoses, item: BeltObject) -> np.ndarray:
    """Return T_base_object (4, 4): upright on the true belt, where the trial has it on the belt as planned."""
    planned = World.nominal().poses
    height = planned.belt_pos_b[2] + 0.5 * item.shape.extents[2] + CLEARANCE
    drawn = pose(np.array([item.x, item.y, height]), yaw_quat(item.yaw))
    T_planned_belt = matrix(planned.belt_pos_b, planned.belt_quat_b)
    return matrix(poses.belt_pos_b, poses.belt_quat_b) @ pose_inverse(T_planned_belt) @ drawn
