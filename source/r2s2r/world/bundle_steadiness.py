"""Refuses recordings during which a camera, or a thing with tags, moved."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from r2s2r.contracts.errors import GroundingError
from r2s2r.world.bundle_data import BundleData
from r2s2r.world.bundle_model import Predicted
from r2s2r.world.bundle_solver import BEND
from r2s2r.world.bundle_state import BLOCKS, POSES

MOVED_LIMITS = (2e-3, np.deg2rad(0.2))
"""A pose that shifts [m] or turns [rad] by more during a recording cannot be described by one value."""

_PULL = (0.05, np.deg2rad(5.0))
"""A jump is pulled to zero by this [m, rad], for directions that few corners show."""

_CERTAIN = 600.0
"""Fall of the cost, in variances of a coordinate, from which on a jump is believed. Six numbers of pure noise gain
about 6, errors shared by the corners of a picture ten times that."""

_LEAST_PICTURES = 4
"""Pictures needed on either side of a jump."""

_NAMES = {
    "mount": "the wrist camera",
    "head": "the head camera",
    "board": "the board",
    "table": "the table or the robot's base",
    "belt": "the belt",
    "flange": "the cube on the flange",
}


@dataclass(frozen=True)
class PoseJump:
    """A pose that changed once."""

    name: str
    """One of POSES."""
    time_s: float
    """Between which pictures' stamps [s]."""
    shift_m: float
    """How far it moved."""
    turn_rad: float
    """How far it turned."""
    gain: float
    """Fall of the cost when it is allowed for, in variances of a coordinate."""


def refuse_jump(jump: PoseJump) -> None:
    """Refuse a recording during which something moved.

    Raises:
        GroundingError: always; what moved, when and by how much is in the message.
    """
    moved = f"{1e3 * jump.shift_m:.1f} mm and {np.rad2deg(jump.turn_rad):.2f} deg at {jump.time_s:.1f} s"
    raise GroundingError(f"cameras: {_NAMES[jump.name]} moved by {moved}; fix it and record again")


def largest_jump(data: BundleData, predicted: Predicted, free: np.ndarray, prior_rows: np.ndarray) -> PoseJump | None:
    """Return the jump of one pose that explains most, None where none is large and certain.

    For each pose and each instant between still pictures, the pose may take another value from then on, all other
    unknowns adjusting themselves (one Gauss-Newton step).

    Args:
        data: all corners, gross errors included.
        predicted: where a first fit puts them.
        free: (STEP_SIZE,) bool, its unknowns.
        prior_rows: (R, STEP_SIZE) derivative of the prior's residuals.
    """
    scale = robust_scale(data, predicted)
    weighted = predicted.jacobian * scale[:, None, None]
    residuals = predicted.residuals * scale[:, None]
    flat = weighted[:, :, free].reshape(2 * len(scale), -1)
    factor = cho_factor(flat.T @ flat + prior_rows[:, free].T @ prior_rows[:, free])
    common = cho_solve(factor, flat.T @ residuals.ravel())
    jumps = []
    for name in POSES:
        if free[BLOCKS[name]].all():
            sums = _sums(data, weighted[:, :, BLOCKS[name]], weighted[:, :, free], residuals)
            jumps += _jumps(name, sums, factor, common)
    best = max(jumps, key=lambda jump: jump.gain, default=None)
    if best is None or best.gain < _CERTAIN:
        return None
    return best if best.shift_m > MOVED_LIMITS[0] or best.turn_rad > MOVED_LIMITS[1] else None


@dataclass(frozen=True)
class _Sums:
    """Products of a pose's columns C (6) with themselves, all unknowns' and the residuals, for each still picture that
    shows the pose (F)."""

    time_s: np.ndarray
    own: np.ndarray  # (F, 6, 6)
    others: np.ndarray  # (F, 6, P)
    residual: np.ndarray  # (F, 6)


def _sums(data: BundleData, columns: np.ndarray, others: np.ndarray, residuals: np.ndarray) -> _Sums:
    shows = data.still & np.any(columns, axis=(1, 2))
    times, picture = np.unique(data.stamp_s[shows], return_inverse=True)
    parts = []
    for k in range(len(times)):
        rows = np.flatnonzero(shows)[picture == k]
        own = columns[rows].reshape(-1, 6)
        parts.append((own.T @ own, own.T @ others[rows].reshape(len(own), -1), own.T @ residuals[rows].ravel()))
    if not parts:
        width = others.shape[2]
        return _Sums(times, np.zeros((0, 6, 6)), np.zeros((0, 6, width)), np.zeros((0, 6)))
    return _Sums(times, *(np.array(x) for x in zip(*parts, strict=True)))


def _jumps(name: str, sums: _Sums, factor, common: np.ndarray) -> list[PoseJump]:
    """Return the jump of one pose at each instant that has pictures on either side."""
    found = []
    pull = np.diag(np.repeat(np.array(_PULL) ** -2.0, 3))
    for k in range(_LEAST_PICTURES, len(sums.time_s) - _LEAST_PICTURES + 1):
        own, others, residual = (x[k:].sum(axis=0) for x in (sums.own, sums.others, sums.residual))
        left = own - others @ cho_solve(factor, others.T) + pull
        gradient = residual - others @ common
        step = -np.linalg.solve(left, gradient)
        shift, turn = float(np.linalg.norm(step[:3])), float(np.linalg.norm(step[3:]))
        when = float(0.5 * (sums.time_s[k - 1] + sums.time_s[k]))
        found.append(PoseJump(name, when, shift, turn, float(-gradient @ step)))
    return found


def robust_scale(data: BundleData, predicted: Predicted) -> np.ndarray:
    """Return what residuals are multiplied by (N,): robust weight over standard deviation, for each camera its own."""
    scale = np.ones(len(data.camera))
    for camera in np.unique(data.camera):
        rows = data.camera == camera
        usual = predicted.residuals[rows] / data.spread[rows, None]
        sigma = max(1.4826 * float(np.median(np.abs(usual))), 0.05)
        scale[rows] = (1.0 + np.sum(usual**2, axis=1) / sigma**2 / BEND**2) ** -0.25 / (sigma * data.spread[rows])
    return scale
