"""Levenberg-Marquardt for the bundle: robust corners, quadratic priors, normal equations.

A general solver decomposes the Jacobian (40,000 x 110 and more) at each step; its normal equations cost a tenth and are
well conditioned once every unknown is scaled and has a prior.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from r2s2r.contracts.errors import ConfigError, GroundingError, choose
from r2s2r.world.bundle_model import BundleModel, Predicted
from r2s2r.world.bundle_state import STEP_SIZE, BundleState

LOSSES = ("huber", "cauchy")
"""How corners far off are treated: "huber" lets them pull with a constant force, so that a fit from far away gets home;
"cauchy" lets the force fade, so that a corner in shade or behind the arm counts next to nothing."""

BEND = 3.0
"""Corners further off than this many standard deviations weigh less and less."""

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


def solve(
    model: BundleModel, start: BundleState, prior: Prior, free: np.ndarray, sigma: np.ndarray, loss: str = "huber"
) -> Solved:
    """Return the guess of least robust cost.

    Args:
        model: the corners.
        start: where to begin.
        prior: what is known without pictures.
        free: (STEP_SIZE,) bool, which unknowns may change.
        sigma: (N,) standard deviation of each corner [px].
        loss: one of LOSSES.

    Raises:
        ConfigError: the loss is unknown.
        GroundingError: a number became infinite, or the steps did not settle.
    """
    cost = _Cost(prior, free, sigma, choose("loss", loss, LOSSES))
    state, at = start, model.predict(start)
    value, damping = cost.value(state, at), _FIRST_DAMPING
    for _ in range(_MOST_STEPS):
        hessian, gradient = cost.equations(state, at)
        if not (np.isfinite(hessian).all() and np.isfinite(value)):
            raise GroundingError("cameras: the adjustment left the range of numbers; a start value is not finite")
        before = value
        while damping < _MOST_DAMPING:
            step = np.zeros(STEP_SIZE)
            step[free] = -_damped(hessian, gradient, damping)
            if -gradient @ step[free] <= _CONVERGED * value:
                return Solved(state, at, cost.weight(at))
            moved = _try(state, step)
            ahead = None if moved is None else model.predict(moved)
            if moved is not None and ahead is not None and cost.value(moved, ahead) < value:
                state, at, value, damping = moved, ahead, cost.value(moved, ahead), max(damping / 10.0, 1e-9)
                break
            damping *= 10.0
        if before - value <= _CONVERGED * value:
            return Solved(state, at, cost.weight(at))
    raise GroundingError(f"cameras: the adjustment did not settle within {_MOST_STEPS} steps; see the residuals")


class _Cost:
    """Robust squares of the corners plus plain squares of the prior."""

    def __init__(self, prior: Prior, free: np.ndarray, sigma: np.ndarray, loss: str):
        self._prior, self._free, self._sigma, self._loss = prior, free, sigma, loss
        self._rows = prior.rows[:, free]

    def value(self, state: BundleState, at: Predicted) -> float:
        bent = self._square(at) / BEND**2
        corners = 2.0 * (np.sqrt(1.0 + bent) - 1.0) if self._loss == "huber" else np.log1p(bent)
        return float(BEND**2 * np.sum(corners) + np.sum(self._prior.residuals(state) ** 2))

    def weight(self, at: Predicted) -> np.ndarray:
        """Return the derivative (N,) of the cost by the corner's square."""
        return (1.0 + self._square(at) / BEND**2) ** (-0.5 if self._loss == "huber" else -1.0)

    def equations(self, state: BundleState, at: Predicted) -> tuple[np.ndarray, np.ndarray]:
        """Return half the Hessian and half the gradient of the cost, Gauss-Newton."""
        scale = np.sqrt(self.weight(at)) / self._sigma
        jacobian = (at.jacobian[:, :, self._free] * scale[:, None, None]).reshape(2 * len(scale), -1)
        residuals = (at.residuals * scale[:, None]).ravel()
        hessian = jacobian.T @ jacobian + self._rows.T @ self._rows
        return hessian, jacobian.T @ residuals + self._rows.T @ self._prior.residuals(state)

    def _square(self, at: Predicted) -> np.ndarray:
        return np.sum(at.residuals**2, axis=1) / self._sigma**2


def _try(state: BundleState, step: np.ndarray) -> BundleState | None:
    """Return the moved guess, None where a step leads to no lens at all."""
    try:
        return state.moved(step)
    except ConfigError:
        return None


def _damped(hessian: np.ndarray, gradient: np.ndarray, damping: float) -> np.ndarray:
    size = np.sqrt(np.maximum(np.diagonal(hessian), 1e-300))
    scaled = hessian / np.outer(size, size) + damping * np.eye(len(size))
    return cho_solve(cho_factor(scaled), gradient / size) / size
