"""A demonstration as a cell recorded it: the wrist's path, the hand's targets and the belt, at the policy's rate.

A cell does not know where the object was; that is found from the grasp by whoever looks for the phases.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.contracts.world import ArmModel
from r2s2r.control.kinematics import SerialChain
from r2s2r.recording.cell_log import CellLog, Segment, Stream
from r2s2r.recording.frame_rate import check_increasing, frame_stamps, mean_rate_hz
from r2s2r.recording.resampling import bridged, interpolated

DEMONSTRATION = "demonstration"
"""Name of the segments of a log that hold one demonstration each."""


@dataclass(frozen=True)
class CellDemonstration:
    """One demonstration over T steps at an even rate. Poses are in the robot base; the wrist is the hand's palm frame.

    Raises:
        RecordingError: too few steps, times that do not increase, an array of another shape or not finite, a quaternion
            that is not of length one, or nothing tracked.
    """

    name: str
    """Log and segment, unique within a set of logs that are named differently."""

    time_s: np.ndarray
    """(T,) since the segment began, increasing [s]."""

    wrist_pos_b: np.ndarray
    """(T, 3) where the wrist was [m]."""

    wrist_quat_b: np.ndarray
    """(T, 4) how it was turned, xyzw."""

    hand_joint_pos: np.ndarray
    """(T, 16) targets that held [rad], in the order of `contracts.joints.HAND_JOINTS`."""

    belt_speed: np.ndarray | None
    """(T,) commanded speed that held [m/s]; None where the log has none."""

    tracked: np.ndarray
    """(T,) bool: the arm was read before and after, and the hand had a target; elsewhere the values are bridged."""

    statements: tuple[str, ...] = ()
    """What is assumed, and what was left out; one line each."""

    provenance: dict[str, Any] | None = None
    """Where it comes from; JSON-able."""

    def __post_init__(self):
        steps = len(self.time_s)
        if steps < 2:
            raise RecordingError(f"{self.name}: {steps} steps, at least 2 are needed")
        check_increasing(np.asarray(self.time_s, dtype=float), self.name)
        shapes = {"time_s": (steps,), "wrist_pos_b": (steps, 3), "wrist_quat_b": (steps, 4)}
        shapes |= {"hand_joint_pos": (steps, len(HAND_JOINTS)), "belt_speed": (steps,), "tracked": (steps,)}
        for field, shape in shapes.items():
            if field == "belt_speed" and self.belt_speed is None:
                continue
            array = np.asarray(getattr(self, field), dtype=bool if field == "tracked" else float)
            if array.shape != shape:
                raise RecordingError(f"{self.name}: {field} has shape {array.shape}, expected {shape}")
            if not np.isfinite(array).all():
                raise RecordingError(
                    f"{self.name}: {field} is not finite in row {int(np.argwhere(~np.isfinite(array))[0, 0])}"
                )
            object.__setattr__(self, field, array)
        if np.abs(np.linalg.norm(self.wrist_quat_b, axis=-1) - 1.0).max() > 1e-3:
            raise RecordingError(f"{self.name}: wrist_quat_b must hold unit quaternions x, y, z, w")
        if not self.tracked.any():
            raise RecordingError(f"{self.name}: no step is tracked; are arm readings and hand commands in the segment?")

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def rate_hz(self) -> float:
        """Steps a second."""
        return mean_rate_hz(self.time_s)


def cell_demonstrations(
    log: CellLog,
    chain: SerialChain,
    arm: ArmModel | None = None,
    name: str = "cell",
    segment: str = DEMONSTRATION,
    rate_hz: float = POLICY_RATE_HZ,
) -> tuple[CellDemonstration, ...]:
    """Return the demonstrations of a log, one for each segment called `segment`.

    Args:
        log: recording of a cell; it needs the streams `arm_joint_pos` and `hand_command`.
        chain: the arm from its base to the wrist link, nominal.
        arm: identified arm whose encoder bias is taken off and whose joint frames are moved; None: as the URDF says.
        name: what the log is called.
        segment: name of the segments.
        rate_hz: steps a second of the result.

    Raises:
        RecordingError: no such segment, a stream is missing, or see :class:`CellDemonstration`.
    """
    return tuple(
        _demonstration(log, part, chain, arm, f"{name}/{segment}_{index}", rate_hz)
        for index, part in enumerate(log.segment(segment))
    )


def _demonstration(
    log: CellLog, part: Segment, chain: SerialChain, arm: ArmModel | None, name: str, rate_hz: float
) -> CellDemonstration:
    readings, targets = _stream(log, "arm_joint_pos", name), _stream(log, "hand_command", name)
    time_s = frame_stamps(part.end_s - part.start_s, rate_hz)
    clock = part.start_s + time_s
    joint_pos = interpolated(clock, readings.time_s, readings.values)
    if arm is not None:
        joint_pos = joint_pos - np.array(arm.encoder_bias)
        chain = chain.moved(np.array(arm.kinematic_offsets))
    wrist = chain.wrist_pose(joint_pos)
    belt = log.streams.get("belt_command")
    return CellDemonstration(
        name=name,
        time_s=time_s,
        wrist_pos_b=wrist[:, :3, 3],
        wrist_quat_b=_continuous(quat_from_matrix(wrist[:, :3, :3])),
        hand_joint_pos=_held(targets, clock),
        belt_speed=None if belt is None or not len(belt.time_s) else _held(belt, clock)[:, 0],
        tracked=bridged(clock, readings.time_s) & (clock >= targets.time_s[0]),
        statements=_statements(arm, belt),
        provenance={"segment": part.name, "start_s": part.start_s, "end_s": part.end_s, **log.provenance},
    )


def _statements(arm: ArmModel | None, belt: Stream | None) -> tuple[str, ...]:
    kinematics = "the arm's description as it is" if arm is None else "the identified joint frames and encoder bias"
    lines = [
        f"fact: wrist path by forward kinematics of the arm's encoder readings, with {kinematics}",
        "fact: hand joints are the targets that were sent, held until the next one",
        "assumption: none about the object; the cell does not measure where it is",
    ]
    if belt is None or not len(belt.time_s):
        lines.append("left out: the belt's speed, which the log has not")
    return tuple(lines)


def _stream(log: CellLog, stream: str, name: str) -> Stream:
    found = log.streams.get(stream)
    if found is None or not len(found.time_s):
        there = ", ".join(key for key, value in log.streams.items() if len(value.time_s)) or "none"
        raise RecordingError(f"{name}: stream {stream} is needed; the log has {there}")
    check_increasing(found.time_s, f"{name}: {stream}")
    return found


def _held(stream: Stream, clock: np.ndarray) -> np.ndarray:
    """Return the last values (T, n) sent up to each of `clock` (T,); before the first ones, those."""
    return stream.values[np.maximum(np.searchsorted(stream.time_s, clock, side="right") - 1, 0)]


def _continuous(quat: np.ndarray) -> np.ndarray:
    """Return `quat` (T, 4) with signs that do not jump from row to row."""
    flips = np.sum(quat[1:] * quat[:-1], axis=-1) < 0.0
    sign = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2 == 1, -1.0, 1.0)])
    return quat * sign[:, None]
