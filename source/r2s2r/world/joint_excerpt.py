"""A stretch of a recording that a joint fit simulates: held commands, readings, and the state in which it begins."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log import CellLog, Segment, Stream
from r2s2r.recording.feedback_checks import check_no_echo
from r2s2r.world.held_command import HeldCommand

START_WINDOW_S = 0.04
"""Readings this long before and after the start give position and speed there [s]."""

_WILD = 8.0
"""How many times farther than 95 % of the readings a wild one is from its neighbours' median."""


@dataclass(frozen=True)
class JointExcerpt:
    """J driven joints for a while; times are relative to the start."""

    name: str
    """Where it comes from, for messages."""
    command: HeldCommand
    """Targets of the drives (J) [rad]."""
    time_s: np.ndarray
    """(T,) stamps of the readings after the start, increasing [s]."""
    readings: np.ndarray
    """(T, J) [rad]."""
    stiffness: np.ndarray
    """Position gain of each drive (J) while recorded [N m/rad]."""
    damping: np.ndarray
    """Velocity gain of each drive (J) while recorded [N m s/rad]."""
    start_reading: np.ndarray
    """What the encoders read at the start (J) [rad]."""
    start_speed: np.ndarray
    """Joint speeds at the start (J) [rad/s]."""

    @property
    def duration_s(self) -> float:
        """Time from the start to the last reading [s]."""
        return float(self.time_s[-1])

    def targets(self) -> np.ndarray:
        """Return the undelayed commands at the readings (T, J) [rad]."""
        return self.command.at(self.time_s)

    def window(self, start_s: float, end_s: float) -> "JointExcerpt":
        """Return the part from `start_s` to `end_s`, which begins at its first reading.

        Raises:
            RecordingError: it has fewer than 50 readings.
        """
        gains = (self.stiffness, self.damping)
        return _cut(self.name, self.command, Stream(self.time_s, self.readings), start_s, end_s, gains)


def cut_excerpt(
    name: str,
    command: Stream,
    readings: Stream,
    start_s: float,
    end_s: float,
    gains: tuple[np.ndarray, np.ndarray],
) -> JointExcerpt:
    """Return what was stamped within `start_s..end_s`; earlier commands are kept, since a delay looks back.

    Args:
        name: for messages.
        command: targets (J) [rad].
        readings: encoders (J) [rad].
        start_s: first moment [s].
        end_s: last moment [s].
        gains: stiffness and damping of the drives (J each).

    Raises:
        RecordingError: fewer than 50 readings, or stamps that do not increase.
    """
    return _cut(name, HeldCommand(command), readings, start_s, end_s, gains)


def _cut(
    name: str,
    command: HeldCommand,
    readings: Stream,
    start_s: float,
    end_s: float,
    gains: tuple[np.ndarray, np.ndarray],
) -> JointExcerpt:
    inside = readings.between(start_s, end_s)
    if len(inside.time_s) < 50:
        raise RecordingError(f"{name}: {len(inside.time_s)} readings from {start_s:g} to {end_s:g} s, needed are 50")
    if np.any(np.diff(inside.time_s) <= 0.0):
        raise RecordingError(f"{name}: stamps of the readings do not increase")
    # One reading is given up, so that the first one used lies well after the start.
    start = inside.time_s[0]
    around = readings.between(start - START_WINDOW_S, start + START_WINDOW_S)
    position, speed = _start_state(around.time_s - start, around.values)
    stiffness, damping = (np.asarray(gain, dtype=float) for gain in gains)
    return JointExcerpt(
        name, command.shifted(start), inside.time_s[1:] - start, inside.values[1:], stiffness, damping, position, speed
    )


def arm_excerpts(log: CellLog, segment: str) -> tuple[JointExcerpt, ...]:
    """Return the arm's part of every segment of that name.

    Raises:
        RecordingError: no such segment or streams, too few readings in one, or readings that echo the commands.
    """
    missing = [name for name in ("arm_command", "arm_joint_pos") if name not in log.streams]
    if missing:
        raise RecordingError(f"recording: no stream {missing[0]!r}; there are {', '.join(log.streams) or 'none'}")
    command, readings = log.streams["arm_command"], log.streams["arm_joint_pos"]
    check_no_echo("arm_joint_pos", readings, command)
    gains = (np.array(log.info.arm_stiffness), np.array(log.info.arm_damping))
    return tuple(
        cut_excerpt(f"segment {segment!r}", command, readings, part.start_s, part.end_s, gains)
        for part in log.segment(segment)
    )


def posture(log: CellLog, segment: Segment, stream: str) -> np.ndarray | None:
    """Return the median of a stream within a segment (n,), None where it has no message there."""
    found = log.streams.get(stream)
    values = found.between(segment.start_s, segment.end_s).values if found is not None else np.zeros((0, 0))
    return np.median(values, axis=0) if len(values) else None


def without_spikes(readings: np.ndarray) -> np.ndarray:
    """Return readings (T, J) with wild ones replaced by the median of five.

    A reading is wild where it is farther from that median than motion and noise bring nearly all of them.
    """
    median = median_filter(readings, (5, 1), mode="nearest")
    away = np.abs(readings - median)
    return np.where(away > _WILD * np.percentile(away, 95.0, axis=0) + 1e-12, median, readings)


def _start_state(time_s: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return value and slope at time zero (J each) of a parabola through `values`; the middle one of spikes is kept."""
    centre = np.median(values, axis=0)
    spread = np.median(np.abs(values - centre), axis=0)
    clean = np.where(np.abs(values - centre) > 20.0 * spread + 1e-3, centre, values)
    columns = np.stack([np.ones_like(time_s), time_s, time_s**2], axis=1)
    solution = np.linalg.lstsq(columns, clean, rcond=None)[0]
    return solution[0], solution[1]
