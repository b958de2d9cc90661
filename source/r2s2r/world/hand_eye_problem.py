"""The least-squares problem behind hand-eye calibration: `hand_i X target_i = Y`."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np
from scipy.optimize import least_squares

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.transforms import pose_inverse, se3_log, skew_matrix, so3_exp, so3_left_jacobian

SETUPS = ("eye_in_hand", "eye_to_hand")
"""Camera on the hand and target fixed, or camera fixed and target on the hand."""

LEVER = 0.3
"""Length [m] at which a radian counts as a metre: about the distance from camera to target."""

_UNITS = np.r_[np.ones(3), np.full(3, LEVER)]

_START_POSES = 25
"""Poses that a start is made from."""

_LEAST_SCALE = 1e-3
"""Smallest scale of a target that a guess starts from."""

_METHODS = (
    cv2.CALIB_HAND_EYE_PARK,
    cv2.CALIB_HAND_EYE_DANIILIDIS,
    cv2.CALIB_HAND_EYE_HORAUD,
    cv2.CALIB_HAND_EYE_TSAI,
    cv2.CALIB_HAND_EYE_ANDREFF,
)


@dataclass(frozen=True)
class HandEyeCfg:
    """How a hand-eye problem is solved.

    Raises:
        ConfigError: a value is not allowed.
    """

    setup: str = "eye_in_hand"
    """One of SETUPS."""
    fit_scale: bool = False
    """Whether the target's printed size is in doubt; robot motion then gives the scale."""
    held_pos: tuple[float | None, ...] = (None, None, None)
    """Camera position (3) [m] where it is known from elsewhere (in the hand for eye_in_hand, else in the base)."""
    min_rotation_rad: float = np.deg2rad(0.5)
    """Pairs that turn less say nothing about rotation and are skipped at the start."""
    max_rotation_rad: float = np.deg2rad(175.0)
    """Near half turns the axis of a pair has no sign; such pairs are skipped at the start."""
    noise_scale_m: float = 2e-3
    """Residual above which a pose loses weight (with LEVER for angles)."""
    wrong_residual_m: float = 5e-3
    """Median residual above which other readings of the input are tried."""

    def __post_init__(self):
        choose("HandEyeCfg.setup", self.setup, SETUPS)
        for name, high in (("min_rotation_rad", 1.0), ("max_rotation_rad", np.pi), ("noise_scale_m", 1.0)):
            set_number(self, name, 0.0, high)
        set_number(self, "wrong_residual_m", 0.0, 1.0)
        if len(self.held_pos) != 3:
            raise ConfigError(f"HandEyeCfg.held_pos: received {self.held_pos}, allowed are 3 numbers or None")


class HandEyeState(NamedTuple):
    """One guess of the unknowns."""

    camera: np.ndarray
    target: np.ndarray
    scale: float

    def moved(self, step: np.ndarray) -> "HandEyeState":
        """Return the guess after a step (13,): camera and target each shifted along the axes of its mother frame, then
        turned about its own, and the scale multiplied by an exponential. Angles count at LEVER."""
        poses = []
        for matrix, part in ((self.camera, step[:6]), (self.target, step[6:12])):
            matrix = matrix.copy()
            matrix[:3, 3] += part[:3]
            matrix[:3, :3] = matrix[:3, :3] @ so3_exp(part[3:] / LEVER)
            poses.append(matrix)
        return HandEyeState(poses[0], poses[1], self.scale * float(np.exp(step[12])))


class HandEyeProblem:
    """`hand_i X target_i = Y` with the unknowns X, Y and the scale of the targets' translations."""

    def __init__(self, hands: np.ndarray, targets: np.ndarray, cfg: HandEyeCfg):
        # A fixed camera is a camera on the "hand" of the inverse chain.
        self.hands = hands if cfg.setup == "eye_in_hand" else pose_inverse(hands)
        self.targets, self.cfg = targets, cfg
        turns = pose_inverse(self.hands[:-1]) @ self.hands[1:]
        angles = np.linalg.norm(se3_log(turns)[:, 3:], axis=-1)
        still = angles < cfg.min_rotation_rad
        self.skipped = int(np.sum(still | (angles > cfg.max_rotation_rad)))
        self.used = np.r_[True, ~still]
        held = [value is not None for value in cfg.held_pos]
        self.free = np.flatnonzero(np.r_[~np.array(held), np.ones(9, bool), cfg.fit_scale])

    def solve(self) -> HandEyeState:
        """Return the best refined solution; further methods are tried only while none gives a fitting start."""
        best = None
        for method in _METHODS:
            start = self._start(method)
            if start is None:
                continue
            found = self._refined(start)
            if best is None or self.cost(found) < self.cost(best):
                best = found
            if self.cost(best) < self.cfg.wrong_residual_m:
                break
        return best or self._refined(self._from_rotation(np.eye(3)))

    def cost(self, state: HandEyeState) -> float:
        """Return the median residual of the poses [m], angles at LEVER."""
        return float(np.median(np.linalg.norm(self.residuals(state), axis=1)))

    def _start(self, method: int) -> HandEyeState | None:
        # The solvers form all pairs: a few poses, spread over all, are enough for a start.
        chosen = np.flatnonzero(self.used)
        chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, min(len(chosen), _START_POSES)).astype(int))]
        hands, targets = self.hands[chosen], self.targets[chosen]
        try:
            # The bindings take arrays; their stubs only know lists of UMat.
            arrays: Any = (hands[:, :3, :3], hands[:, :3, 3], targets[:, :3, :3], targets[:, :3, 3])
            rotation, _ = cv2.calibrateHandEye(*arrays, method=method)
        except cv2.error:
            return None
        if not np.isfinite(rotation).all() or np.linalg.det(rotation) < 0.0:
            return None
        if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6):
            return None
        return self._from_rotation(rotation)

    def _from_rotation(self, rotation: np.ndarray) -> HandEyeState:
        """Return the guess with the camera's orientation (3, 3); both positions and the scale then follow linearly."""
        n, turns = len(self.hands), self.hands[:, :3, :3]
        seen = (turns @ rotation @ self.targets[:, :3, 3:])[..., 0]
        equations = np.concatenate([turns, np.broadcast_to(-np.eye(3), (n, 3, 3)), seen[..., None]], axis=2)
        known = np.array([np.nan if value is None else value for value in self.cfg.held_pos] + [np.nan] * 4)
        known[6] = np.nan if self.cfg.fit_scale else 1.0
        free = np.isnan(known)
        matrix = equations.reshape(3 * n, 7)
        right = -self.hands[:, :3, 3].ravel() - matrix[:, ~free] @ known[~free]
        known[free] = np.linalg.lstsq(matrix[:, free], right)[0]
        camera, target = np.eye(4), np.eye(4)
        camera[:3, :3], camera[:3, 3] = rotation, known[:3]
        u, _, vt = np.linalg.svd(np.sum(turns @ rotation @ self.targets[:, :3, :3], axis=0))
        target[:3, :3] = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
        target[:3, 3] = known[3:6]
        return HandEyeState(camera, target, float(max(known[6], _LEAST_SCALE)))

    def residuals(self, state: HandEyeState) -> np.ndarray:
        """Return (n, 6) twists from the target's pose to where each pose puts it, angles at LEVER."""
        found = self.hands @ state.camera @ self._scaled_targets(state)
        return se3_log(pose_inverse(state.target) @ found) * _UNITS

    def jacobian(self, state: HandEyeState, step: np.ndarray | None = None) -> np.ndarray:
        """Return the derivative (6 n, free) of the residuals at `state.moved(step)` with respect to the step."""
        step = np.zeros(13) if step is None else step
        now = state.moved(step)
        residuals = self.residuals(now) / _UNITS
        targets = self._scaled_targets(now)
        back = pose_inverse(targets)
        local = [_local(matrix, part) for matrix, part in ((now.camera, step[:6]), (now.target, step[6:12]))]
        # E = Y^-1 H X T: a twist of X acts on E's right through T, one of Y on its left.
        right, left = _inverse_jacobian(-residuals), _inverse_jacobian(residuals)
        grown = np.concatenate([(back[:, :3, :3] @ targets[:, :3, 3:])[..., 0], np.zeros((len(targets), 3))], axis=1)
        columns = [right @ _adjoint(back) @ local[0], -left @ local[1], right @ grown[:, :, None]]
        full = np.concatenate(columns, axis=2) * _UNITS[:, None]
        return full.reshape(-1, 13)[:, self.free]

    def _scaled_targets(self, state: HandEyeState) -> np.ndarray:
        targets = self.targets.copy()
        targets[:, :3, 3] *= state.scale
        return targets

    def _step(self, values: np.ndarray) -> np.ndarray:
        step = np.zeros(13)
        step[self.free] = values
        return step

    def _refined(self, start: HandEyeState) -> HandEyeState:
        # From far away every pose looks like an outlier: begin with the start's own residual as the scale.
        for noise in (max(self.cost(start), self.cfg.noise_scale_m), self.cfg.noise_scale_m):
            start = self._minimised(start, noise)
        return start

    def _minimised(self, start: HandEyeState, noise: float) -> HandEyeState:
        jacobian: Any = lambda values: self.jacobian(start, self._step(values))  # noqa: E731 - the stubs expect a name
        found = least_squares(
            lambda values: self.residuals(start.moved(self._step(values))).ravel(),
            np.zeros(len(self.free)),
            jac=jacobian,
            loss="soft_l1",
            f_scale=noise,
            max_nfev=50,
        )
        return start.moved(self._step(found.x))


def _local(matrix: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the twist (6, 6) in a pose's own frame per unit of each number of its step (6,)."""
    local = np.zeros((6, 6))
    local[:3, :3] = matrix[:3, :3].T
    local[3:, 3:] = so3_left_jacobian(-step[3:] / LEVER) / LEVER
    return local


def _adjoint(matrix: np.ndarray) -> np.ndarray:
    """Return the adjoint (..., 6, 6) of poses (..., 4, 4) for twists with the linear part first (Sola et al.)."""
    rotation = matrix[..., :3, :3]
    adjoint = np.zeros((*matrix.shape[:-2], 6, 6))
    adjoint[..., :3, :3] = adjoint[..., 3:, 3:] = rotation
    adjoint[..., :3, 3:] = skew_matrix(matrix[..., :3, 3]) @ rotation
    return adjoint


def _inverse_jacobian(twist: np.ndarray) -> np.ndarray:
    """Return the inverse left Jacobian (..., 6, 6) of small twists to second order (error below 1e-3 up to 0.9 rad)."""
    small = np.zeros((*twist.shape[:-1], 6, 6))
    small[..., :3, :3] = small[..., 3:, 3:] = skew_matrix(twist[..., 3:])
    small[..., :3, 3:] = skew_matrix(twist[..., :3])
    return np.eye(6) - 0.5 * small + small @ small / 12.0
