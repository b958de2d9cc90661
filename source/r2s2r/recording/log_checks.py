"""Is a cell log fit for grounding? What must not pass is refused with its name and place, the rest is warned of.

Mirrored pictures, wrong tag sizes and cameras that were moved show in the tags and are found by the fits.
"""

import math

import numpy as np

from r2s2r.contracts.cell import CAMERAS, STREAMS
from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log import CellLog, Segment, Stream
from r2s2r.recording.feedback_checks import check_no_echo, check_rate
from r2s2r.recording.pictures import size_of
from r2s2r.recording.stream_kinds import COMMAND_OF, STREAM_KINDS
from r2s2r.recording.unit_checks import check_units

MOVED_BY = {
    "arm_chirp": "arm_joint_pos",
    "arm_chirp_held_out": "arm_joint_pos",
    "hand_steps": "hand_joint_pos",
    "hand_held_out": "hand_joint_pos",
}
"""Which joints a segment should move, by the stream that measures them."""

MIN_MOTION = 0.005
"""Motion of a joint in a segment that moves it [rad]; ten times the noise of a poor encoder."""

LONG_GAP_S = 0.25
"""Time without a reading that is told by its place [s]."""

CLOCK_TOLERANCE_S = 1.0
"""How far apart [s] the ends of two streams may lie that should have run at the same time."""

EDGE_S = 0.1
"""Part of a segment at its ends that may be without readings [s]."""


def check_cell_log(
    log: CellLog, streams: tuple[str, ...] = STREAMS, cameras: tuple[str, ...] = CAMERAS
) -> tuple[str, ...]:
    """Return a warning, one line each, for what a fit can live with.

    Args:
        log: The recording.
        streams: Numeric streams that must be there.
        cameras: Cameras that must have pictures.

    Raises:
        RecordingError: a stream is missing, its stamps go back or come from another clock, values are not finite or in
            another unit, readings echo commands or are repeated too often, or pictures are not the camera's.
    """
    check_present(log, streams, cameras)
    for name, stream in log.streams.items():
        check_stamps(name, stream.time_s)
        check_finite(name, stream)
    for camera, pictures in log.pictures.items():
        check_stamps(f"pictures of {camera}", pictures.time_s)
    check_segments(log.segments)
    check_one_clock(log)
    warnings: list[str] = []
    for name, command in COMMAND_OF.items():
        if name in log.streams and len(log.streams[name].time_s):
            if command in log.streams:
                check_no_echo(name, log.streams[name], log.streams[command])
            warnings += check_rate(name, log.streams[name])
            warnings += dropped_samples(name, log.streams[name].time_s)
    warnings += check_units(log)
    warnings += uncovered_segments(log)
    warnings += idle_joints(log)
    warnings += check_pictures(log)
    return tuple(warnings)


def check_present(log: CellLog, streams: tuple[str, ...], cameras: tuple[str, ...]) -> None:
    """Refuse a log without one of `streams` or `cameras`.

    Raises:
        RecordingError: one is missing or empty.
    """
    lengths = {name: len(stream.time_s) for name, stream in log.streams.items()}
    lengths |= {camera: len(pictures.time_s) for camera, pictures in log.pictures.items()}
    for what, needed in (("stream", streams), ("camera", cameras)):
        missing = [name for name in needed if not lengths.get(name)]
        if missing:
            there = ", ".join(name for name, length in lengths.items() if length) or "nothing"
            raise RecordingError(f"recording: {what} {', '.join(missing)} missing or empty; there are {there}")


def check_stamps(name: str, time_s: np.ndarray) -> None:
    """Refuse time stamps (T,) that are not finite, go back or repeat.

    Raises:
        RecordingError: they do; the message has the index and both stamps.
    """
    broken = np.flatnonzero(~np.isfinite(time_s))
    if len(broken):
        raise RecordingError(f"{name}: stamp {broken[0]} is {time_s[broken[0]]}, allowed are finite seconds")
    late = np.flatnonzero(np.diff(time_s) <= 0.0)
    if len(late):
        i = int(late[0]) + 1
        verb = "repeats" if time_s[i] == time_s[i - 1] else "goes back"
        raise RecordingError(
            f"{name}: time {verb} at index {i}: {time_s[i]:.6f} s after {time_s[i - 1]:.6f} s "
            f"({len(late)} such places); stamps must increase"
        )


def check_finite(name: str, stream: Stream) -> None:
    """Refuse values that are not finite.

    Raises:
        RecordingError: one is not; the message has its column, index and stamp.
    """
    broken = np.argwhere(~np.isfinite(stream.values))
    if len(broken):
        row, column = broken[0]
        raise RecordingError(
            f"{name}: {STREAM_KINDS[name].names[column]} is {stream.values[row, column]} at index {row} "
            f"({stream.time_s[row]:.3f} s; {len(broken)} such values); allowed are finite numbers"
        )


def check_segments(segments: tuple[Segment, ...]) -> None:
    """Refuse segments without an end or that end before they begin.

    Raises:
        RecordingError: there is one.
    """
    for segment in segments:
        if not segment.start_s < segment.end_s < math.inf:
            raise RecordingError(
                f"segment {segment.name!r}: from {segment.start_s:.3f} to {segment.end_s:.3f} s; it has no end, or was "
                "cut; it must end after it begins"
            )


def check_one_clock(log: CellLog) -> None:
    """Refuse streams, pictures or segments that lie at another time than the joint readings.

    Raises:
        RecordingError: one does not overlap; the message has both ranges.
    """
    ranges = {name: (s.time_s[0], s.time_s[-1]) for name, s in log.streams.items() if len(s.time_s)}
    readings = {name: ranges[name] for name in COMMAND_OF if name in ranges}
    ranges |= {f"pictures of {c}": (p.time_s[0], p.time_s[-1]) for c, p in log.pictures.items() if len(p.time_s)}
    if log.segments:
        ranges["segments"] = (min(s.start_s for s in log.segments), max(s.end_s for s in log.segments))
    for reading, (first, last) in readings.items():
        for name, (start, end) in ranges.items():
            if max(start - last, first - end) > CLOCK_TOLERANCE_S:
                raise RecordingError(
                    f"{name} ({start:.3f} to {end:.3f} s) and {reading} ({first:.3f} to {last:.3f} s) do not overlap; "
                    "all stamps must come from one clock"
                )


def dropped_samples(name: str, time_s: np.ndarray) -> tuple[str, ...]:
    """Return a warning with the number of samples that are missing between stamps (T,), and one for each long gap."""
    gaps = np.diff(time_s)
    if not len(gaps):
        return ()
    period = float(np.median(gaps))
    missing = int(np.sum(np.round(gaps / period) - 1.0, where=gaps > 1.5 * period))
    warnings = []
    if missing:
        share = missing / (missing + len(time_s))
        warnings.append(
            f"{name}: {missing} samples missing ({100 * share:.2g} %), longest gap {1000 * gaps.max():.3g} ms at "
            f"{time_s[np.argmax(gaps)]:.3f} s"
        )
    for i in np.flatnonzero(gaps > max(LONG_GAP_S, 1.5 * period)):
        warnings.append(f"{name}: nothing from {time_s[i]:.3f} to {time_s[i + 1]:.3f} s")
    return tuple(warnings)


def uncovered_segments(log: CellLog) -> tuple[str, ...]:
    """Return a warning for each segment that the joint readings do not reach through."""
    warnings = []
    for name in (name for name in COMMAND_OF if name in log.streams and len(log.streams[name].time_s)):
        time_s = log.streams[name].time_s
        for segment in log.segments:
            if time_s[0] > segment.start_s + EDGE_S or time_s[-1] < segment.end_s - EDGE_S:
                warnings.append(
                    f"segment {segment.name!r} ({segment.start_s:.3f} to {segment.end_s:.3f} s) is cut: {name} has "
                    f"{time_s[0]:.3f} to {time_s[-1]:.3f} s"
                )
    return tuple(warnings)


def idle_joints(log: CellLog) -> tuple[str, ...]:
    """Return a warning for each joint that a segment should have moved and that did not move."""
    warnings = []
    for segment in log.segments:
        name = MOVED_BY.get(segment.name)
        if name is None or name not in log.streams:
            continue
        measured = log.streams[name].between(segment.start_s, segment.end_s).values
        command = log.streams.get(COMMAND_OF[name])
        sent = command.between(segment.start_s, segment.end_s).values if command else measured[:0]
        for j, joint in enumerate(STREAM_KINDS[name].names):
            moved, asked = (float(np.ptp(values[:, j])) if len(values) else 0.0 for values in (measured, sent))
            if moved < MIN_MOTION:
                cause = f"although commanded by {asked:.3g} rad" if asked >= MIN_MOTION else "nor was it commanded to"
                warnings.append(f"segment {segment.name!r}: {joint} never moved ({moved:.2g} rad), {cause}")
    return tuple(warnings)


def check_pictures(log: CellLog) -> tuple[str, ...]:
    """Return a warning for each camera that repeated a picture.

    Raises:
        RecordingError: pictures have another size than the camera.
    """
    warnings = []
    for name, pictures in log.pictures.items():
        camera = {"wrist": log.info.wrist_camera, "head": log.info.head_camera}[name]
        before, repeated = None, 0
        for i, png in enumerate(pictures.png):
            if size_of(png) != (camera.width, camera.height):
                raise RecordingError(
                    f"pictures of {name}: picture {i} has {' x '.join(map(str, size_of(png)))} px, the camera "
                    f"{camera.width} x {camera.height}"
                )
            repeated, before = repeated + (png == before), png
        if repeated:
            warnings.append(f"pictures of {name}: {repeated} of {len(pictures.png)} equal the one before (frozen)")
    return tuple(warnings)
