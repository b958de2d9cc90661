"""Levenberg-Marquardt for the bundle: robust corners, quadratic priors, normal equations.

A general solver decomposes the Jacobian (40,000 x 110 and more) at each step; its normal equations cost a tenth and are
well conditioned once every unknown is scaled and has a prior.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from r2s2r.contracts.errors import GroundingError
from r2s2r.world.bundle_model import BundleModel, Predicted
from r2s2r.world.bundle_state import STEP_SIZE, BundleState

BEND = 3.0
"""Corners further off than this many standard deviations weigh less and less (pseudo-Huber)."""

_MOST_STEPS = 60
_FIRST_DAMPING = 1e-4
_MOST_DAMPING = 1e8
_CONVERGED = 1e-7
"""Relative decrease of the cost below which nothing more is gained."""


@dataclass(frozen=True)
class Prior:
    """What is known without pictures: numbers of the step from `mean`, each with a standard deviation."""

    mean: BundleState
    """Where they are expected."""
    sd: np.ndarray
    """(STEP_SIZE,), infinite where nothing is known."""

    @property
    def rows(self) -> np.ndarray:
        """Derivative of the prior's residuals (R, STEP_SIZE)."""
        known = np.flatnonzero(np.isfinite(self.sd))
        rows = np.zeros((len(known), STEP_SIZE))
        rows[np.arange(len(known)), known] = 1.0 / self.sd[known]
        return rows

    def residuals(self, state: BundleState) -> np.ndarray:
        """Return (R,) deviations in standard deviations."""
        known = np.isfinite(self.sd)
        return (state.difference(self.mean) / self.sd)[known]


@dataclass(frozen=True)
class Solved:
    """Where the solver stopped."""

    state: BundleState
    """The best guess."""
    predicted: Predicted
    """Corners there."""
    weight: np.ndarray
    """(N,) robust weight of each corner, 1 for a good one."""


def solve(model: BundleModel, start: BundleState, prior: Prior, free: np.ndarray, sigma: np.ndarray) -> Solved:
    """Return the guess of least robust cost.

    Args:
        model: the corners.
        start: where to begin.
        prior: what is known without pictures.
        free: (STEP_SIZE,) bool, which unknowns may change.
        sigma: (N,) standard deviation of each corner [px].

    Raises:
        GroundingError: a number became infinite, or the steps did not settle.
    """
    rows = prior.rows[:, free]
    cost: Callable[[BundleState, Predicted], float] = lambda state, at: _cost(at, sigma, prior.residuals(state))  # noqa: E731
    state, at = start, model.predict(start)
    value, damping = cost(state, at), _FIRST_DAMPING
    for _ in range(_MOST_STEPS):
        hessian, gradient = _equations(at, sigma, rows, prior.residuals(state), free)
        if not (np.isfinite(hessian).all() and np.isfinite(value)):
            raise GroundingError("cameras: the adjustment left the range of numbers; a start value is not finite")
        gained = 0.0
        while damping < _MOST_DAMPING:
            step = np.zeros(STEP_SIZE)
            step[free] = -_damped(hessian, gradient, damping)
            moved = _try(state, step)
            ahead = None if moved is None else model.predict(moved)
            if moved is not None and ahead is not None and cost(moved, ahead) < value:
                gained = value - cost(moved, ahead)
                state, at, value, damping = moved, ahead, value - gained, max(damping / 10.0, 1e-9)
                break
            damping *= 10.0
        if gained <= _CONVERGED * value:
            return Solved(state, at, _weight(at, sigma))
    raise GroundingError(f"cameras: the adjustment did not settle within {_MOST_STEPS} steps; see the residuals")


def _try(state: BundleState, step: np.ndarray) -> BundleState | None:
    """Return the moved guess, None where a step leads to no lens at all."""
    try:
        return state.moved(step)
    except ValueError:
        return None


def _damped(hessian: np.ndarray, gradient: np.ndarray, damping: float) -> np.ndarray:
    size = np.sqrt(np.maximum(np.diagonal(hessian), 1e-300))
    scaled = hessian / np.outer(size, size) + damping * np.eye(len(size))
    return cho_solve(cho_factor(scaled), gradient / size) / size


def _equations(at: Predicted, sigma, rows, prior_residuals, free) -> tuple[np.ndarray, np.ndarray]:
    """Return half the Hessian and half the gradient of the cost, Gauss-Newton."""
    scale = np.sqrt(_weight(at, sigma)) / sigma
    jacobian = (at.jacobian[:, :, free] * scale[:, None, None]).reshape(-1, int(np.sum(free)))
    residuals = (at.residuals * scale[:, None]).ravel()
    hessian = jacobian.T @ jacobian + rows.T @ rows
    return hessian, jacobian.T @ residuals + rows.T @ prior_residuals


def _square(at: Predicted, sigma: np.ndarray) -> np.ndarray:
    return np.sum(at.residuals**2, axis=1) / sigma**2


def _weight(at: Predicted, sigma: np.ndarray) -> np.ndarray:
    return (1.0 + _square(at, sigma) / BEND**2) ** -0.5


def _cost(at: Predicted, sigma: np.ndarray, prior_residuals: np.ndarray) -> float:
    corners = 2.0 * BEND**2 * np.sum(np.sqrt(1.0 + _square(at, sigma) / BEND**2) - 1.0)
    return float(corners + np.sum(prior_residuals**2))
