"""Rotations and poses as the stages hand them on: NumPy, double precision, batched over leading dimensions.

Quaternions are (..., 4) in the order x, y, z, w; poses are (..., 4, 4) matrices `T_a_b`, the pose of b in a, so that
`p_a = T_a_b @ p_b`; twists are (..., 6), linear part first. The formulas are those of Sola et al., "A micro Lie theory
for state estimation in robotics" (arXiv 1812.01537), quoted below by equation.
"""

import numpy as np

from r2s2r.contracts.errors import ConfigError

SMALL_ANGLE = 1e-4
"""Below this angle [rad] series replace quotients of vanishing numbers; what is left out is below 1e-17."""


def quat_normalise(quat: np.ndarray) -> np.ndarray:
    """Return `quat` (..., 4) with length one.

    Raises:
        ConfigError: a quaternion is zero or not finite.
    """
    quat = np.asarray(quat, dtype=float)
    length = np.linalg.norm(quat, axis=-1, keepdims=True)
    if not (np.isfinite(length) & (length > 0.0)).all():
        raise ConfigError("quaternion of zero length or not finite")
    return quat / length


def quat_conjugate(quat: np.ndarray) -> np.ndarray:
    """Return the inverse of unit quaternions (..., 4)."""
    return np.asarray(quat, dtype=float) * np.array([-1.0, -1.0, -1.0, 1.0])


def quat_multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return `left` (..., 4) after `right` (..., 4): q_a_c = q_a_b q_b_c."""
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    u, a, v, b = left[..., :3], left[..., 3:], right[..., :3], right[..., 3:]
    vector = a * v + b * u + np.cross(u, v)
    scalar = a * b - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def quat_rotate(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return `vector` (..., 3) turned by unit quaternions (..., 4)."""
    quat, vector = np.asarray(quat, dtype=float), np.asarray(vector, dtype=float)
    twice = 2.0 * np.cross(quat[..., :3], vector)
    return vector + quat[..., 3:] * twice + np.cross(quat[..., :3], twice)


def quat_angle(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the angle (...) [rad] in 0..pi between two rotations (..., 4), whatever the quaternions' signs."""
    relative = quat_multiply(quat_conjugate(first), second)
    return 2.0 * np.arctan2(np.linalg.norm(relative[..., :3], axis=-1), np.abs(relative[..., 3]))


def quat_slerp(first: np.ndarray, second: np.ndarray, fraction: np.ndarray | float) -> np.ndarray:
    """Return the rotation at `fraction` (...) of the shorter way from `first` to `second` (..., 4)."""
    step = quat_log(quat_multiply(quat_conjugate(first), second))
    return quat_multiply(first, quat_exp(np.asarray(fraction, dtype=float)[..., None] * step))


def yaw_quat(yaw: np.ndarray | float) -> np.ndarray:
    """Return the turn by `yaw` (...) [rad] about z (..., 4)."""
    half = 0.5 * np.asarray(yaw, dtype=float)
    return np.stack([np.zeros_like(half), np.zeros_like(half), np.sin(half), np.cos(half)], axis=-1)


def quat_exp(rotvec: np.ndarray) -> np.ndarray:
    """Return the quaternion (..., 4) of a rotation vector (..., 3) [rad] (eq. 101)."""
    rotvec = np.asarray(rotvec, dtype=float)
    half = 0.5 * np.linalg.norm(rotvec, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * rotvec, np.cos(half)], axis=-1)


def quat_log(quat: np.ndarray) -> np.ndarray:
    """Return the rotation vector (..., 3) [rad] of unit quaternions (..., 4), its length in 0..pi (eq. 103-105)."""
    quat = np.asarray(quat, dtype=float)
    quat = np.where(quat[..., 3:] < 0.0, -quat, quat)
    sine = np.linalg.norm(quat[..., :3], axis=-1, keepdims=True)
    cosine = quat[..., 3:]
    small = sine < SMALL_ANGLE
    safe = np.where(small, 1.0, sine)
    near_zero = 2.0 / np.where(small, cosine, 1.0) * (1.0 - sine**2 / (3.0 * np.where(small, cosine, 1.0) ** 2))
    return quat[..., :3] * np.where(small, near_zero, 2.0 * np.arctan2(safe, cosine) / safe)


def matrix_from_quat(quat: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    columns = [quat_rotate(quat, axis) for axis in np.eye(3)]
    return np.stack(columns, axis=-1)


def quat_from_matrix(matrix: np.ndarray) -> np.ndarray:
    """Return unit quaternions (..., 4) with w >= 0 of rotation matrices (..., 3, 3).

    The largest of the four components is taken from the diagonal and the others are divided by it (Shepperd 1978),
    which loses no digits near half turns.
    """
    m = np.asarray(matrix, dtype=float)
    trace = np.trace(m, axis1=-2, axis2=-1)[..., None]
    diagonal = np.diagonal(m, axis1=-2, axis2=-1)
    # Row i of the symmetric matrix 4 q q^T; any row is proportional to q, the one with the largest diagonal is safest.
    outer = np.empty((*m.shape[:-2], 4, 4))
    for i in range(3):
        for j in range(3):
            outer[..., i, j] = m[..., i, j] + m[..., j, i]
        outer[..., i, i] = 1.0 + 2.0 * diagonal[..., i] - trace[..., 0]
        k, n = (i + 1) % 3, (i + 2) % 3
        outer[..., i, 3] = outer[..., 3, i] = m[..., n, k] - m[..., k, n]
    outer[..., 3, 3] = 1.0 + trace[..., 0]
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    quat = quat_normalise(np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :])
    return np.where(quat[..., 3:] < 0.0, -quat, quat)


def rot6d_from_matrix(matrix: np.ndarray) -> np.ndarray:
    """Return the columns x and y of rotation matrices (..., 3, 3), one after the other (..., 6)."""
    matrix = np.asarray(matrix, dtype=float)
    return np.concatenate([matrix[..., :, 0], matrix[..., :, 1]], axis=-1)


def matrix_from_rot6d(rot6d: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) of six numbers (..., 6) by Gram-Schmidt (Zhou et al., CVPR 2019, eq. 15).

    Raises:
        ConfigError: the two columns are parallel, zero or not finite.
    """
    rot6d = np.asarray(rot6d, dtype=float)
    x = _unit(rot6d[..., :3])
    y = rot6d[..., 3:]
    y = _unit(y - np.sum(x * y, axis=-1, keepdims=True) * x)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def so3_exp(rotvec: np.ndarray) -> np.ndarray:
    """Return rotation matrices (..., 3, 3) of rotation vectors (..., 3) [rad]."""
    return matrix_from_quat(quat_exp(rotvec))


def so3_log(matrix: np.ndarray) -> np.ndarray:
    """Return rotation vectors (..., 3) [rad] of rotation matrices (..., 3, 3), exact up to half turns."""
    return quat_log(quat_from_matrix(matrix))


def pose(pos: np.ndarray, quat: np.ndarray) -> np.ndarray:
    """Return poses (..., 4, 4) of positions (..., 3) [m] and unit quaternions (..., 4)."""
    return _assemble(matrix_from_quat(quat), pos)


def pose_inverse(matrix: np.ndarray) -> np.ndarray:
    """Return T_b_a (..., 4, 4) of T_a_b (..., 4, 4)."""
    matrix = np.asarray(matrix, dtype=float)
    back = np.swapaxes(matrix[..., :3, :3], -1, -2)
    return _assemble(back, -(back @ matrix[..., :3, 3:])[..., 0])


def pose_apply(matrix: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return points (..., 3) given in b, in a: T_a_b (..., 4, 4) applied."""
    matrix, point = np.asarray(matrix, dtype=float), np.asarray(point, dtype=float)
    return (matrix[..., :3, :3] @ point[..., None])[..., 0] + matrix[..., :3, 3]


def se3_exp(twist: np.ndarray) -> np.ndarray:
    """Return poses (..., 4, 4) of twists (..., 6), linear part first [m, rad] (eq. 172)."""
    twist = np.asarray(twist, dtype=float)
    linear = so3_left_jacobian(twist[..., 3:]) @ twist[..., :3, None]
    return _assemble(so3_exp(twist[..., 3:]), linear[..., 0])


def se3_log(matrix: np.ndarray) -> np.ndarray:
    """Return twists (..., 6), linear part first [m, rad], of poses (..., 4, 4) (eq. 173)."""
    matrix = np.asarray(matrix, dtype=float)
    rotvec = so3_log(matrix[..., :3, :3])
    linear = so3_left_jacobian_inverse(rotvec) @ matrix[..., :3, 3:]
    return np.concatenate([linear[..., 0], rotvec], axis=-1)


def so3_left_jacobian(rotvec: np.ndarray) -> np.ndarray:
    """Return J (..., 3, 3) with exp(r + d) = exp(J d) exp(r) to first order in d (eq. 145)."""
    rotvec = np.asarray(rotvec, dtype=float)
    angle = np.linalg.norm(rotvec, axis=-1)[..., None, None]
    small = angle < SMALL_ANGLE
    safe = np.where(small, 1.0, angle)
    once = np.where(small, 0.5 - angle**2 / 24.0, 0.5 * np.sinc(safe / (2.0 * np.pi)) ** 2)
    # (a - sin a) / a^3 loses digits like 1e-16 / a^2 just above the switch, which the factor a^2 of skew^2 undoes.
    twice = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (safe - np.sin(safe)) / safe**3)
    skew = skew_matrix(rotvec)
    return np.eye(3) + once * skew + twice * skew @ skew


def so3_left_jacobian_inverse(rotvec: np.ndarray) -> np.ndarray:
    """Return the inverse (..., 3, 3) of :func:`so3_left_jacobian`, for angles below a full turn (eq. 146)."""
    rotvec = np.asarray(rotvec, dtype=float)
    angle = np.linalg.norm(rotvec, axis=-1)[..., None, None]
    small = angle < SMALL_ANGLE
    half = 0.5 * np.where(small, 1.0, angle)
    # 1/a^2 - (1 + cos a) / (2 a sin a), written with the half angle so that it stays finite at a = pi.
    twice = np.where(small, 1.0 / 12.0 + angle**2 / 720.0, (1.0 - half * np.cos(half) / np.sin(half)) / (4.0 * half**2))
    skew = skew_matrix(rotvec)
    return np.eye(3) - 0.5 * skew + twice * skew @ skew


def skew_matrix(vector: np.ndarray) -> np.ndarray:
    """Return [v]x (..., 3, 3) with [v]x u = v x u of vectors (..., 3)."""
    x, y, z = np.moveaxis(np.asarray(vector, dtype=float), -1, 0)
    zero = np.zeros_like(x)
    rows = [np.stack(row, axis=-1) for row in ((zero, -z, y), (z, zero, -x), (-y, x, zero))]
    return np.stack(rows, axis=-2)


def _assemble(rotation: np.ndarray, pos: np.ndarray) -> np.ndarray:
    pos = np.asarray(pos, dtype=float)
    lead = np.broadcast_shapes(rotation.shape[:-2], pos.shape[:-1])
    matrix = np.zeros((*lead, 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = rotation, pos, 1.0
    return matrix


def _unit(vector: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    if not (np.isfinite(length) & (length > 1e-9)).all():
        raise ConfigError("rotation of six numbers: its columns are parallel, zero or not finite")
    return vector / length
