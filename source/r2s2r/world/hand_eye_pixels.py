"""Hand-eye calibration judged in the picture, where it is measured: a pose hides how sure each direction is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import least_squares

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.errors import ConfigError, GroundingError
from r2s2r.contracts.projection import project
from r2s2r.contracts.transforms import pose_inverse
from r2s2r.world.hand_eye import HandEye, as_poses
from r2s2r.world.hand_eye_problem import HandEyeState
from r2s2r.world.uncertainty import sandwich

_LOST_PX = 100.0
"""Residual [px] of a point that the camera cannot see from where a guess puts it."""

_NOISE_PX = 1.0
"""Residual [px] above which a point loses weight: robots of a millimetre and half a metre away."""


@dataclass(frozen=True)
class PixelHandEye:
    """A camera on the hand, fitted to pixels."""

    camera: np.ndarray
    """T_hand_cam (4, 4)."""
    target: np.ndarray
    """T_base_target (4, 4)."""
    scale: float
    """True size of the target over the assumed one."""
    pos_half_width: np.ndarray
    """(3,) 95 % half widths of the camera's position in the hand [m]; pictures count as groups."""
    scale_half_width: float
    """95 % half width of `scale`."""
    rms_px: float
    """RMS of the points' distances [px]."""


def refine_on_pixels(
    start: HandEye,
    hand_poses: np.ndarray,
    points: np.ndarray,
    pixels: np.ndarray,
    camera: FisheyeCamera | PinholeCamera,
) -> PixelHandEye:
    """Return the camera on the hand that fits the pixels best, with the target's size as an unknown.

    Args:
        start: an eye-in-hand solution from poses.
        hand_poses: T_base_hand, (n, 4, 4) or position and quaternion xyzw (n, 7).
        points, pixels: the target's points in its frame (K, 3) [m], and where they were seen (n, K, 2).
        camera: the lens.

    Raises:
        ConfigError: shapes do not fit.
        GroundingError: most points lie outside the lens from where the start puts them.
    """
    hands = as_poses(hand_poses, "hand_poses")
    if np.shape(pixels) != (len(hands), len(points), 2):
        allowed = (len(hands), len(points), 2)
        raise ConfigError(f"hand-eye: pixels have shape {np.shape(pixels)}, allowed is {allowed}")
    first = HandEyeState(start.camera, start.target, start.scale)
    residuals, none = partial(_residuals, first, hands, points, pixels, camera), np.zeros(13)
    if np.median(np.abs(residuals(none))) >= _LOST_PX:
        raise GroundingError("hand-eye: the start puts most points outside the lens")
    found = least_squares(residuals, none, loss="soft_l1", f_scale=_NOISE_PX, x_scale="jac", max_nfev=100)
    best, state = residuals(found.x), first.moved(found.x)
    weight = (1.0 + (best / _NOISE_PX) ** 2) ** -0.25  # root of soft_l1's weight
    pictures = np.repeat(np.arange(len(hands)), 2 * len(points))
    covariance = sandwich(_jacobian(residuals, found.x) * weight[:, None], best * weight, pictures)
    return PixelHandEye(
        camera=state.camera,
        target=state.target,
        scale=state.scale,
        pos_half_width=covariance.half_width[:3],
        scale_half_width=state.scale * float(covariance.half_width[12]),
        rms_px=float(np.sqrt(np.mean(np.sum(best.reshape(-1, 2) ** 2, axis=1)))),
    )


def _residuals(first: HandEyeState, hands, points, pixels, camera, step: np.ndarray) -> np.ndarray:
    """Return predicted minus measured pixels (2 n K,) at `first.moved(step)`."""
    state = first.moved(step)
    seen = pose_inverse(hands @ state.camera) @ state.target
    found, valid = project(camera, points * state.scale @ np.swapaxes(seen[:, :3, :3], 1, 2) + seen[:, None, :3, 3])
    return np.where(valid[..., None], found - pixels, _LOST_PX).ravel()


def _jacobian(residuals: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Return the derivative of the residuals by central differences."""
    step = 1e-6
    columns = [(residuals(x + step * d) - residuals(x - step * d)) / (2.0 * step) for d in np.eye(len(x))]
    return np.stack(columns, axis=1)
