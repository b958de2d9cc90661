"""What would make an adjusted cell wrong although it fits: a lost joint zero, a wrong tag size."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from r2s2r.contracts.errors import GroundingError
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.transforms import pose_inverse, se3_log
from r2s2r.control.kinematics import SerialChain
from r2s2r.world.bundle_data import GROUPS, BundleData
from r2s2r.world.bundle_model import BundleModel
from r2s2r.world.bundle_state import BundleState

BIAS_LIMIT = np.deg2rad(5.0)
"""Encoder bias [rad] above which a joint has rather lost its zero."""

MOUNT_LIMIT = np.deg2rad(8.0)
"""Angle [rad] about the last joint's axis by which the wrist camera may be turned from its drawing. A lost zero of that
joint looks the same to every camera."""

SIZE_LIMITS = (5e-3, 0.03)
"""Fractions by which tags may differ from their given size before it is mentioned, and before the fit is refused."""

_CERTAIN = 6.0
"""Steps are believed from this many standard deviations on."""


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


class Step(NamedTuple):
    """What one more unknown would do."""

    value: float
    """How far it would move."""
    sd: float
    """Standard deviation of that, from what would still not fit."""
    gain: float
    """Fall of the cost, in variances of a coordinate."""


class OneMore:
    """A Gauss-Newton step in one more unknown from the optimum of all others, which stay free.

    Args:
        jacobian: (N, 2, P) of the unknowns that were free, not weighted.
        residuals: (N, 2) at the optimum.
        weight: (N,) that both are multiplied by.
        groups: (N,) labels of corners whose errors may be alike.
        prior_rows: (R, P).
    """

    def __init__(self, jacobian, residuals, weight: np.ndarray, groups: np.ndarray, prior_rows: np.ndarray):
        self._weight = weight[:, None]
        self._jacobian = (jacobian * weight[:, None, None]).reshape(2 * len(weight), -1)
        self._hessian = self._jacobian.T @ self._jacobian + prior_rows.T @ prior_rows
        self._residuals = (residuals * self._weight).ravel()
        self._groups = np.repeat(np.unique(groups, return_inverse=True)[1], 2)

    def step(self, derivative: np.ndarray) -> Step:
        """Return the step for an unknown that moves the corners by `derivative` (N, 2)."""
        column = (derivative * self._weight).ravel()
        shared = self._jacobian.T @ column
        through = np.linalg.solve(self._hessian, shared)
        left = float(column @ column - shared @ through)
        if left <= 0.0:
            return Step(0.0, np.inf, 0.0)
        value = -float(column @ self._residuals) / left
        own = column - self._jacobian @ through
        # A fit that is bad for another reason leaves large residuals: then this unknown is not sure either.
        pulls = np.bincount(self._groups, own * (self._residuals + value * own))
        sd = max(float(np.sqrt(np.sum(pulls**2))) / left, left**-0.5)
        return Step(value, sd, value**2 * left)


def tag_sizes(data: BundleData, state: BundleState, chain: SerialChain, one_more: OneMore) -> dict[str, Step]:
    """Return for each group seen by which fraction its tags exceed their given size, and its standard deviation.

    The robot's motion is the measure.
    """
    here, found, step = BundleModel(data, chain).predict(state).residuals, {}, 1e-4
    for k, name in enumerate(GROUPS):
        rows = data.group == k
        if rows.any():
            grown = replace(data, points=data.points * np.where(rows, 1.0 + step, 1.0)[:, None])
            found[name] = one_more.step((BundleModel(grown, chain).predict(state).residuals - here) / step)
    return found


def check_tag_sizes(sizes: dict[str, Step]) -> list[str]:
    """Return one line for each group whose tags are not as large as given.

    Raises:
        GroundingError: the size is off by more than SIZE_LIMITS allow; the ratio is in the message.
    """
    found = []
    for name, (excess, sd, _) in sizes.items():
        if abs(excess) < _CERTAIN * sd:
            continue
        said = f"tags of the {name} are {1.0 + excess:.3f} times as large as given, measured by the robot's motion"
        if abs(excess) > SIZE_LIMITS[1]:
            raise GroundingError(f"cameras: {said}; allowed are {1 - SIZE_LIMITS[1]:.2f} to {1 + SIZE_LIMITS[1]:.2f}")
        if abs(excess) > SIZE_LIMITS[0]:
            found.append(f"wrist camera: {said}")
    return found
