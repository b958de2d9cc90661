"""Fit of the arm: armature, friction and bias of each joint and one command delay, from motion in free air."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.world import ArmModel, World
from r2s2r.recording.cell_log import CellLog
from r2s2r.robot.ready import READY_HAND
from r2s2r.world.arm_checks import (
    BandErrors,
    Verdict,
    VerdictCfg,
    band_errors,
    judge,
    not_separable,
    spoken,
)
from r2s2r.world.arm_model import arm_spec
from r2s2r.world.estimate import Estimate, FactorFit
from r2s2r.world.joint_excerpt import JointExcerpt, arm_excerpts, posture
from r2s2r.world.joint_fit import JointFit, JointFitCfg, fit_joints
from r2s2r.world.joint_intervals import IntervalCfg, Intervals, intervals
from r2s2r.world.joint_simulation import JointParameters, JointSimulator

TRAINING, HELD_OUT = "arm_chirp", "arm_chirp_held_out"
"""Segments that are fitted and that are kept for the score."""

UNITS = {
    "armature": "kg m2",
    "viscous_friction": "N m s/rad",
    "coulomb_friction": "N m",
    "encoder_bias": "rad",
    "command_delay_s": "s",
}
"""Fitted fields of ArmModel and their units."""

_SPIKE = 20.0
"""Errors beyond this many median errors are wild readings and are not scored."""

LOST_ZERO_RAD = np.radians(5.0)
"""A bias beyond this is no calibration error: the joint has lost its zero (xarm_ros2 issue 119 saw 10 to 14 deg)."""


@dataclass(frozen=True)
class ArmFitCfg:
    """How the arm is fitted and judged.

    Raises:
        ConfigError: a value is not allowed.
    """

    joints: JointFitCfg = field(default_factory=JointFitCfg)
    """The fit."""
    verdict: VerdictCfg = field(default_factory=VerdictCfg)
    """When it is accepted."""
    intervals: IntervalCfg = field(default_factory=IntervalCfg)
    """What counts as independent, and what as known."""


def fit_arm(log: CellLog | Sequence[CellLog], cfg: ArmFitCfg | None = None) -> FactorFit:
    """Identify the arm from its chirps; several recordings are fitted together.

    A joint that did not move keeps the nominal values and is flagged.

    Raises:
        RecordingError: a segment or stream is missing, or has too few readings.
    """
    cfg = cfg or ArmFitCfg()
    logs = [log] if isinstance(log, CellLog) else list(log)
    training = tuple(part for one in logs for part in arm_excerpts(one, TRAINING))
    held_out = tuple(part for one in logs for part in arm_excerpts(one, HELD_OUT))
    hand_pos, warnings = hand_posture(logs[0])
    fit, simulator = fit_joints(arm_spec(hand_pos), training, cfg.joints)
    score = _Score(simulator, fit, training, held_out)
    verdict = judge(fit, score.bands, score.ratio, cfg.verdict)
    widths = intervals(fit, score.ratio, cfg.intervals)
    return FactorFit(
        factor="arm",
        value=_arm(fit, training[0]),
        estimates=_estimates(fit, widths),
        residuals=score.residuals | {"accepted": float(verdict.accepted)},
        warnings=(*warnings, *_warnings(fit, verdict, widths)),
        plots=score.plots,
    )


def hand_posture(log: CellLog) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the hand's joint positions (16) [rad] while the arm moved, and warnings."""
    segment = log.segment(TRAINING)[0]
    for stream in ("hand_joint_pos", "hand_command"):
        found = posture(log, segment, stream)
        if found is not None:
            return found, ()
    return np.array(READY_HAND), ("hand posture not recorded during the arm's motion; taken as the ready pose",)


class _Score:
    """How fitted and nominal simulator follow the recordings."""

    def __init__(
        self,
        simulator: JointSimulator,
        fit: JointFit,
        training: tuple[JointExcerpt, ...],
        held_out: tuple[JointExcerpt, ...],
    ):
        nominal = World.nominal().arm
        self._moved = fit.moved
        fitted = [simulator.readings([fit.parameters], part)[0] for part in held_out]
        ungrounded = [
            simulator.readings([JointParameters.of(nominal)], _with_gains(part, nominal))[0] for part in held_out
        ]
        seen = [simulator.readings([fit.parameters], part)[0] for part in training]
        errors = self._errors(held_out, fitted)
        usual = _usual(errors)
        held_out_rms, nominal_rms = _rms(errors[usual]), _rms(self._errors(held_out, ungrounded)[usual])
        errors = self._errors(training, seen)
        training_rms = _rms(errors[_usual(errors)])
        self.ratio = held_out_rms / max(training_rms, 1e-12)
        self.bands: BandErrors = band_errors(held_out[0], fitted[0])
        self.residuals = {
            "held_out_rms_rad": held_out_rms,
            "nominal_held_out_rms_rad": nominal_rms,
            "training_rms_rad": training_rms,
            "tracking_ratio": held_out_rms / max(nominal_rms, 1e-12),
            "largest_gain_error_db": float(np.nanmax(np.abs(self.bands.gain_db), initial=0.0)),
            "largest_phase_error_deg": float(np.nanmax(np.abs(self.bands.phase_deg), initial=0.0)),
        }
        self.plots = {
            "held_out_time_s": held_out[0].time_s,
            "held_out_command": held_out[0].targets(),
            "held_out_reading": held_out[0].readings,
            "held_out_fitted": fitted[0],
            "held_out_nominal": ungrounded[0],
            "band_edges_hz": self.bands.edges_hz,
            "band_gain_db": self.bands.gain_db,
            "band_phase_deg": self.bands.phase_deg,
        }

    def _errors(self, excerpts: tuple[JointExcerpt, ...], simulated: list[np.ndarray]) -> np.ndarray:
        errors = np.concatenate([s - part.readings for s, part in zip(simulated, excerpts, strict=True)])
        return errors[:, self._moved]


def _usual(errors: np.ndarray) -> np.ndarray:
    """Return which errors (T, J) are no spikes of an encoder."""
    spread = np.median(np.abs(errors), axis=0)
    return np.abs(errors) < _SPIKE * spread


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def _with_gains(excerpt: JointExcerpt, arm: ArmModel) -> JointExcerpt:
    return replace(excerpt, stiffness=np.array(arm.drive_stiffness), damping=np.array(arm.drive_damping))


def _arm(fit: JointFit, excerpt: JointExcerpt) -> ArmModel:
    nominal, found = World.nominal().arm, fit.parameters
    vectors = {
        name: tuple(np.where(fit.moved, getattr(found, name), getattr(nominal, name)))
        for name in UNITS
        if name != "command_delay_s"
    }
    return replace(
        nominal,
        drive_stiffness=tuple(found.stiffness_scale * excerpt.stiffness),
        drive_damping=tuple(excerpt.damping),
        command_delay_s=found.command_delay_s,
        controller="weighted_ik",
        grounded=True,
        **vectors,
    )


def _estimates(fit: JointFit, widths: Intervals) -> tuple[Estimate, ...]:
    index = {name: k for k, name in enumerate(fit.names)}
    estimates = []
    for name, unit in UNITS.items():
        value = np.atleast_1d(getattr(fit.parameters, name))
        keys = [name] if name == "command_delay_s" else [f"{name}.{j + 1}" for j in range(len(value))]
        rows = [index.get(key) for key in keys]
        estimates.append(
            Estimate(
                name=f"arm.{name}",
                kind="vector",
                value=value,
                half_width=np.array([np.inf if row is None else widths.half_width[row] for row in rows]),
                unit=unit,
                determined=np.array([row is not None and bool(widths.determined[row]) for row in rows]),
            )
        )
    return tuple(estimates)


def _warnings(fit: JointFit, verdict: Verdict, widths: Intervals) -> list[str]:
    still = [f"arm {ARM_JOINTS[j]} did not move: its parameters stay nominal" for j in np.flatnonzero(~fit.moved)]
    lost = [
        f"arm {ARM_JOINTS[j]}: bias {np.degrees(fit.parameters.encoder_bias[j]):.1f} deg, joint zero likely lost"
        for j in np.flatnonzero(np.abs(fit.parameters.encoder_bias) > LOST_ZERO_RAD)
    ]
    wide = [
        f"arm {spoken(name)} not determined: {value:.3g} +- {width:.2g}"
        for name, value, width, good in zip(fit.names, fit.values, widths.half_width, widths.determined, strict=True)
        if not good
    ]
    flat = [f"arm {line}" for line in not_separable(widths.flat)]
    return still + lost + wide + flat + [f"arm not accepted: {reason}" for reason in verdict.reasons]
