"""Recorded motion becomes a demonstration: its phases are found, its object is placed, or a rule says why not."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from r2s2r.behavior.carried_object import carried_object
from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.motion_events import Holding, PickEvents, find_events, find_holding, mean_velocity
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.rejection import Rejection
from r2s2r.contracts.transforms import quat_conjugate, quat_multiply, quat_rotate

MIN_STEPS = 2
"""Steps that every phase gets at least: the replay has to meet one of each, even if it runs faster."""


@dataclass(frozen=True)
class PickRecord:
    """One pick as it was recorded, T steps at an even rate, in the robot base; nobody has marked its phases.

    Any time before the wrist leaves and after it is back may be part of it.

    Raises:
        RecordingError: an array has another shape or is not finite.
    """

    name: str
    wrist_pos_b: np.ndarray
    """(T, 3) [m]."""
    wrist_quat_b: np.ndarray
    """(T, 4) xyzw."""
    hand_joint_pos: np.ndarray
    """(T, 16) targets [rad] in the order of `contracts.joints.HAND_JOINTS`."""
    bin_pos_b: np.ndarray
    """(3,) centre of the bin's floor [m]."""
    rate_hz: float
    """Steps a second."""
    belt_velocity_b: np.ndarray | None = None
    """(3,) [m/s]; None: taken from the hand while it rides along."""
    object_pos_b: np.ndarray | None = None
    """(T, 3) [m]; None: taken from the grasp."""
    object_yaw: np.ndarray | None = None
    """(T,) turn about the vertical [rad]; None: taken from the grasp."""
    tracked: np.ndarray = field(default_factory=lambda: np.array(True))
    """(T,) bool; a single value stands for all steps."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Where it comes from; JSON-able."""

    def __post_init__(self):
        steps = len(self.wrist_pos_b)
        if np.ndim(self.tracked) == 0:
            object.__setattr__(self, "tracked", np.full(steps, self.tracked))
        shapes = {"wrist_pos_b": (steps, 3), "wrist_quat_b": (steps, 4), "hand_joint_pos": (steps, len(HAND_JOINTS))}
        shapes |= {
            "bin_pos_b": (3,),
            "belt_velocity_b": (3,),
            "object_pos_b": (steps, 3),
            "object_yaw": (steps,),
            "tracked": (steps,),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array is not None and (np.shape(array) != shape or not np.isfinite(array).all()):
                raise RecordingError(f"{self.name}: {name} has shape {np.shape(array)}, expected {shape}, all finite")


@dataclass(frozen=True)
class PickRules:
    """What a recording must show to become a demonstration.

    Raises:
        ConfigError: a limit is out of its range.
    """

    min_duration_s: float = 1.0
    """From the first motion to the last [s]: the fastest measured human reach alone takes 1.1 s."""

    min_closing_rad: float = 0.5
    """Distance between the postures before and in the transport over all 16 joints [rad]: noise of 0.02 rad gives 0.1,
    a two-finger pinch more than 1."""

    min_lift_m: float = 0.05
    """How far the wrist rises with the closed hand [m]."""

    min_opening: float = 0.5
    """Share of the closing that is undone at the end."""

    max_bin_distance_m: float = 0.3
    """Horizontal distance of the palm from the bin's middle when the hand opens [m]: the palm stays up to 0.1 m beside
    the object, and the bin is 0.24 m wide."""

    max_gap_s: float = 0.3
    """Longest time without tracking while the task is done [s]: less than any phase of a human pick."""

    def __post_init__(self):
        for name in ("min_duration_s", "max_gap_s"):
            set_number(self, name, 0.0, 60.0)
        for name in ("min_closing_rad", "min_lift_m", "max_bin_distance_m"):
            set_number(self, name, 0.0, 10.0)
        set_number(self, "min_opening", 0.0, 1.0)


@dataclass(frozen=True)
class FoundPick:
    """A demonstration, and where in its recording it was found."""

    demonstration: Demonstration
    events: PickEvents
    """Steps of the recording; the demonstration begins at `onset`. Its hand rides along from `ride` to `close`."""


def find_pick(
    record: PickRecord, rules: PickRules | None = None, grasp: GraspGeometry | None = None
) -> FoundPick | Rejection:
    """Return the pick in a recording from its first to its last motion, or the rule that it breaks.

    Postures, poses and timing stay as recorded. Where the object's path is unknown, its centre lies in the closed hand
    where `grasp` takes it, and its turn is the one that `grasp` takes with the recorded turn of the hand.

    Args:
        record: what was recorded.
        rules: what it must show.
        grasp: how objects are taken; None for the operator's wrap.
    """
    rules, grasp = rules or PickRules(), grasp or GraspGeometry()
    holding = find_holding(record.wrist_pos_b, record.hand_joint_pos, record.bin_pos_b, record.rate_hz)
    rejection = _cannot_search(record, rules, holding)
    if rejection is not None:
        return rejection
    events = find_events(record.wrist_pos_b, holding, record.belt_velocity_b, record.bin_pos_b, record.rate_hz)
    rejection = _broken_rule(record, rules, events)
    return rejection or FoundPick(_demonstration(record, events, grasp), events)


def _cannot_search(record: PickRecord, rules: PickRules, holding: Holding) -> Rejection | None:
    if (rejection := _too_short(len(record.wrist_pos_b), record, rules)) is not None:
        return rejection
    closing, opening = float(holding.opened[holding.closing]), float(holding.opened[holding.opening])
    if closing < rules.min_closing_rad:
        return Rejection("closing", closing, rules.min_closing_rad, "rad")
    if opening < rules.min_opening * closing:
        return Rejection("opening", opening, rules.min_opening * closing, "rad")
    return None


def _broken_rule(record: PickRecord, rules: PickRules, events: PickEvents) -> Rejection | None:
    if (rejection := _too_short(events.end + 1 - events.onset, record, rules)) is not None:
        return rejection
    height = record.wrist_pos_b[events.close : events.release + 1, 2]
    lifted = float(height.max() - height[: max(events.lift - events.close, 1)].mean())
    if lifted < rules.min_lift_m:
        return Rejection("lift_height", lifted, rules.min_lift_m, "m")
    away = float(np.linalg.norm(record.wrist_pos_b[events.release, :2] - record.bin_pos_b[:2]))
    if away > rules.max_bin_distance_m:
        return Rejection("bin_distance", away, rules.max_bin_distance_m, "m", upper=True)
    gap = longest_gap(record.tracked[events.onset : events.retreat]) / record.rate_hz
    if gap > rules.max_gap_s:
        return Rejection("tracking_gap", gap, rules.max_gap_s, "s", upper=True)
    return None


def _too_short(steps: int, record: PickRecord, rules: PickRules) -> Rejection | None:
    duration = (steps - 1) / record.rate_hz
    limit = max(rules.min_duration_s, len(Phase) * MIN_STEPS / record.rate_hz)
    return Rejection("duration", duration, limit, "s") if duration < limit else None


def longest_gap(tracked: np.ndarray) -> int:
    """Return how many steps in a row of `tracked` (T,) are False at most."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], tracked, [True]]).astype(np.int8)))
    return int(np.diff(edges.reshape(-1, 2), axis=1).max(initial=0))


def _demonstration(record: PickRecord, events: PickEvents, grasp: GraspGeometry) -> Demonstration:
    kept = slice(events.onset, events.end + 1)
    wrist_pos, wrist_quat = record.wrist_pos_b[kept], record.wrist_quat_b[kept]
    phase = _phases(events, len(wrist_pos))
    velocity = record.belt_velocity_b
    if velocity is None:
        velocity = mean_velocity(record.wrist_pos_b, events.close, events.lift, record.rate_hz)
    taken_pos, taken_yaw = _taken_object(wrist_pos, wrist_quat, phase, velocity / record.rate_hz, grasp)
    placed_pos, placed_yaw = carried_object(
        wrist_pos,
        wrist_quat,
        phase,
        taken_pos_b=taken_pos,
        taken_yaw=taken_yaw,
        belt_velocity_b=velocity,
        bin_pos_b=record.bin_pos_b,
        rate_hz=record.rate_hz,
    )
    return Demonstration(
        name=record.name,
        wrist_pos_b=wrist_pos,
        wrist_quat_b=wrist_quat,
        hand_joint_pos=record.hand_joint_pos[kept],
        phase=phase,
        object_pos_b=placed_pos if record.object_pos_b is None else record.object_pos_b[kept],
        object_yaw=placed_yaw if record.object_yaw is None else record.object_yaw[kept],
        belt_velocity_b=velocity,
        bin_pos_b=record.bin_pos_b,
        tracked=record.tracked[kept],
        rate_hz=record.rate_hz,
        provenance=record.provenance,
    )


def _phases(events: PickEvents, steps: int) -> np.ndarray:
    """Return the phase of each of `steps` steps from the onset on (T,), every phase with its steps."""
    begins = np.array([events.close, events.lift, events.transport, events.release, events.retreat]) - events.onset
    order = MIN_STEPS * np.arange(1, len(begins) + 1)
    begins = np.maximum.accumulate(np.maximum(begins, MIN_STEPS) - order) + order
    latest = steps - order[::-1]
    return np.searchsorted(np.minimum(begins, latest), np.arange(steps), side="right").astype(np.int64)


def _taken_object(
    wrist_pos: np.ndarray, wrist_quat: np.ndarray, phase: np.ndarray, belt_step_b: np.ndarray, grasp: GraspGeometry
) -> tuple[np.ndarray, float]:
    """Return place (3,) [m] and turn [rad] of the object in the last step of closing, as `grasp` takes it.

    Both are averaged over the second half of the closing, when the hand has surely arrived; until the lift the object
    goes on by `belt_step_b` (3,) a step [m].
    """
    close, lift = (int(np.searchsorted(phase, which)) for which in (Phase.CLOSE, Phase.LIFT))
    held = np.arange((close + lift) // 2, lift)
    centre = wrist_pos[held] + quat_rotate(wrist_quat[held], np.asarray(grasp.object_pos_palm))
    turn = quat_multiply(wrist_quat[held], quat_conjugate(grasp.wrist_quat_b(0.0)))
    yaw = 2.0 * np.arctan2(turn[:, 2], turn[:, 3])
    return (centre + np.outer(lift - 1 - held, belt_step_b)).mean(axis=0), float(np.angle(np.exp(1j * yaw).mean()))
