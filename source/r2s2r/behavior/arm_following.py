"""Arm joints that follow a wrist path, by the arm control of the ungrounded world."""

import numpy as np
import warp as wp

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.errors import RetargetingError
from r2s2r.contracts.transforms import matrix_from_quat, rot6d_from_matrix
from r2s2r.control.damped_least_squares import DampedLeastSquares, DampedLeastSquaresCfg
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.ready import READY_ARM

SETTLING_STEPS = 200
"""Calls of the controller that bring the arm from the ready pose to the first pose of the path."""


def follow_wrist(
    wrist_pos_b: np.ndarray,
    wrist_quat_b: np.ndarray,
    rate_hz: float = POLICY_RATE_HZ,
    description: RobotDescription | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return arm joints (T, 7) [rad] that follow wrist poses, and the position left over in each frame (T,) [m].

    Args:
        wrist_pos_b: positions (T, 3) [m].
        wrist_quat_b: orientations (T, 4) xyzw.
        rate_hz: frames a second; joint speeds stay within their limits.
        description: the robot; None for the default one.

    Raises:
        RetargetingError: a pose is not finite.
    """
    targets = np.hstack([wrist_pos_b, rot6d_from_matrix(matrix_from_quat(wrist_quat_b))]).astype(np.float32)
    if not np.isfinite(targets).all():
        frame = int(np.argwhere(~np.isfinite(targets))[0, 0])
        raise RetargetingError(f"wrist path: the pose is not finite at frame {frame}")
    description = description or compose()
    chain = serial_chain(description.urdf_path, description.wrist_link)
    controller = DampedLeastSquares(chain, 1, cfg=DampedLeastSquaresCfg(rate_hz=rate_hz))
    joint_pos = wp.array([READY_ARM], dtype=wp.float32, device="cpu")
    left_over, followed = np.empty(len(targets)), np.empty((len(targets), len(READY_ARM)))
    for frame in np.r_[np.zeros(SETTLING_STEPS, dtype=int), np.arange(len(targets))]:
        controller.solve(wp.array(targets[frame : frame + 1], dtype=wp.float32, device="cpu"), joint_pos)
        followed[frame] = joint_pos.numpy()[0]
        left_over[frame] = controller.error.numpy()[0, 0]
    return followed, left_over
