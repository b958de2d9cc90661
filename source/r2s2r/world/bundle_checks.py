"""What would make an adjusted cell wrong although it fits: a camera that moved, a lost joint zero, a wrong tag size."""

from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import GroundingError
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.transforms import pose_inverse, se3_log
from r2s2r.control.kinematics import SerialChain
from r2s2r.world.bundle_data import GROUPS, BundleData
from r2s2r.world.bundle_model import HEAD, WRIST, BundleModel, Predicted
from r2s2r.world.bundle_state import BLOCKS, BundleState

MOVED_LIMITS = (2e-3, np.deg2rad(0.2))
"""A camera that shifts [m] or turns [rad] by more during a recording cannot be described by one pose."""

BIAS_LIMIT = np.deg2rad(5.0)
"""Encoder bias [rad] above which a joint has rather lost its zero."""

MOUNT_LIMIT = np.deg2rad(8.0)
"""Angle [rad] about the last joint's axis by which the wrist camera may be turned from its drawing. A lost zero of that
joint looks the same to every camera."""

SIZE_LIMITS = (5e-3, 0.03)
"""Fractions by which tags may differ from their given size before it is mentioned, and before the fit is refused."""

_PULL = (0.02, np.deg2rad(2.0))
"""A picture's own correction is pulled to zero by this [m, rad], where it has few corners."""

_CERTAIN = 6.0
"""Steps are believed from this many standard deviations on."""

_LEAST_PICTURES = 4
"""Pictures needed on either side of a step."""

_LEVER = 0.5
"""Distance [m] at which a turn shows as a shift, to weigh the two."""


@dataclass(frozen=True)
class PoseStep:
    """The place in time where a camera's own corrections jump."""

    time_s: float
    """Between which pictures' stamps [s]."""
    shift_m: float
    """How far it moved."""
    turn_rad: float
    """How far it turned."""


def check_steady(data: BundleData, predicted: Predicted, sigma: float = 0.2) -> None:
    """Refuse a recording during which a camera moved.

    Args:
        data: all corners, gross errors included.
        predicted: where a first fit puts them.
        sigma: standard deviation of a corner [px].

    Raises:
        GroundingError: a camera's pose jumps; which, when and by how much is in the message.
    """
    steps = {}
    for camera, block in ((WRIST, "mount"), (HEAD, "head")):
        chosen = data.still & (data.camera == camera) & (data.group != GROUPS.index("flange"))
        step = _step(*_corrections(data, predicted, chosen, block, sigma))
        if step is not None:
            steps[CAMERAS[camera]] = step
    if not steps:
        return
    name, step = max(steps.items(), key=lambda item: item[1].shift_m + _LEVER * item[1].turn_rad)
    said = f"moved by {1e3 * step.shift_m:.1f} mm and {np.rad2deg(step.turn_rad):.2f} deg at {step.time_s:.1f} s"
    if len(steps) == 2:
        raise GroundingError(f"cameras: what both cameras see {said} against the robot; fix all and record again")
    raise GroundingError(f"cameras: the {name} camera {said}; fix it and record again")


def check_joint_zeros(state: BundleState, drawn_mount: np.ndarray) -> None:
    """Refuse joints whose zero is far off.

    Raises:
        GroundingError: a bias, or the turn of the wrist camera about the last joint's axis, exceeds its limit.
    """
    for name, bias in zip(ARM_JOINTS, state.bias, strict=True):
        if abs(bias) > BIAS_LIMIT:
            raise GroundingError(
                f"cameras: {name} reads {np.rad2deg(bias):.1f} deg off, allowed are {np.rad2deg(BIAS_LIMIT):.0f}; "
                "joint zero likely lost"
            )
    turn = float(se3_log(state.poses["mount"] @ pose_inverse(drawn_mount))[5])
    if abs(turn) > MOUNT_LIMIT:
        raise GroundingError(
            f"cameras: the wrist camera is turned by {np.rad2deg(turn):.1f} deg about {ARM_JOINTS[-1]}'s axis from its "
            f"drawing, allowed are {np.rad2deg(MOUNT_LIMIT):.0f}; joint zero likely lost, or the mount is another one"
        )


class OneMore:
    """What one more unknown would do: a Gauss-Newton step in it from the optimum of all others, which stay free.

    Args:
        jacobian: (N, 2, P) of the unknowns that were free, not weighted.
        residuals: (N, 2) at the optimum.
        weight: (N,) that both are multiplied by.
        prior_rows: (R, P).
    """

    def __init__(self, jacobian: np.ndarray, residuals: np.ndarray, weight: np.ndarray, prior_rows: np.ndarray):
        self._weight = weight[:, None]
        self._jacobian = (jacobian * weight[:, None, None]).reshape(2 * len(weight), -1)
        self._hessian = self._jacobian.T @ self._jacobian + prior_rows.T @ prior_rows
        self._residuals = (residuals * self._weight).ravel()

    def step(self, derivative: np.ndarray) -> tuple[float, float]:
        """Return the step and its standard deviation for an unknown that moves the corners by `derivative` (N, 2)."""
        column = (derivative * self._weight).ravel()
        shared = self._jacobian.T @ column
        left = float(column @ column - shared @ np.linalg.solve(self._hessian, shared))
        return (-float(column @ self._residuals) / left, left**-0.5) if left > 0.0 else (0.0, np.inf)


def check_tag_sizes(data: BundleData, state: BundleState, chain: SerialChain, one_more: OneMore) -> list[str]:
    """Return one line for each group whose tags are not as large as given, by the measure of the robot's motion.

    Raises:
        GroundingError: the size is off by more than SIZE_LIMITS allow; the ratio is in the message.
    """
    here, found, step = BundleModel(data, chain).predict(state).residuals, [], 1e-4
    for k, name in enumerate(GROUPS):
        rows = data.group == k
        if not rows.any():
            continue
        grown = replace(data, points=data.points * np.where(rows, 1.0 + step, 1.0)[:, None])
        excess, sd = one_more.step((BundleModel(grown, chain).predict(state).residuals - here) / step)
        if abs(excess) < _CERTAIN * sd:
            continue
        said = f"tags of the {name} are {1.0 + excess:.3f} times as large as given, measured by the robot's motion"
        if abs(excess) > SIZE_LIMITS[1]:
            raise GroundingError(f"cameras: {said}; allowed are {1 - SIZE_LIMITS[1]:.2f} to {1 + SIZE_LIMITS[1]:.2f}")
        if abs(excess) > SIZE_LIMITS[0]:
            found.append(f"wrist camera: {said}")
    return found


def _corrections(
    data: BundleData, predicted: Predicted, chosen: np.ndarray, block: str, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return stamps (F,) and the step (F, 6) that would fit each picture alone."""
    times, steps = [], []
    pull = np.diag(np.repeat(np.array(_PULL) ** -2.0, 3))
    for frame in np.unique(data.frame[chosen]):
        rows = chosen & (data.frame == frame)
        jacobian = predicted.jacobian[rows][:, :, BLOCKS[block]].reshape(-1, 6) / sigma
        residuals = predicted.residuals[rows].ravel() / sigma
        steps.append(-np.linalg.solve(jacobian.T @ jacobian + pull, jacobian.T @ residuals))
        times.append(data.stamp_s[rows][0])
    order = np.argsort(times)
    return np.array(times)[order], np.array(steps).reshape(-1, 6)[order]


def _step(times: np.ndarray, steps: np.ndarray) -> PoseStep | None:
    """Return the split of the pictures that explains most of their scatter, None where no split is certain."""
    scaled = steps * np.r_[np.ones(3), np.full(3, _LEVER)]
    splits = range(_LEAST_PICTURES, len(times) - _LEAST_PICTURES + 1)
    if not len(splits):
        return None
    k = min(splits, key=lambda k: _scatter(scaled[:k]).sum() + _scatter(scaled[k:]).sum())
    scatter = np.concatenate([_scatter(scaled[:k]), _scatter(scaled[k:])])
    sd = max(1.4826 * float(np.median(scatter)) * np.sqrt(1.0 / k + 1.0 / (len(times) - k)), 1e-9)
    jump = np.median(scaled[k:], axis=0) - np.median(scaled[:k], axis=0)
    shift, turn = float(np.linalg.norm(jump[:3])), float(np.linalg.norm(jump[3:])) / _LEVER
    large = shift > MOVED_LIMITS[0] or turn > MOVED_LIMITS[1]
    certain = np.linalg.norm(jump) > _CERTAIN * sd
    return PoseStep(float(0.5 * (times[k - 1] + times[k])), shift, turn) if large and certain else None


def _scatter(steps: np.ndarray) -> np.ndarray:
    return np.linalg.norm(steps - np.median(steps, axis=0), axis=1)
