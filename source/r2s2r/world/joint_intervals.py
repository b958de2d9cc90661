"""How well a joint fit knows its parameters, with what the model leaves out counted in."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.checks import set_number
from r2s2r.world.estimate import NORMAL_95
from r2s2r.world.joint_fit import JointFit
from r2s2r.world.uncertainty import Covariance, sandwich

SINGULAR = 1e-6
"""Singular value, as a share of the largest, below which a direction is not seen at all: finite differences carry an
error of about this size."""


@dataclass(frozen=True)
class IntervalCfg:
    """What counts as independent, and what as known.

    Raises:
        ConfigError: a value is not allowed.
    """

    block_s: float = 1.5
    """Residuals within this time may be correlated: a quarter of a slow triangle, over which dry friction with its
    ripple acts one way [s]."""
    recurrence: float = 1.25
    """Factor on all half widths: what the model leaves out depends on positions, which come back, so that blocks are
    less independent than they look (in eight virtual cells 90 % of the values lay inside without it, 95 % with it)."""
    unmodelled_torque: float = 0.05
    """Constant torque that the model leaves out, as a share of dry friction (standard deviation): friction that differs
    with direction, cables, a weight not wholly compensated. It cannot be told from a bias."""
    inertia_tolerance: float = 0.005
    """Error of the links' composite inertia about a joint, as a share (standard deviation): frames that are off by
    0.3 mm and 0.5 mrad and fingers that give way change it by up to this much (measured in simulation)."""
    wide: float = 0.5
    """An interval of at least this share of the value leaves armature, friction or a gain undetermined."""
    wide_bias_rad: float = 0.01
    """An interval of at least this leaves a bias undetermined [rad]."""
    wide_delay_s: float = 0.01
    """An interval of at least this leaves the delay undetermined [s]."""

    def __post_init__(self):
        for name in ("unmodelled_torque", "inertia_tolerance"):
            set_number(self, name, 0.0, 1.0)
        set_number(self, "recurrence", 1.0, 10.0)
        for name in ("block_s", "wide", "wide_bias_rad", "wide_delay_s"):
            set_number(self, name, 1e-6, 100.0)


@dataclass(frozen=True)
class Intervals:
    """Half widths of 95 % intervals in the order of a fit's `names` (P)."""

    half_width: np.ndarray
    """(P,)."""
    determined: np.ndarray
    """(P,) bool: narrow, and not stopped by a bound."""
    flat: tuple[tuple[str, ...], ...]
    """Groups of parameters that can change together, at least one by the share `wide`, within the 95 % interval."""


def intervals(fit: JointFit, held_out_ratio: float = 1.0, cfg: IntervalCfg | None = None) -> Intervals:
    """Return intervals from residuals that are correlated in time and not free of model errors.

    Blocks of time are the independent units, nearly; a held-out residual larger than the training one tells that errors
    do not average out. What no residual can show is added: a constant torque that looks like a bias, at least as large
    as the slow errors that are seen, and an inertia of the links that looks like armature.

    Args:
        fit: what was fitted.
        held_out_ratio: held-out over training residual (rms).
        cfg: what counts as independent, and what as known.
    """
    cfg = cfg or IntervalCfg()
    block = np.floor(fit.time_s / cfg.block_s).astype(int)
    covariance = sandwich(fit.jacobian, fit.residuals, block)
    half_width = covariance.half_width * cfg.recurrence * max(1.0, held_out_ratio)
    for k, name in enumerate(fit.names):
        field, _, joint = name.partition(".")
        if field in ("encoder_bias", "armature"):
            half_width[k] = np.hypot(half_width[k], NORMAL_95 * _unseen(fit, block, field, int(joint) - 1, cfg))
    limit = np.array([_limit(name, value, cfg) for name, value in zip(fit.names, fit.values, strict=True)])
    return Intervals(half_width, (half_width < limit) & ~fit.at_bound, _flat(fit, covariance, limit))


def _unseen(fit: JointFit, block: np.ndarray, field: str, j: int, cfg: IntervalCfg) -> float:
    """Return the standard deviation of what looks like a parameter and is none."""
    if field == "armature":
        return cfg.inertia_tolerance * fit.inertia[j]
    torque = cfg.unmodelled_torque * fit.parameters.coulomb_friction[j]
    return float(np.hypot(_slow_error(fit, block, j), torque / max(fit.stiffness[j], 1e-9)))


def _slow_error(fit: JointFit, block: np.ndarray, joint: int) -> float:
    """Return the standard deviation [rad] of the means of a joint's residuals over blocks."""
    chosen = fit.joint == joint
    _, index = np.unique(block[chosen], return_inverse=True)
    means = np.bincount(index, fit.residuals[chosen]) / np.bincount(index)
    return float(np.sqrt(np.mean(means**2)) * fit.sigma[joint])


def _limit(name: str, value: float, cfg: IntervalCfg) -> float:
    if name.startswith("encoder_bias"):
        return cfg.wide_bias_rad
    return cfg.wide_delay_s if name == "command_delay_s" else cfg.wide * abs(value)


def _flat(fit: JointFit, covariance: Covariance, limit: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Return the directions of the linearised fit along which a parameter reaches its `limit` within the interval."""
    size = np.maximum(limit, 1e-9)
    _, strength, directions = np.linalg.svd(fit.jacobian * size, full_matrices=False)
    groups = []
    for value, direction in zip(strength, directions, strict=True):
        unseen = value < SINGULAR * strength[0]
        reach = np.inf if unseen else covariance.of(direction / size)[0] * np.max(np.abs(direction))
        if reach > 1.0:
            large = np.flatnonzero(np.abs(direction) > 0.3 * np.max(np.abs(direction)))
            groups.append(tuple(fit.names[k] for k in large))
    return tuple(groups)
