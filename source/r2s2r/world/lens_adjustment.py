"""Least squares of one lens and the poses of what it saw: lens and poses together, poses eliminated view by view."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.transforms import pose_apply, se3_exp
from r2s2r.world.bundle_projection import project_with_jacobian
from r2s2r.world.parameters import HEAD_LENS, LENS

_STEPS = 60
_CONVERGED = 1e-9
_MOST_DAMPING = 1e8
_OUTSIDE_PX = 1e3
"""Residual of a point that a trial lens cannot image: a step that loses points is refused."""


@dataclass(frozen=True)
class View:
    """One picture of a known object."""

    points: np.ndarray
    """(n, 3) in the object's frame [m]."""
    pixels: np.ndarray
    """(n, 2) where they were seen [px]."""


@dataclass(frozen=True)
class Adjustment:
    """A lens and poses at the least sum of squares."""

    camera: FisheyeCamera | PinholeCamera
    poses: np.ndarray
    """(V, 4, 4) T_cam_object."""
    cost: float
    """Sum of squared residuals [px^2]."""
    residuals: tuple[np.ndarray, ...]
    """V arrays (n, 2), predicted - measured [px]."""
    converged: bool


def adjust(
    camera: FisheyeCamera | PinholeCamera, poses: np.ndarray, views: Sequence[View], steps: int = _STEPS
) -> Adjustment:
    """Return the adjusted lens and poses (Levenberg and Marquardt).

    Args:
        camera: start.
        poses: (V, 4, 4) start.
        views: what was seen.
        steps: most steps.
    """
    poses, damping = np.array(poses), 1e-3
    residuals = _residuals(camera, poses, views)
    cost, converged = _cost(residuals), False
    for _ in range(steps):
        normal, slope, parts = _normal_equations(camera, poses, views, damping)
        step = np.linalg.solve(normal + damping * np.diag(np.diagonal(normal)), -slope)
        moves = [-(inverse @ (gradient + cross.T @ step)) for inverse, cross, gradient in parts]
        trial_camera = _moved(camera, step)
        trial_poses = np.array([se3_exp(move) @ T for move, T in zip(moves, poses, strict=True)])
        trial = None if trial_camera is None else _residuals(trial_camera, trial_poses, views)
        trial_cost = np.inf if trial is None else _cost(trial)
        if trial is None or not trial_cost < cost or trial_camera is None:
            damping *= 8.0
            if damping > _MOST_DAMPING:
                converged = True
                break
            continue
        converged = cost - trial_cost < _CONVERGED * cost
        camera, poses, residuals, cost, damping = trial_camera, trial_poses, trial, trial_cost, damping / 5.0
        if converged:
            break
    return Adjustment(camera, poses, cost, tuple(residuals), converged)


def lens_columns(adjusted: Adjustment, views: Sequence[View]) -> list[np.ndarray]:
    """Return for each view the derivative of its residuals by the lens (2n, L), less what its pose can absorb."""
    columns = []
    for T, view in zip(adjusted.poses, views, strict=True):
        by_lens, by_pose = _derivatives(adjusted.camera, T, view)
        columns.append(by_lens - by_pose @ (np.linalg.pinv(by_pose) @ by_lens))
    return columns


def _normal_equations(camera, poses: np.ndarray, views: Sequence[View], damping: float):
    count = len(LENS) if isinstance(camera, FisheyeCamera) else len(HEAD_LENS)
    normal, slope, parts = np.zeros((count, count)), np.zeros(count), []
    for T, view in zip(poses, views, strict=True):
        by_lens, by_pose = _derivatives(camera, T, view)
        error = _residual(camera, T, view).ravel()
        block = by_pose.T @ by_pose
        inverse = np.linalg.inv(block + damping * np.diag(np.diagonal(block)) + 1e-12 * np.eye(6))
        cross, gradient = by_lens.T @ by_pose, by_pose.T @ error
        normal += by_lens.T @ by_lens - cross @ inverse @ cross.T
        slope += by_lens.T @ error - cross @ inverse @ gradient
        parts.append((inverse, cross, gradient))
    return normal, slope, parts


def _derivatives(camera, T: np.ndarray, view: View) -> tuple[np.ndarray, np.ndarray]:
    """Return derivatives (2n, L) and (2n, 6) of the pixels by the lens and by a twist in the camera's frame."""
    points = pose_apply(T, view.points)
    _, to_point, to_lens, _ = project_with_jacobian(camera, points)
    turned = np.cross(to_point, -points[:, None, :])
    return to_lens.reshape(-1, to_lens.shape[2]), np.concatenate([to_point, turned], axis=2).reshape(-1, 6)


def _residual(camera, T: np.ndarray, view: View) -> np.ndarray:
    pixels, _, _, valid = project_with_jacobian(camera, pose_apply(T, view.points))
    return np.where(valid[:, None], pixels - view.pixels, _OUTSIDE_PX)


def _residuals(camera, poses: np.ndarray, views: Sequence[View]) -> list[np.ndarray]:
    return [_residual(camera, T, view) for T, view in zip(poses, views, strict=True)]


def _cost(residuals: list[np.ndarray]) -> float:
    return float(sum(np.sum(residual**2) for residual in residuals))


def _moved(camera, step: np.ndarray):
    """Return the lens after a step, None where it is none: no focal length, absurd terms."""
    names = LENS if isinstance(camera, FisheyeCamera) else HEAD_LENS
    values = {name: getattr(camera, name) + float(change) for name, change in zip(names, step, strict=True)}
    sane = all(np.isfinite(value) for value in values.values()) and min(values["fx"], values["fy"]) > 1.0
    sane = sane and all(abs(values.get(name, 0.0)) < 5.0 for name in LENS[4:])
    sane = sane and max(abs(values[name]) for name in HEAD_LENS) < 1e5
    return replace(camera, **values) if sane else None
