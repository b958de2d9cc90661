"""Points to pixels and back. Every result comes with a mask: nothing outside a lens's domain is clipped in silence."""

import math

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera

_NEWTON_STEPS = 20
"""Newton's method on a monotonic polynomial doubles its digits each step; 20 are more than any lens needs."""


def project(camera: FisheyeCamera | PinholeCamera, points_c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels of points in the camera's optical frame.

    Args:
        camera: the lens.
        points_c: (..., 3) [m].

    Returns:
        Pixels (..., 2), and a mask (...) bool: the point lies inside the lens's domain (for a pinhole in front of it,
        for a fisheye within `usable_angle`). It says nothing about the picture's borders. Pixels outside are computed
        where the formula allows it and NaN elsewhere.
    """
    points = np.asarray(points_c, dtype=float)
    if isinstance(camera, PinholeCamera):
        with np.errstate(divide="ignore", invalid="ignore"):
            flat = points[..., :2] / points[..., 2:]
        valid = points[..., 2] > 0.0
        flat = np.where(valid[..., None], flat, np.nan)
    else:
        across = np.linalg.norm(points[..., :2], axis=-1)
        angle = np.arctan2(across, points[..., 2])
        scale = np.divide(_radius(camera, angle), across, out=np.ones_like(angle), where=across > 1e-12)
        # On the axis r / across tends to 1 / z; behind the camera, and at its centre, there is no picture.
        on_axis = across <= 1e-12
        behind = on_axis & (points[..., 2] <= 0.0)
        scale = np.where(on_axis & ~behind, 1.0 / np.where(points[..., 2] > 0.0, points[..., 2], 1.0), scale)
        flat = points[..., :2] * scale[..., None]
        valid = (angle <= usable_angle(camera)) & ~behind
        flat = np.where(behind[..., None], np.nan, flat)
    return flat * (camera.fx, camera.fy) + (camera.cx, camera.cy), valid


def unproject(camera: FisheyeCamera | PinholeCamera, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return unit rays in the camera's optical frame.

    Args:
        camera: the lens.
        pixels: (..., 2).

    Returns:
        Rays (..., 3), and a mask (...) bool: the ray lies within the lens's domain. Rays outside are NaN.
    """
    flat = (np.asarray(pixels, dtype=float) - (camera.cx, camera.cy)) / (camera.fx, camera.fy)
    if isinstance(camera, PinholeCamera):
        rays = np.concatenate([flat, np.ones_like(flat[..., :1])], axis=-1)
        return rays / np.linalg.norm(rays, axis=-1, keepdims=True), np.asarray(np.isfinite(flat).all(axis=-1))
    radius, limit = np.linalg.norm(flat, axis=-1), usable_angle(camera)
    valid = radius <= _radius(camera, np.array(limit)) * (1.0 + 1e-12)
    angle = np.clip(radius, 0.0, limit)
    for _ in range(_NEWTON_STEPS):
        slope = np.maximum(_slope(camera, angle), 1e-9)
        angle = np.clip(angle - (_radius(camera, angle) - radius) / slope, 0.0, limit)
    direction = np.divide(flat, radius[..., None], out=np.zeros_like(flat), where=radius[..., None] > 1e-12)
    rays = np.concatenate([direction * np.sin(angle)[..., None], np.cos(angle)[..., None]], axis=-1)
    return np.where(valid[..., None], rays, np.nan), valid


def usable_angle(camera: FisheyeCamera) -> float:
    """Return up to which angle from the axis [rad] the lens can be inverted: `max_angle`, or where its radius turns."""
    squares = np.roots([9 * camera.k4, 7 * camera.k3, 5 * camera.k2, 3 * camera.k1, 1.0])
    real = squares.real[(np.abs(squares.imag) < 1e-9) & (squares.real > 0.0)]
    turn = math.sqrt(real.min()) if len(real) else math.pi
    return min(camera.max_angle, turn)


def _radius(camera: FisheyeCamera, angle: np.ndarray) -> np.ndarray:
    square = angle**2
    polynomial = camera.k1 + square * (camera.k2 + square * (camera.k3 + square * camera.k4))
    return angle * (1.0 + square * polynomial)


def _slope(camera: FisheyeCamera, angle: np.ndarray) -> np.ndarray:
    square = angle**2
    polynomial = 3 * camera.k1 + square * (5 * camera.k2 + square * (7 * camera.k3 + square * 9 * camera.k4))
    return 1.0 + square * polynomial
