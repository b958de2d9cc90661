"""Robust fit of one finger joint's dead time, play and lag by simulation."""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from r2s2r.contracts.checks import set_number
from r2s2r.world.hand_model import HandSimulator, ResponseParameters
from r2s2r.world.uncertainty import Covariance, sandwich

FITTED = ("delay_s", "deadband", "lag_s", "encoder_bias")
"""Fields of ResponseParameters in the order of the fitted numbers."""

PRIOR_MEAN = np.array([0.05, 0.01, 0.05, 0.0])
"""What a hand is like before it is measured [s, rad, s, rad]: the middle of what hands of this kind show."""

PRIOR_SD = np.array([0.2, 0.05, 0.2, 0.1])
"""Standard deviations [s, rad, s, rad], so wide that a recording with motion overrules them by two orders."""

LOWER, UPPER = np.array([0.0, 0.0, 0.0, -0.5]), np.array([1.0, 0.3, 1.0, 0.5])
"""Smallest and largest values [s, rad, s, rad]."""

_SCALE = np.array([0.01, 0.01, 0.01, 0.001])
"""Usual sizes of a change [s, rad, s, rad], for the search."""

LAGS_S, DEADBANDS = (0.01, 0.03, 0.06, 0.12), (0.003, 0.01, 0.02, 0.04)
"""Start values that are tried against each other [s, rad]."""

_DIFFERENCE = np.array([2e-4, 1e-4, 5e-4, 1e-4])
"""Steps of central differences [s, rad, s, rad]: they move readings by some 1e-5 rad and more, above what switching of
dry friction at a step's bounds leaves, and below the noise."""

_GRID_S = 0.005
"""Step of the correlation that finds the whole delay [s]."""


@dataclass(frozen=True)
class HandFitCfg:
    """How finger joints are fitted.

    Raises:
        ConfigError: a value is not allowed.
    """

    largest_delay_s: float = 0.6
    """The whole time by which a joint trails its command is searched from 0 to this [s]."""
    outlier: float = 4.0
    """Residuals beyond this many standard deviations count linearly (Huber)."""
    settle_s: float = 0.5
    """Residuals right after the start, before play and drive forgot how they began, do not count [s]."""
    block_s: float = 2.0
    """Residuals within a stretch of this length may be alike [s]; between stretches they are independent."""

    def __post_init__(self):
        set_number(self, "largest_delay_s", 0.01, 1.0)
        set_number(self, "outlier", 1.0, 100.0)
        set_number(self, "settle_s", 0.0, 10.0)
        set_number(self, "block_s", 0.05, 10.0)


@dataclass(frozen=True)
class HandJointFit:
    """One joint's optimum."""

    values: np.ndarray
    """(4,) in the order of FITTED."""
    covariance: Covariance
    """Of the values."""
    rms: float
    """Root mean square of the residuals [rad]."""


class HandJointProblem:
    """Residuals of one joint, over their standard deviation."""

    def __init__(self, simulator: HandSimulator, joint: int, cfg: HandFitCfg, others: np.ndarray):
        """See :func:`fit_hand_joint`."""
        self._simulator, self._joint, self._cfg = simulator, joint, cfg
        excerpt = simulator.excerpt
        self._used = excerpt.time_s > cfg.settle_s
        self._readings = (excerpt.readings[:, joint] - others)[self._used]
        self.blocks = np.floor(excerpt.time_s[self._used] / cfg.block_s).astype(int)
        self.sigma = 1.0

    def residuals(self, values: np.ndarray) -> np.ndarray:
        """Return residuals (C, T) [rad] of candidates (C, 4)."""
        candidates = ResponseParameters(np.full(len(values), self._joint), *values.T)
        return self._simulator.readings(candidates)[:, self._used] - self._readings

    def start(self) -> np.ndarray:
        """Return start values (4,): the best of a grid in which every candidate has the same whole delay."""
        drive_s = self._simulator.drive_lag_s[self._joint]
        whole = self._whole_delay()
        bias = float(np.median(self._readings - self._simulator.excerpt.targets()[self._used, self._joint]))
        pairs = itertools.product(LAGS_S, DEADBANDS)
        candidates = np.array([(max(whole - drive_s - lag, 0.0), play, lag, bias) for lag, play in pairs])
        errors = self.residuals(candidates)
        return candidates[np.argmin(np.mean(np.abs(errors), axis=-1))]

    def weighted(self, values: np.ndarray) -> np.ndarray:
        """Return residuals (T + 4,) over their standard deviations, the prior's last."""
        return np.concatenate([self.residuals(values[None])[0] / self.sigma, (values - PRIOR_MEAN) / PRIOR_SD])

    def jacobian(self, values: np.ndarray) -> np.ndarray:
        """Return the derivative (T + 4, 4) of :meth:`weighted`; one-sided at a bound."""
        ahead = np.minimum(values + np.diag(_DIFFERENCE), UPPER)
        behind = np.maximum(values - np.diag(_DIFFERENCE), LOWER)
        residuals = self.residuals(np.concatenate([ahead, behind]))
        data = (residuals[: len(values)] - residuals[len(values) :]).T / np.diagonal(ahead - behind) / self.sigma
        return np.concatenate([data, np.diag(1.0 / PRIOR_SD)])

    def _whole_delay(self) -> float:
        """Return the shift [s] at which the command's speed correlates best with the readings'."""
        excerpt = self._simulator.excerpt
        grid = np.arange(0.0, excerpt.duration_s, _GRID_S)
        reading = np.diff(np.interp(grid, excerpt.time_s, excerpt.readings[:, self._joint]))
        shifts = np.arange(0.0, self._cfg.largest_delay_s, _GRID_S)
        steps = [np.diff(excerpt.command.at(grid - shift)[:, self._joint]) for shift in shifts]
        return float(shifts[np.argmax([step @ reading for step in steps])])


def fit_hand_joint(
    simulator: HandSimulator, joint: int, cfg: HandFitCfg, others: np.ndarray, start: np.ndarray | None = None
) -> HandJointFit:
    """Fit one joint: maximum a posteriori, first with one weight for all residuals, then by their spread.

    Args:
        simulator: the model and the recording.
        joint: its place in HAND_JOINTS.
        cfg: settings.
        others: (T,) how far the other joints push this one at each reading [rad].
        start: (4,) where the search begins, in the order of FITTED; None: from a grid.
    """
    problem = HandJointProblem(simulator, joint, cfg, others)
    values = problem.start() if start is None else start
    for _ in range(2 if start is None else 1):
        problem.sigma = max(1.4826 * float(np.median(np.abs(problem.residuals(values[None])[0]))), 1e-9)
        values = _optimise(problem, values, cfg.outlier)
    residuals = problem.residuals(values[None])[0]
    scaled = residuals / problem.sigma
    weight = np.sqrt(np.minimum(1.0, cfg.outlier / np.maximum(np.abs(scaled), 1e-300)))
    jacobian = problem.jacobian(values)[: len(scaled)] * weight[:, None]
    covariance = sandwich(jacobian, scaled * weight, problem.blocks, np.diag(1.0 / PRIOR_SD))
    return HandJointFit(values, covariance, float(np.sqrt(np.mean(residuals**2))))


def _optimise(problem: HandJointProblem, values: np.ndarray, outlier: float) -> np.ndarray:
    inside = np.clip(values, LOWER + 1e-6, UPPER - 1e-6)
    result = least_squares(
        problem.weighted,
        inside,
        jac=problem.jacobian,  # type: ignore[arg-type]
        bounds=(LOWER, UPPER),
        x_scale=_SCALE,
        loss="huber",
        f_scale=outlier,
        xtol=1e-6,
        ftol=1e-8,
        max_nfev=40,
    )
    return result.x
