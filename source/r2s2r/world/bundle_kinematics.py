"""Flange poses of many exposures, and how joints and their frames move the flange."""

import numpy as np

from r2s2r.contracts.transforms import pose, quat_exp, se3_exp, skew_matrix
from r2s2r.control.kinematics import SerialChain


def flange_motion(chain: SerialChain, offsets: np.ndarray, joint_pos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the flange is and how it moves.

    Args:
        chain: nominal chain from the base to the flange.
        offsets: kinematic offsets (7, 6) [m, rad].
        joint_pos: (E, 7) [rad].

    Returns:
        T_b_flange (E, 4, 4), and twists of the flange in the base's frame, about the base's origin (E, 6, 43): per unit
        of the 36 offsets of joints 2 to 7, then of the 7 joint positions.
    """
    count, joints = joint_pos.shape
    frames = chain.frames @ se3_exp(offsets)
    twists = np.zeros((count, 6, 6 * (joints - 1) + joints))
    matrix = np.broadcast_to(np.eye(4), (count, 4, 4))
    for j in range(joints):
        matrix = matrix @ frames[j]
        adjoint = _adjoint(matrix)
        if j > 0:
            # exp(o + d) = exp(o) exp(J d) with J = 1 - ad(o) / 2 to first order in the tiny o.
            twists[:, :, 6 * (j - 1) : 6 * j] = adjoint @ (np.eye(6) - 0.5 * _small_adjoint(offsets[j]))
        twists[:, :, 6 * (joints - 1) + j] = adjoint[:, :, 3:] @ chain.axes[j]
        matrix = matrix @ pose(np.zeros(3), quat_exp(joint_pos[:, j : j + 1] * chain.axes[j]))
    return matrix @ chain.tip, twists


def _adjoint(matrix: np.ndarray) -> np.ndarray:
    """Return the adjoint (..., 6, 6) of poses (..., 4, 4), linear part first (Sola et al.)."""
    rotation = matrix[..., :3, :3]
    adjoint = np.zeros((*matrix.shape[:-2], 6, 6))
    adjoint[..., :3, :3] = adjoint[..., 3:, 3:] = rotation
    adjoint[..., :3, 3:] = skew_matrix(matrix[..., :3, 3]) @ rotation
    return adjoint


def _small_adjoint(twist: np.ndarray) -> np.ndarray:
    small = np.zeros((6, 6))
    small[:3, :3] = small[3:, 3:] = skew_matrix(twist[3:])
    small[:3, 3:] = skew_matrix(twist[:3])
    return small
