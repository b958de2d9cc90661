"""Where a camera sits on a robot (or beside it), from robot poses and the target poses that the camera saw.

OpenCV's solvers give starting values; all of them fail on some data (pairs that hardly turn, near half turns), so each
is tried, and the best is refined as one least-squares problem over poses rather than pairs. What the motion does not
show is named and refused, and inputs given in the wrong direction are recognised by the inverse fitting better.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError, GroundingError
from r2s2r.contracts.transforms import pose, pose_inverse, quat_normalise, se3_log
from r2s2r.world.hand_eye_problem import LEVER, HandEyeCfg, HandEyeProblem, HandEyeState
from r2s2r.world.observability import unseen_directions
from r2s2r.world.uncertainty import Covariance, sandwich

_NOISE_M = (2e-4, 2e-3)
"""Residuals are taken to lie within this when observability is judged [m]: beyond it the input contradicts itself,
which is another matter than motion that shows too little."""

_MUCH_BETTER = 0.3
"""Another reading of the input is believed when it leaves less than this fraction of the residual."""


@dataclass(frozen=True)
class HandEye:
    """A solved hand-eye problem of n poses."""

    camera: np.ndarray
    """Pose of the camera (4, 4): T_hand_cam for eye_in_hand, T_base_cam for eye_to_hand."""
    target: np.ndarray
    """Pose of the target (4, 4): T_base_target for eye_in_hand, T_hand_target for eye_to_hand."""
    scale: float
    """True size of the target over the assumed one; 1 unless it was fitted."""
    camera_half_width: np.ndarray
    """(6,) 95 % half widths [m, rad] of the camera's pose, twist in the camera's frame."""
    scale_half_width: float
    """Of `scale`; 0 unless it was fitted."""
    residual_m: np.ndarray
    """(n,) distance between where the target is and where each pose puts it [m]."""
    residual_rad: np.ndarray
    """(n,) angle [rad]."""
    skipped_pairs: int
    """Consecutive pairs that turn too little or too nearly half a turn."""
    condition: float
    """Condition number of the refined problem, angles at LEVER."""
    warnings: tuple[str, ...]
    """One line each."""


def solve_hand_eye(hand_poses: np.ndarray, target_poses: np.ndarray, cfg: HandEyeCfg | None = None) -> HandEye:
    """Return where the camera is, from n poses of the hand and of the target seen at the same time.

    Args:
        hand_poses: T_base_hand, (n, 4, 4) or position and quaternion xyzw (n, 7), of either sign.
        target_poses: T_cam_target, in the same form.
        cfg: how to solve it.

    Raises:
        ConfigError: shapes do not fit.
        GroundingError: fewer than three poses; a direction is not observable; the inverse of an input, or another order
            of its quaternions, fits much better.
    """
    cfg = cfg or HandEyeCfg()
    hands, targets = as_poses(hand_poses, "hand_poses"), as_poses(target_poses, "target_poses")
    if len(hands) != len(targets):
        raise ConfigError(f"hand-eye: {len(hands)} hand and {len(targets)} target poses; allowed are equally many")
    if len(hands) < 3:
        raise GroundingError(f"hand-eye: {len(hands)} poses; allowed are 3 or more")
    problem = HandEyeProblem(hands, targets, cfg)
    solution = problem.solve()
    if problem.cost(solution) > cfg.wrong_residual_m:
        _check_other_readings(problem, problem.cost(solution), hand_poses, target_poses)
    return _report(problem, solution)


def check_expected(found: np.ndarray, expected: np.ndarray, limit_m: float, limit_rad: float, what: str) -> None:
    """Refuse a pose (4, 4) far from the drawing's: a wrong tool frame would otherwise be absorbed by it.

    Raises:
        GroundingError: it lies further off than the limits; the offset is in the message.
    """
    offset = pose_inverse(expected) @ found
    distance, angle = np.linalg.norm(offset[:3, 3]), np.linalg.norm(se3_log(offset)[3:])
    if distance > limit_m or angle > limit_rad:
        shift = found[:3, 3] - expected[:3, 3]
        raise GroundingError(
            f"{what}: found {distance:.3f} m and {np.rad2deg(angle):.1f} deg from the drawing, shifted by "
            f"({shift[0]:.3f}, {shift[1]:.3f}, {shift[2]:.3f}) m; allowed are {limit_m:g} m and "
            f"{np.rad2deg(limit_rad):.1f} deg; are the robot's poses those of another tool frame?"
        )


def as_poses(values: np.ndarray, name: str) -> np.ndarray:
    """Return poses (n, 4, 4) from matrices or from positions and quaternions xyzw (n, 7) of either sign.

    Raises:
        ConfigError: another shape, or a matrix whose rotation is none.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim == 2 and values.shape[1] == 7:
        return pose(values[:, :3], quat_normalise(values[:, 3:]))
    if values.ndim != 3 or values.shape[1:] != (4, 4):
        raise ConfigError(f"hand-eye: {name} has shape {values.shape}, allowed are (n, 4, 4) and (n, 7)")
    rotation = values[:, :3, :3]
    if (
        not np.allclose(rotation @ np.swapaxes(rotation, 1, 2), np.eye(3), atol=1e-3)
        or (np.linalg.det(rotation) < 0.0).any()
    ):
        raise ConfigError(f"hand-eye: {name} holds a matrix that is no rotation (mirrored, scaled or not finite)")
    return values


def _report(problem: HandEyeProblem, state: HandEyeState) -> HandEye:
    """Return the solution, or refuse it where the poses leave a direction open."""
    raw, jacobian = problem.residuals(state), problem.jacobian(state)
    _check_observable(problem, state, jacobian, raw)
    residuals = raw.ravel()
    weight = (1.0 + (residuals / problem.cfg.noise_scale_m) ** 2) ** -0.25  # root of soft_l1's weight
    groups = np.repeat(np.arange(len(raw)), 6)
    covariance = sandwich(jacobian * weight[:, None], residuals * weight, groups)
    return HandEye(
        camera=state.camera,
        target=state.target,
        scale=state.scale,
        camera_half_width=_widths(problem, covariance, state.camera[:3, :3]),
        scale_half_width=state.scale * float(covariance.half_width[-1]) if problem.cfg.fit_scale else 0.0,
        residual_m=np.linalg.norm(raw[:, :3], axis=1),
        residual_rad=np.linalg.norm(raw[:, 3:], axis=1) / LEVER,
        skipped_pairs=problem.skipped,
        condition=float(np.linalg.cond(jacobian)),
        warnings=_warnings(problem, raw),
    )


def _check_observable(
    problem: HandEyeProblem, state: HandEyeState, jacobian: np.ndarray, residuals: np.ndarray
) -> None:
    sigma = float(np.clip(1.4826 * np.median(np.abs(residuals)), *_NOISE_M))
    first = int(np.searchsorted(problem.free, 6))
    in_mother = jacobian[:, first : first + 6].copy()
    # Turns of the target about the axes of its mother frame, which the message names.
    in_mother[:, 3:] = in_mother[:, 3:] @ state.target[:3, :3].T
    columns = slice(first, first + 6)
    jacobian = np.concatenate([jacobian[:, :first], in_mother, jacobian[:, first + 6 :]], axis=1)
    unseen = unseen_directions(jacobian, sigma, columns)
    if unseen:
        frame = "base" if problem.cfg.setup == "eye_in_hand" else "hand"
        raise GroundingError(
            f"hand-eye: {'; '.join(unseen)} (axes of the {frame}); {len(residuals)} poses turn about too few axes"
        )


def _widths(problem: HandEyeProblem, covariance: Covariance, rotation: np.ndarray) -> np.ndarray:
    """Return half widths (6,) [m, rad] of a twist in the camera's frame."""
    directions = np.zeros((6, 13))
    directions[:3, :3] = rotation.T
    directions[3:, 3:6] = np.eye(3) / LEVER
    return covariance.of(directions[:, problem.free])


def _warnings(problem: HandEyeProblem, residuals: np.ndarray) -> tuple[str, ...]:
    found = []
    if problem.skipped:
        found.append(f"hand-eye: {problem.skipped} pairs skipped: they turn too little or by nearly half a turn")
    distance = np.linalg.norm(residuals, axis=1)
    far = np.flatnonzero(distance > max(5.0 * float(np.median(distance)), problem.cfg.noise_scale_m))
    if len(far):
        found.append(f"hand-eye: poses {far.tolist()} fit badly, up to {1e3 * distance.max():.1f} mm")
    return tuple(found)


def _check_other_readings(
    problem: HandEyeProblem, given: float, hand_poses: np.ndarray, target_poses: np.ndarray
) -> None:
    """Refuse input that fits much better when it is read another way."""
    for name, hands, targets in _other_readings(hand_poses, target_poses):
        other = HandEyeProblem(hands, targets, problem.cfg)
        residual = other.cost(other.solve())
        if residual < _MUCH_BETTER * given:
            raise GroundingError(
                f"hand-eye: residual {1e3 * given:.1f} mm as given, {1e3 * residual:.1f} mm with {name}; "
                "allowed are T_base_hand and T_cam_target, quaternions x, y, z, w"
            )


def _other_readings(hand_poses: np.ndarray, target_poses: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    hands, targets = as_poses(hand_poses, "hand_poses"), as_poses(target_poses, "target_poses")
    yield "hand_poses inverted (T_hand_base)", pose_inverse(hands), targets
    yield "target_poses inverted (T_target_cam)", hands, pose_inverse(targets)
    hand_quats, target_quats = np.ndim(hand_poses) == 2, np.ndim(target_poses) == 2
    if hand_quats:
        yield "hand_poses read with quaternions w, x, y, z", _w_first(hand_poses), targets
    if target_quats:
        yield "target_poses read with quaternions w, x, y, z", hands, _w_first(target_poses)
    if hand_quats and target_quats:
        yield "both read with quaternions w, x, y, z", _w_first(hand_poses), _w_first(target_poses)


def _w_first(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    return as_poses(np.concatenate([values[:, :3], np.roll(values[:, 3:], -1, axis=1)], axis=1), "poses")
