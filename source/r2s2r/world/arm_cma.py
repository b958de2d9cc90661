"""The arm fitted by CMA-ES over parallel simulations: the peer that the Gauss-Newton fit is compared with.

Same model, same recording, same 29 numbers; the search is the one of Bjelonic et al. (PACE, arXiv 2509.06342): an
evolution strategy in ranges scaled to one, each generation simulated at once.
"""

import time
from dataclasses import dataclass

import cma
import numpy as np

from r2s2r.contracts.checks import set_number
from r2s2r.recording.cell_log import CellLog
from r2s2r.world.arm import TRAINING, hand_posture
from r2s2r.world.arm_model import arm_spec
from r2s2r.world.joint_excerpt import JointExcerpt, arm_excerpts
from r2s2r.world.joint_simulation import JointParameters, JointSimulator

SEARCH = {
    "armature": (0.0, 0.5),
    "viscous_friction": (0.0, 12.0),
    "coulomb_friction": (0.0, 6.0),
    "encoder_bias": (-0.05, 0.05),
    "command_delay_s": (0.0, 0.1),
}
"""Ranges searched, in the units of ArmModel: what an arm of this size can have."""


@dataclass(frozen=True)
class CmaCfg:
    """How long and how wide is searched.

    Raises:
        ConfigError: a value is not allowed.
    """

    budget_s: float = 300.0
    """Time after which the search stops [s]."""
    target_rms_rad: float = 0.0
    """Residual at which it stops (rms) [rad]."""
    population: int = 16
    """Candidates in a generation: 4 + 3 ln 29 is 14 (Hansen's default), rounded up to whole pairs of cores."""
    spread: float = 0.2
    """Standard deviation of the first generation, as a share of the ranges."""
    seed: int = 1
    """Of the search."""

    def __post_init__(self):
        set_number(self, "budget_s", 0.0)
        set_number(self, "target_rms_rad", 0.0)
        set_number(self, "population", 4, 10_000)
        set_number(self, "spread", 1e-3, 1.0)


@dataclass(frozen=True)
class CmaFit:
    """Where the search stopped."""

    parameters: JointParameters
    """Best candidate."""
    rms_rad: float
    """Its residual (rms)."""
    reached: bool
    """Whether that is at most the target."""
    trace_s: np.ndarray
    """(G,) time after each generation [s]."""
    trace_rms_rad: np.ndarray
    """(G,) best residual so far."""


def fit_arm_cma(log: CellLog, cfg: CmaCfg | None = None) -> CmaFit:
    """Search for the arm's parameters from a chirp.

    Raises:
        RecordingError: the segment or a stream is missing, or has too few readings.
    """
    cfg = cfg or CmaCfg()
    excerpts = arm_excerpts(log, TRAINING)
    simulator = JointSimulator(arm_spec(hand_posture(log)[0]))
    count = simulator.joint_count
    low, high = (np.concatenate([_spread(bounds[k], name, count) for name, bounds in SEARCH.items()]) for k in (0, 1))
    options = {"bounds": [0.0, 1.0], "popsize": cfg.population, "seed": cfg.seed, "verbose": -9, "tolfun": 0.0}
    strategy = cma.CMAEvolutionStrategy(np.full(len(low), 0.5), cfg.spread, options)
    begin, trace = time.perf_counter(), []
    best, best_rms = np.full(len(low), 0.5), np.inf
    while best_rms > cfg.target_rms_rad and time.perf_counter() - begin < cfg.budget_s and not strategy.stop():
        candidates = strategy.ask()
        rms = _residuals(simulator, excerpts, [_parameters(low + (high - low) * x, count) for x in candidates])
        strategy.tell(candidates, rms.tolist())
        if rms.min() < best_rms:
            best, best_rms = np.asarray(candidates[int(rms.argmin())]), float(rms.min())
        trace.append((time.perf_counter() - begin, best_rms))
    times, values = np.array(trace).reshape(-1, 2).T
    found = _parameters(low + (high - low) * best, count)
    return CmaFit(found, best_rms, best_rms <= cfg.target_rms_rad, times, values)


def training_rms(log: CellLog, parameters: JointParameters) -> float:
    """Return the residual (rms) [rad] of given parameters, as the search counts it."""
    simulator = JointSimulator(arm_spec(hand_posture(log)[0]))
    return float(_residuals(simulator, arm_excerpts(log, TRAINING), [parameters])[0])


def _residuals(
    simulator: JointSimulator, excerpts: tuple[JointExcerpt, ...], candidates: list[JointParameters]
) -> np.ndarray:
    """Return the residual (rms) of each candidate (C,); one that blows up counts as a radian."""
    squares = np.concatenate(
        [(simulator.readings(candidates, part) - part.readings).reshape(len(candidates), -1) for part in excerpts],
        axis=1,
    )
    return np.sqrt(np.mean(np.nan_to_num(np.minimum(np.abs(squares), 1.0), nan=1.0) ** 2, axis=1))


def _spread(value: float, name: str, count: int) -> np.ndarray:
    return np.full(1 if name == "command_delay_s" else count, value)


def _parameters(values: np.ndarray, count: int) -> JointParameters:
    return JointParameters.of_rows(values[: 4 * count].reshape(4, count), values[-1])
