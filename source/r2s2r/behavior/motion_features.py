"""What tells one way of moving from another: speeds, smoothness, paths, timing and use of the fingers of one pick."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import find_peaks

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.low_pass import low_pass
from r2s2r.behavior.motion_events import CUTOFF_HZ, PickEvents
from r2s2r.behavior.phases import PickRecord, find_pick
from r2s2r.behavior.smoothness import spectral_arc_length
from r2s2r.contracts.rejection import Rejection

PEAK_PROMINENCE = 0.1
"""A peak of the speed stands out by this share of the highest one."""

MOVES_RAD = 0.2
"""A joint that moves less than this says nothing about its timing [rad]."""

PROFILE_POINTS = 51
"""Samples of a speed profile over its normalised time."""

REST_S = 1.0
"""Rest that is put before a demonstration [s]: it begins with its motion, a recording waits first, and the onset of
both is to be found alike."""

FINGERS = {"index": slice(0, 4), "middle": slice(4, 8), "ring": slice(8, 12), "thumb": slice(12, 16)}
"""Joints of each finger in the order of `contracts.joints.HAND_JOINTS`."""


@dataclass(frozen=True)
class Feature:
    """One number of a motion."""

    name: str
    unit: str
    resolution: float
    """The smallest difference that means anything: a step of time, the replay's disturbance, a quarter of a count; of a
    finger's share the 0.2 rad below which a joint says nothing, over the 4 to 7 rad that a hand closes by."""


def _of_path(part: str) -> tuple[Feature, ...]:
    return (
        Feature(f"{part} duration", "s", 1 / 30),
        Feature(f"{part} peak speed", "m/s", 0.02),
        Feature(f"{part} peak / mean speed", "", 0.05),
        Feature(f"{part} time of peak", "share", 0.03),
        Feature(f"{part} speed peaks", "", 0.25),
        Feature(f"{part} smoothness (SPARC)", "", 0.1),
        Feature(f"{part} path deviation", "share", 0.01),
    )


FEATURES = (
    *_of_path("approach"),
    *_of_path("transport"),
    Feature("ride before closing", "s", 1 / 30),
    Feature("closing", "s", 1 / 30),
    Feature("closed before lift", "s", 1 / 30),
    Feature("lift before transport", "s", 1 / 30),
    Feature("opening", "s", 1 / 30),
    *(Feature(f"{finger}'s share of closing", "share", 0.05) for finger in FINGERS),
    Feature("spread of the joints' timing", "share", 0.02),
    Feature("coordination (first component)", "share", 0.01),
)
"""In the order of :attr:`Motion.features`."""


@dataclass(frozen=True)
class Motion:
    """What one pick was like, from the onset of its motion to the open hand above the bin."""

    source: str
    """Demonstration that it adapts, or its own name."""

    features: np.ndarray
    """(F,) in the order and units of :data:`FEATURES`."""

    speeds: np.ndarray
    """(2, P) speed of the wrist over the normalised time of approach and transport [m/s]."""


def as_record(demo: Demonstration) -> PickRecord:
    """Return a demonstration as a recording without labels that rests for a while first."""
    rest = round(REST_S * demo.rate_hz)

    def rested(values: np.ndarray) -> np.ndarray:
        return np.concatenate([np.repeat(values[:1], rest, axis=0), values])

    return PickRecord(
        name=demo.name,
        wrist_pos_b=rested(demo.wrist_pos_b),
        wrist_quat_b=rested(demo.wrist_quat_b),
        hand_joint_pos=rested(demo.hand_joint_pos),
        bin_pos_b=demo.bin_pos_b,
        rate_hz=demo.rate_hz,
        belt_velocity_b=demo.belt_velocity_b,
        tracked=rested(demo.tracked),
        provenance=demo.provenance,
    )


def measure_motion(record: PickRecord) -> Motion | Rejection:
    """Return what a recorded pick was like, or the rule of a pick that it breaks.

    Wrist and hand pass the low-pass that events are found behind, so that disturbances above it do not count.
    """
    found = find_pick(record)
    if isinstance(found, Rejection):
        return found
    rate, events = record.rate_hz, found.events
    pos = low_pass(record.wrist_pos_b, rate, CUTOFF_HZ)
    speed = np.linalg.norm(np.gradient(pos, axis=0), axis=1) * rate
    approach = slice(events.onset, max(events.ride, events.onset + 3) + 1)
    transport = slice(events.transport, max(events.release, events.transport + 3) + 1)
    posture = low_pass(record.hand_joint_pos, rate, CUTOFF_HZ)[events.close : events.closed + 1]
    features = np.concatenate(
        [
            *(path_features(pos[part], speed[part], rate) for part in (approach, transport)),
            np.array(_pauses(events)) / rate,
            closing_features(posture),
        ]
    )
    speeds = np.stack([_resampled(speed[part]) for part in (approach, transport)])
    return Motion(found.demonstration.source, features, speeds)


def _pauses(events: PickEvents) -> tuple[int, ...]:
    return (
        events.close - events.ride,
        events.closed - events.close,
        events.lift - events.closed,
        events.transport - events.lift,
        events.retreat - events.release,
    )


def path_features(pos: np.ndarray, speed: np.ndarray, rate_hz: float) -> np.ndarray:
    """Return the seven numbers of :func:`_of_path` for positions (T, 3) [m] and speeds (T,) [m/s]."""
    peaks, _ = find_peaks(np.concatenate([[0.0], speed, [0.0]]), prominence=PEAK_PROMINENCE * speed.max())
    return np.array(
        [
            (len(pos) - 1) / rate_hz,
            speed.max(),
            speed.max() / max(speed.mean(), 1e-9),
            speed.argmax() / (len(pos) - 1),
            len(peaks),
            spectral_arc_length(speed, rate_hz),
            path_deviation(pos),
        ]
    )


def path_deviation(pos: np.ndarray) -> float:
    """Return the largest distance of a path (T, 3) from its chord over the chord's length; 0 for a straight one."""
    chord = pos[-1] - pos[0]
    length = max(float(np.linalg.norm(chord)), 1e-9)
    away = pos - pos[0] - np.outer((pos - pos[0]) @ chord / length**2, chord)
    return float(np.linalg.norm(away, axis=1).max()) / length


def closing_features(posture: np.ndarray) -> np.ndarray:
    """Return each finger's share of the closing (T, 16) [rad], the spread of the joints' timing, their coordination."""
    travel = posture[-1] - posture[0]
    ways = np.array([np.linalg.norm(travel[joints]) for joints in FINGERS.values()])
    moving = np.abs(travel) > MOVES_RAD
    half_way = ((posture - posture[0])[:, moving] / travel[moving] >= 0.5).argmax(axis=0) / max(len(posture) - 1, 1)
    variances = np.linalg.svd(posture - posture.mean(axis=0), compute_uv=False) ** 2
    spread = float(half_way.std()) if moving.any() else 0.0
    return np.array([*(ways / max(ways.sum(), 1e-9)), spread, variances[0] / max(variances.sum(), 1e-12)])


def _resampled(speed: np.ndarray) -> np.ndarray:
    return np.interp(np.linspace(0.0, len(speed) - 1.0, PROFILE_POINTS), np.arange(len(speed)), speed)
