"""Fit of the hand's response: dead time, play and lag of each finger joint, from steps and slow triangles."""

from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import GroundingError, RecordingError
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.world import HandResponse, World
from r2s2r.recording.cell_log import CellLog
from r2s2r.world.estimate import Estimate, FactorFit
from r2s2r.world.hand_coupling import CoupledHand
from r2s2r.world.hand_joint_fit import FITTED, HandFitCfg, HandJointFit, fit_hand_joint
from r2s2r.world.hand_model import HandSimulator, ResponseParameters
from r2s2r.world.joint_excerpt import JointExcerpt, cut_excerpt

TRAINING, HELD_OUT = "hand_steps", "hand_held_out"
"""Segments that are fitted and that are kept for the score."""

UNITS = {"delay_s": "s", "deadband": "rad", "lag_s": "s"}
"""Fitted fields of HandResponse and their units."""

MODEL_HALF_WIDTH = {"delay_s": 0.0, "deadband": 3e-5, "lag_s": 0.0}
"""What the model itself leaves open [s, rad, s]: under load, joints that stick creep by up to 0.1 mrad, in a simulator
as in a gear, which the model's do not; over a recording that moves the play by some 1e-5 rad."""

ROUNDS = 2
"""Fits of all joints, each with what the joints of a finger do to each other at the fit before."""


@dataclass(frozen=True)
class HandVerdictCfg:
    """When a joint's response counts as determined.

    Raises:
        ConfigError: a value is not allowed.
    """

    still_rad: float = 0.005
    """A joint whose readings stay within this range did not move [rad]."""
    unexplained: float = 0.1
    """A residual above this share of the joint's motion (both as root mean square): something stopped it."""
    delay_s: float = 0.02
    """Widest half width of a dead time that is determined [s]."""
    deadband: float = 0.01
    """Widest half width of a play that is determined [rad]."""
    lag_s: float = 0.04
    """Widest half width of a time constant that is determined [s]."""

    def __post_init__(self):
        for name in ("still_rad", "unexplained", "delay_s", "deadband", "lag_s"):
            set_number(self, name, 0.0, 1.0)


def fit_hand(log: CellLog, cfg: HandFitCfg | None = None, verdict: HandVerdictCfg | None = None) -> FactorFit:
    """Identify the hand's response; the joints' drives are the nominal ones, which the simulator has too.

    A joint that did not move keeps the nominal response and is flagged.

    Raises:
        RecordingError: a segment or stream is missing, or has too few readings.
        GroundingError: no joint moved.
    """
    cfg, verdict = cfg or HandFitCfg(), verdict or HandVerdictCfg()
    nominal = World.nominal().hand
    training, held_out = (_excerpt(log, name, nominal) for name in (TRAINING, HELD_OUT))
    moved = np.ptp(training.readings, axis=0) > verdict.still_rad
    if not moved.any():
        raise GroundingError(f"hand: no joint moved by more than {verdict.still_rad:g} rad in segment {TRAINING!r}")
    coupled = CoupledHand(nominal)
    inertia = coupled.inertia(np.median(training.readings, axis=0))
    simulator = HandSimulator(training, inertia, nominal)
    fits = _fit_all(simulator, coupled, cfg, moved)
    stopped = np.array([fit is not None and _stopped(fit, training, j, verdict) for j, fit in enumerate(fits)])
    turned = _turned(simulator.targets(_candidates(fits)), verdict.still_rad)
    estimates = _estimates(fits, stopped, turned, nominal, verdict)
    value = replace(nominal, grounded=True, **{e.name.removeprefix("hand."): tuple(e.value) for e in estimates})
    residuals, plots = _score(simulator, HandSimulator(held_out, inertia, nominal), coupled, fits)
    return FactorFit("hand", value, estimates, residuals, _warnings(estimates, moved, stopped), plots)


def _excerpt(log: CellLog, segment: str, nominal: HandResponse) -> JointExcerpt:
    missing = [name for name in ("hand_command", "hand_joint_pos") if name not in log.streams]
    if missing:
        raise RecordingError(f"recording: no stream {missing[0]!r}; there are {', '.join(log.streams) or 'none'}")
    part = log.segment(segment)[0]
    gains = (np.array(nominal.drive_stiffness), np.array(nominal.drive_damping))
    streams = (log.streams["hand_command"], log.streams["hand_joint_pos"])
    return cut_excerpt(f"segment {segment!r}", *streams, part.start_s, part.end_s, gains)


def _fit_all(
    simulator: HandSimulator, coupled: CoupledHand, cfg: HandFitCfg, moved: np.ndarray
) -> list[HandJointFit | None]:
    """Return the fit of each joint; None where it did not move."""
    fits: list[HandJointFit | None] = [None] * len(HAND_JOINTS)
    others = np.zeros_like(simulator.excerpt.readings)
    for _ in range(ROUNDS):
        for j in np.flatnonzero(moved):
            before = fits[j]
            fits[j] = fit_hand_joint(simulator, int(j), cfg, others[:, j], None if before is None else before.values)
        candidates = _candidates(fits)
        others = _coupled_readings(simulator, coupled, candidates) - simulator.readings(candidates).T
    return fits


def _candidates(fits: list[HandJointFit | None]) -> ResponseParameters:
    """Return the fitted parameters of all joints, zeros for those that were not fitted."""
    values = [np.zeros(len(FITTED)) if fit is None else fit.values for fit in fits]
    return ResponseParameters(np.arange(len(fits)), *np.array(values).T)


def _coupled_readings(simulator: HandSimulator, coupled: CoupledHand, candidates: ResponseParameters) -> np.ndarray:
    """Return what the encoders would have read at the excerpt's stamps (T, 16) [rad], joints acting on each other."""
    excerpt, bias = simulator.excerpt, candidates.encoder_bias
    targets = simulator.targets(candidates).T
    return bias + coupled.positions(targets, excerpt.start_reading - bias, excerpt.start_speed, excerpt.time_s)


def _stopped(fit: HandJointFit, excerpt: JointExcerpt, joint: int, verdict: HandVerdictCfg) -> bool:
    """Return whether a joint's motion is not what any response could make of its command."""
    wanted = float(np.std(excerpt.targets()[:, joint]))
    return fit.rms > verdict.unexplained * wanted


def _turned(targets: np.ndarray, still_rad: float) -> np.ndarray:
    """Return which joints' drives were led both ways (16,), by their targets (16, S): else a bias looks like play."""
    steps = np.diff(targets, axis=-1)
    ways = [np.sum(np.maximum(sign * steps, 0.0), axis=-1) for sign in (1.0, -1.0)]
    return np.minimum(*ways) > still_rad


def _estimates(
    fits: list[HandJointFit | None],
    stopped: np.ndarray,
    turned: np.ndarray,
    nominal: HandResponse,
    verdict: HandVerdictCfg,
) -> tuple[Estimate, ...]:
    """Return value, interval and verdict of every joint; a play seen from one side only has no interval."""
    estimates = []
    for name, unit in UNITS.items():
        row = FITTED.index(name)
        value, half_width = np.array(getattr(nominal, name)), np.full(len(fits), np.inf)
        determined = np.zeros(len(fits), bool)
        for j, fit in enumerate(fits):
            if fit is None or stopped[j]:
                continue
            value[j] = fit.values[row]
            if name != "deadband" or turned[j]:
                half_width[j] = np.hypot(fit.covariance.half_width[row], MODEL_HALF_WIDTH[name])
            determined[j] = fit.covariance.determined[row] and half_width[j] <= getattr(verdict, name)
        estimates.append(Estimate(f"hand.{name}", "vector", value, half_width, unit, determined))
    return tuple(estimates)


def _score(
    training: HandSimulator, held_out: HandSimulator, coupled: CoupledHand, fits: list[HandJointFit | None]
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Return how the fitted and the nominal hand follow the recordings, and curves for reports."""
    fitted, direct = _candidates(fits), _candidates([None] * len(fits))
    moved = np.array([fit is not None for fit in fits])
    seen = _coupled_readings(training, coupled, fitted)
    after, before = (_coupled_readings(held_out, coupled, candidates) for candidates in (fitted, direct))
    training_rms = _rms(seen - training.excerpt.readings, moved)
    after_rms, before_rms = (_rms(x - held_out.excerpt.readings, moved) for x in (after, before))
    residuals = {
        "held_out_rms_rad": after_rms,
        "nominal_held_out_rms_rad": before_rms,
        "training_rms_rad": training_rms,
        "tracking_ratio": after_rms / max(before_rms, 1e-12),
    }
    plots = {
        "held_out_time_s": held_out.excerpt.time_s,
        "held_out_command": held_out.excerpt.targets(),
        "held_out_reading": held_out.excerpt.readings,
        "held_out_fitted": after,
        "held_out_nominal": before,
        "encoder_bias": fitted.encoder_bias,
    }
    return residuals, plots


def _rms(errors: np.ndarray, moved: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors[:, moved] ** 2)))


def _warnings(estimates: tuple[Estimate, ...], moved: np.ndarray, stopped: np.ndarray) -> tuple[str, ...]:
    lines = [f"hand {HAND_JOINTS[j]} did not move: its response stays nominal" for j in np.flatnonzero(~moved)]
    lines += [
        f"hand {HAND_JOINTS[j]} does not follow its command (contact, joint limit?): its response stays nominal"
        for j in np.flatnonzero(stopped)
    ]
    for estimate in estimates:
        open_ = moved & ~stopped & ~np.asarray(estimate.determined)
        lines += [
            f"{estimate.name.replace('.', ' ')} of {HAND_JOINTS[j]} not determined: "
            f"{estimate.value[j]:.3g} +- {estimate.half_width[j]:.2g} {estimate.unit}"
            for j in np.flatnonzero(open_)
        ]
    return tuple(lines)
