"""Pixels and their derivatives, for many points at once: what the bundle's Jacobian is made of."""

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.projection import project

_NEAR_AXIS = 1e-9
"""Distance from the axis [of depth] below which a fisheye's angle has no direction."""


def project_with_jacobian(
    camera: FisheyeCamera | PinholeCamera, points_c: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return pixels and how they change.

    Args:
        camera: the lens.
        points_c: (N, 3) in the camera's frame [m].

    Returns:
        Pixels (N, 2); their derivative to the points (N, 2, 3) [px/m]; to the lens (N, 2, n), with n = 8 for a fisheye
        (fx, fy, cx, cy, k1..k4) and 4 for a pinhole; and a mask (N,): inside the lens's domain. Outside, all are zero.
    """
    pixels, valid = project(camera, points_c)
    safe = np.where(valid[:, None], points_c, (0.0, 0.0, 1.0))
    flat, to_point, to_terms = _pinhole(safe) if isinstance(camera, PinholeCamera) else _fisheye(camera, safe)
    focal = np.array([camera.fx, camera.fy])
    to_lens = np.zeros((len(safe), 2, 4))
    to_lens[:, [0, 1], [0, 1]] = flat
    to_lens[:, [0, 1], [2, 3]] = 1.0
    to_lens = np.concatenate([to_lens, focal[:, None] * to_terms], axis=2)
    to_point = focal[:, None] * to_point
    outside = ~valid
    pixels[outside], to_point[outside], to_lens[outside] = 0.0, 0.0, 0.0
    return pixels, to_point, to_lens, valid


def _pinhole(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    flat = points[:, :2] / points[:, 2:]
    to_point = np.zeros((len(points), 2, 3))
    to_point[:, [0, 1], [0, 1]] = 1.0 / points[:, 2:]
    to_point[:, :, 2] = -flat / points[:, 2:]
    return flat, to_point, np.zeros((len(points), 2, 0))


def _fisheye(camera: FisheyeCamera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    across = np.linalg.norm(points[:, :2], axis=1)
    squared = np.sum(points**2, axis=1)
    angle = np.arctan2(across, points[:, 2])
    terms = np.array([camera.k1, camera.k2, camera.k3, camera.k4])
    powers = angle[:, None] ** np.array([3, 5, 7, 9])
    radius = angle + powers @ terms
    slope = 1.0 + (angle[:, None] ** np.array([2, 4, 6, 8])) @ (terms * (3, 5, 7, 9))
    off = across > _NEAR_AXIS * np.abs(points[:, 2])
    # On the axis radius / across tends to 1 / z and the direction drops out.
    safe = np.where(off, across, 1.0)
    direction = np.where(off[:, None], points[:, :2] / safe[:, None], 0.0)
    stretch = np.where(off, radius / safe, 1.0 / np.where(off, 1.0, points[:, 2]))
    flat = points[:, :2] * stretch[:, None]
    to_point = stretch[:, None, None] * np.eye(2, 3)
    # d(stretch)/d(across) at fixed depth and d(stretch)/d(depth): the angle changes by (z, -across) / |p|^2.
    by_across = np.where(off, (slope * points[:, 2] / squared - stretch) / safe, 0.0)
    by_depth = np.where(off, -slope * across / squared / safe, 0.0)
    to_point[:, :, :2] += points[:, :2, None] * (by_across[:, None] * direction)[:, None, :]
    to_point[:, :, 2] = points[:, :2] * by_depth[:, None]
    to_point[~off, :, 2] = 0.0
    return flat, to_point, direction[:, :, None] * powers[:, None, :]
