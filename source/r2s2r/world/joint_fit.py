"""Gauss-Newton fit of joint parameters by simulation."""

from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.sysid import ParameterDict

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import RecordingError
from r2s2r.world.joint_excerpt import JointExcerpt
from r2s2r.world.joint_problem import Huber, JointProblem
from r2s2r.world.joint_simulation import JointParameters, JointSimulator
from r2s2r.world.joint_start import start_values

_DELAY_STEP_S = 0.0025
"""Grid of delays for the start [s]."""

_AT_BOUND = 1e-6
"""A value this near to a bound, as a share of the range, was stopped by it."""

_TOLERANCES = (2e-3, 1e-3)
"""Relative step at which the first and the second pass stop; Gauss-Newton leaves an error of about its square."""

_WINDOWS, _WINDOW_S = (0.1, 0.5, 0.9), 4.0
"""Middles (shares of an excerpt) and length of the stretches that the first pass simulates: slow, middle and fast parts
of a chirp in a third of the time."""


@dataclass(frozen=True)
class JointFitCfg:
    """How joints are fitted.

    Raises:
        ConfigError: a value is not allowed.
    """

    largest_delay_s: float = 0.15
    """Delays are searched from 0 to this [s]."""
    still_rad: float = 0.01
    """A joint whose readings stay within this range did not move [rad]."""
    outlier: float = 4.0
    """Residuals beyond this many standard deviations count linearly (Huber)."""
    max_iterations: int = 12
    """Iterations of each of the two passes."""
    settle_s: float = 0.1
    """Residuals right after an excerpt's start, before drives forgot how it began, do not count [s]."""
    free_stiffness: bool = False
    """Whether the drives' position gains are unknown: one factor a joint, the same in all recordings."""

    def __post_init__(self):
        set_number(self, "largest_delay_s", 0.001, 1.0)
        set_number(self, "still_rad", 0.0, 1.0)
        set_number(self, "outlier", 1.0, 100.0)
        set_number(self, "settle_s", 0.0, 10.0)


@dataclass(frozen=True)
class JointFit:
    """The optimum and its neighbourhood."""

    parameters: JointParameters
    """Fitted values; those of joints that did not move are zero."""
    names: tuple[str, ...]
    """P fitted numbers, `field.joint` with the joint counted from 1, and `command_delay_s`."""
    values: np.ndarray
    """(P,) fitted numbers."""
    at_bound: np.ndarray
    """(P,) bool: stopped by a bound."""
    jacobian: np.ndarray
    """(M, P) derivative of the weighted residuals."""
    residuals: np.ndarray
    """(M,) weighted: over `sigma`, spikes reduced by the square root of their Huber weight."""
    time_s: np.ndarray
    """(M,) time of each residual, excerpts one after the other [s]."""
    joint: np.ndarray
    """(M,) joint of each residual."""
    sigma: np.ndarray
    """(J,) robust standard deviation of the residuals of each joint [rad]."""
    moved: np.ndarray
    """(J,) bool: joints that moved."""
    inertia: np.ndarray
    """(J,) composite inertia of the links about each joint where the first excerpt begins [kg m2]."""
    stiffness: np.ndarray
    """(J,) position gain of the drives in the first excerpt [N m/rad]."""


def fit_joints(
    spec: mujoco.MjSpec, excerpts: tuple[JointExcerpt, ...], cfg: JointFitCfg | None = None
) -> tuple[JointFit, JointSimulator]:
    """Fit armature, friction and bias of each hinge of `spec` and one delay to excerpts, all at once.

    A joint that moved in no excerpt keeps zeros and takes no part. The first pass weighs joints alike, the second by
    their residuals.

    Returns:
        The fit, and the simulator for further use.

    Raises:
        RecordingError: no joint moved.
    """
    cfg = cfg or JointFitCfg()
    simulator = JointSimulator(spec)
    moved = np.max([_travel(part.readings) > cfg.still_rad for part in excerpts], axis=0)
    if not moved.any():
        raise RecordingError(
            f"{excerpts[0].name}: no joint moved by more than {cfg.still_rad:g} rad; there is nothing to identify"
        )
    delays = np.arange(0.0, cfg.largest_delay_s, _DELAY_STEP_S)
    start = start_values(simulator.model, excerpts, delays, moved)
    rough = _problem(simulator, _windows(excerpts), cfg, moved)
    # A joint that starts badly must not be taken for one that is noisy: the first pass weighs all joints alike.
    ones, parameters = np.ones(len(moved)), rough.dictionary(start)
    sigma = _spread(rough.residuals(parameters, ones)) * ones
    parameters, _ = rough.optimise(parameters, sigma, cfg.outlier, _TOLERANCES[0], cfg.max_iterations)
    problem = _problem(simulator, excerpts, cfg, moved)
    residuals = problem.residuals(parameters, ones)
    sigma = np.array([_spread(residuals[problem.joint == j]) for j in range(len(moved))])
    parameters, jacobian = problem.optimise(parameters, sigma, cfg.outlier, _TOLERANCES[1], cfg.max_iterations)
    weights = np.sqrt(Huber(cfg.outlier).weights(problem.residuals(parameters, sigma)))
    return _summary(problem, parameters, (jacobian, weights, sigma), simulator, excerpts[0]), simulator


def _summary(
    problem: JointProblem,
    parameters: ParameterDict,
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
    simulator: JointSimulator,
    excerpt: JointExcerpt,
) -> JointFit:
    """Return the fit from the optimum, its Jacobian (M, P), roots of robust weights (M,) and deviations (J,)."""
    jacobian, weights, sigma = found
    moved = np.zeros(len(sigma), dtype=bool)
    moved[problem.joint] = True
    return JointFit(
        parameters=problem.parameters(parameters),
        names=tuple(parameters.keys()),
        values=parameters.as_vector(),
        at_bound=_at_bound(parameters),
        jacobian=jacobian * weights[:, None],
        residuals=problem.residuals(parameters, sigma) * weights,
        time_s=problem.time_s,
        joint=problem.joint,
        sigma=sigma,
        moved=moved,
        inertia=simulator.inertia(excerpt.start_reading),
        stiffness=excerpt.stiffness,
    )


def _problem(
    simulator: JointSimulator, excerpts: tuple[JointExcerpt, ...], cfg: JointFitCfg, moved: np.ndarray
) -> JointProblem:
    return JointProblem(simulator, excerpts, moved, cfg.largest_delay_s, cfg.settle_s, cfg.free_stiffness)


def _windows(excerpts: tuple[JointExcerpt, ...]) -> tuple[JointExcerpt, ...]:
    """Return stretches of each excerpt, the whole one where it is short."""
    windows = []
    for part in excerpts:
        if part.duration_s < 2.0 * len(_WINDOWS) * _WINDOW_S:
            windows.append(part)
            continue
        starts = [share * (part.duration_s - _WINDOW_S) for share in _WINDOWS]
        windows += [part.window(start, start + _WINDOW_S) for start in starts]
    return tuple(windows)


def _travel(readings: np.ndarray) -> np.ndarray:
    """Return the range (J,) of readings (T, J), without the one in a hundred at each end that may be wild."""
    low, high = np.percentile(readings, (1.0, 99.0), axis=0)
    return high - low


def _at_bound(parameters: ParameterDict) -> np.ndarray:
    values, (low, high) = parameters.as_vector(), parameters.get_bounds()
    near = _AT_BOUND * (high - low)
    return (values - low < near) | (high - values < near)


def _spread(residuals: np.ndarray) -> float:
    """Return a standard deviation that spikes do not move, at least a nanoradian; one of nothing."""
    if not len(residuals):
        return 1.0
    return max(1.4826 * float(np.median(np.abs(residuals))), 1e-9)
