"""Kernels of the posture objective: B evaluation rows, J joints."""

import warp as wp


@wp.kernel
def posture_residuals(
    joint_q: wp.array2d(dtype=wp.float32),  # (B, J)
    posture: wp.array2d(dtype=wp.float32),  # (problems, J)
    problem_idx: wp.array(dtype=wp.int32),  # (B)
    weight: float,
    start_idx: int,
    # outputs
    residuals: wp.array2d(dtype=wp.float32),  # (B, rows)
):
    row, joint = wp.tid()
    residuals[row, start_idx + joint] = weight * (joint_q[row, joint] - posture[problem_idx[row], joint])


@wp.kernel
def posture_jacobian(
    weight: float,
    start_idx: int,
    # outputs
    jacobian: wp.array3d(dtype=wp.float32),  # (B, rows, J)
):
    row, joint = wp.tid()
    jacobian[row, start_idx + joint, joint] = weight
