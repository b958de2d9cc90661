"""Where the adjustment of a lens starts: OpenCV's calibration, and poses of views as a trial lens sees them."""

from dataclasses import replace

import cv2
import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera
from r2s2r.contracts.errors import ConfigError, GroundingError
from r2s2r.contracts.projection import unproject
from r2s2r.world.lens_adjustment import View
from r2s2r.world.parameters import LENS


def opencv_start(views: list[View], guess: FisheyeCamera) -> FisheyeCamera | None:
    """Return OpenCV's fisheye calibration, None where it aborts or gives numbers that are no lens."""
    matrix = np.array([[guess.fx, 0.0, guess.cx], [0.0, guess.fy, guess.cy], [0.0, 0.0, 1.0]])
    flags = cv2.fisheye.CALIB_FIX_SKEW | cv2.fisheye.CALIB_RECOMPUTE_EXTRINSIC | cv2.fisheye.CALIB_USE_INTRINSIC_GUESS
    try:
        _, matrix, terms, _, _ = cv2.fisheye.calibrate(
            [view.points.reshape(-1, 1, 3) for view in views],
            [view.pixels.reshape(-1, 1, 2) for view in views],
            (guess.width, guess.height),
            matrix,
            np.array([guess.k1, guess.k2, guess.k3, guess.k4]),
            flags=flags,
        )
        values = [matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2], *terms.ravel()]
        return replace(guess, **dict(zip(LENS, map(float, values), strict=True)))
    except (cv2.error, ConfigError):
        return None


def start_pose(camera: FisheyeCamera, view: View, number: int) -> np.ndarray:
    """Return T_cam_object (4, 4) of one view as seen through a trial lens.

    Points are seen in the direction of their mean, where a plane before the camera takes all of them.
    """
    rays, inside = unproject(camera, view.pixels)
    if inside.sum() < 6:
        raise GroundingError(f"lens: view {number}: {int(inside.sum())} of its points lie in the start lens's domain")
    middle = rays[inside].mean(axis=0)
    turn = _turn_to(middle / np.linalg.norm(middle))
    turned = rays[inside] @ turn
    flat = turned[:, :2] / np.maximum(turned[:, 2:], 0.05)
    _, rotations, shifts, _ = cv2.solvePnPGeneric(view.points[inside], flat, np.eye(3), None, flags=cv2.SOLVEPNP_IPPE)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = turn @ cv2.Rodrigues(rotations[0])[0], turn @ shifts[0].ravel()
    for name, values in (("orientation", T[:3, :3]), ("position", T[:3, 3])):
        if not np.isfinite(values).all():
            raise GroundingError(f"lens: view {number}: the start value of its {name} is not finite")
    return T


def _turn_to(direction: np.ndarray) -> np.ndarray:
    """Return a rotation (3, 3) whose z axis is `direction`."""
    side = np.eye(3)[int(np.argmin(np.abs(direction)))]
    x = np.cross(side, direction)
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(direction, x), direction], axis=1)
