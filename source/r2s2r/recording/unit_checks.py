"""Are joints in radians and speeds in metres per second? Limits, speeds and commands of a log give other units away."""

import math

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log import CellLog, Stream
from r2s2r.recording.stream_kinds import COMMAND_OF, STREAM_KINDS
from r2s2r.robot.limits import ARM_LIMITS, HAND_LIMITS, JointLimits

DEGREES = 180.0 / math.pi
"""Degrees in a radian."""

LIMIT_MARGIN = 0.3
"""How far [rad] readings may lie beyond a joint's limits: more than a lost joint zero (12 deg) shifts them."""

DEGREE_FACTOR = 3.0
"""How many times a joint's limit a value has that is called degrees; less far beyond, it may be another joint's."""

OUTLIER_SHARE = 0.01
"""Up to this share, values beyond the limits are outliers; above it, the stream means something else."""

SPEED_FACTOR = 3.0
"""How many times a joint's largest speed the fastest hundredth of its readings may have."""

MAX_BELT_SPEED = 2.0
"""Largest commanded speed of a belt [m/s] from which a hand could pick; above it is another unit."""


def check_units(log: CellLog) -> tuple[str, ...]:
    """Return a warning for each joint with outliers beyond its limits.

    Raises:
        RecordingError: a stream is in degrees or in another unit; the message says why.
    """
    warnings: list[str] = []
    for prefix, limits in (("arm", ARM_LIMITS), ("hand", HAND_LIMITS)):
        for name in (f"{prefix}_command", f"{prefix}_joint_pos"):
            if name in log.streams and len(log.streams[name].time_s):
                warnings += check_limits(name, log.streams[name], limits)
        name = f"{prefix}_joint_pos"
        if name in log.streams:
            check_speed(name, log.streams[name], limits)
            if COMMAND_OF[name] in log.streams:
                check_same_unit(name, log.streams[name], log.streams[COMMAND_OF[name]])
    belt = log.streams.get("belt_command")
    if belt is not None and np.abs(belt.values).max(initial=0.0) > MAX_BELT_SPEED:
        raise RecordingError(
            f"belt_command: reaches {np.abs(belt.values).max():.4g} m/s, allowed are up to {MAX_BELT_SPEED:g} m/s; "
            "are these millimetres per second?"
        )
    return tuple(warnings)


def check_limits(name: str, stream: Stream, limits: JointLimits) -> tuple[str, ...]:
    """Return a warning for each joint with outliers.

    Raises:
        RecordingError: more than OUTLIER_SHARE of a joint's values lie beyond its limits.
    """
    largest = np.maximum(np.abs(limits.lower), np.abs(limits.upper))
    beyond = np.maximum(limits.lower - stream.values, stream.values - limits.upper)
    outside = beyond > LIMIT_MARGIN
    warnings = []
    # The worst joint first: it says most clearly what is wrong.
    for j in sorted(np.flatnonzero(outside.any(axis=0)), key=lambda j: -float(beyond[:, j].max() / largest[j])):
        row = int(np.argmax(beyond[:, j]))
        value = float(stream.values[row, j])
        text = (
            f"{name}: {limits.names[j]} is {value:.4g} rad at index {row} ({stream.time_s[row]:.3f} s), its limits are "
            f"{limits.lower[j]:.4g} to {limits.upper[j]:.4g} rad"
        )
        if outside[:, j].mean() <= OUTLIER_SHARE:
            warnings.append(f"{text}; {int(outside[:, j].sum())} outliers of that kind")
        elif DEGREE_FACTOR * largest[j] < abs(value) < DEGREES * (largest[j] + LIMIT_MARGIN):
            raise RecordingError(f"{text}; divided by 57.3 it is inside: looks like degrees, radians are needed")
        else:
            raise RecordingError(f"{text}; wrong joint or order")
    return tuple(warnings)


def check_speed(name: str, stream: Stream, limits: JointLimits) -> None:
    """Refuse readings that move much faster than the joints can, as small motions in degrees do.

    Raises:
        RecordingError: the fastest hundredth of a joint's readings moves above SPEED_FACTOR times its limit.
    """
    if len(stream.time_s) < 100:
        return
    speed = np.abs(np.diff(stream.values, axis=0)) / np.diff(stream.time_s)[:, None]
    fastest = np.quantile(speed, 1.0 - OUTLIER_SHARE, axis=0)
    j = int(np.argmax(fastest / limits.velocity))
    if fastest[j] > SPEED_FACTOR * limits.velocity[j]:
        raise RecordingError(
            f"{name}: {limits.names[j]} moves at {fastest[j]:.4g} rad/s, it can {limits.velocity[j]:.4g}; "
            "are these degrees, or stamps of another clock?"
        )


def check_same_unit(name: str, state: Stream, command: Stream) -> None:
    """Refuse readings that move 57 times as far as the commands, or a 57th of it.

    Raises:
        RecordingError: most joints do.
    """
    if not len(state.time_s) or not len(command.time_s):
        return
    moved, sent = np.ptp(state.values, axis=0), np.ptp(command.values, axis=0)
    used = (sent > 1e-3) & (moved > 1e-5)
    if not used.any():
        return
    ratio = float(np.median(moved[used] / sent[used]))
    for factor, wrong in ((DEGREES, name), (1.0 / DEGREES, COMMAND_OF[name])):
        if 0.5 < ratio / factor < 2.0:
            raise RecordingError(
                f"{name}: moves {ratio:.3g} times as far as {COMMAND_OF[name]} "
                f"({int(used.sum())} of {len(STREAM_KINDS[name].names)} joints compared); {wrong} looks like degrees, "
                "radians are needed"
            )
