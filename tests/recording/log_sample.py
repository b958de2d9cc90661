"""A small, well recorded cell log for the tests to spoil."""

from dataclasses import replace
from typing import Any

import numpy as np

from r2s2r.contracts.cell import CAMERAS, CellInfo, Message, Picture
from r2s2r.contracts.world import World
from r2s2r.recording.cell_log import CellLog, PictureStream, Segment, Stream
from r2s2r.recording.cell_log_file import CellLogWriter
from r2s2r.recording.pictures import decode, encode
from r2s2r.robot.limits import HAND_LIMITS

SECONDS, LAG_S = 12.0, 0.05


def sample_info(**changes) -> CellInfo:
    """Return a cell whose cameras have 64 x 48 px."""
    world = World.nominal()
    info = CellInfo(
        name="test cell",
        arm_stiffness=(1500.0,) * 7,
        arm_damping=(60.0,) * 7,
        hand_variant="allegro_v4_right",
        wrist_camera=world.wrist_cameras.camera.resized(64, 48),
        head_camera=world.poses.head_camera.resized(64, 48),
    )
    return replace(info, **changes)


def targets(time_s: np.ndarray, joints: int, start_s: float) -> np.ndarray:
    """Return smooth targets (T, joints) [rad], each joint with its own rhythm, at rest before `start_s`."""
    middle = (
        np.array([0.0, -0.5, 0.0, 1.3, 0.0, 1.2, 0.0]) if joints == 7 else 0.5 * (HAND_LIMITS.lower + HAND_LIMITS.upper)
    )
    moving = np.maximum(time_s - start_s, 0.0)[:, None]
    return middle + 0.3 * np.sin(2.0 * np.pi * (0.4 + 0.05 * np.arange(joints)) * moving)


def sample_log(rng: np.random.Generator) -> CellLog:
    """Return 12 s: the arm moves from 1 to 6 s, the hand from 6 to 11 s, each following 50 ms late, with noise."""
    streams = {}
    for name, joints, rate, start in (("arm", 7, 200.0, 1.0), ("hand", 16, 100.0, 6.0)):
        time = np.arange(0.0, SECONDS, 1.0 / rate)
        stamps = time + rng.uniform(-2e-4, 2e-4, len(time))
        measured = targets(time - LAG_S, joints, start) + rng.normal(0.0, 1e-4, (len(time), joints))
        sent = time[(time >= start) & (time < start + 5.0)]
        streams[f"{name}_command"] = Stream(sent, targets(sent, joints, start))
        streams[f"{name}_joint_pos"] = Stream(stamps, measured)
    streams["belt_command"] = Stream(np.array([0.5, 11.5]), np.array([[0.06], [0.0]]))
    pictures = {}
    for camera in CAMERAS:
        rgb = rng.integers(0, 256, (3, 48, 64, 3), dtype=np.uint8)
        pictures[camera] = PictureStream(np.array([2.0, 4.0, 8.0]), tuple(map(encode, rgb)))
    segments = (Segment("arm_chirp", 1.0, 6.0), Segment("hand_steps", 6.0, 11.0))
    return CellLog(sample_info(), streams, pictures, segments, {"seed": 1})


def spoilt(log: CellLog, stream: str, time_s: np.ndarray | None = None, values: np.ndarray | None = None) -> CellLog:
    """Return the log with stamps or values of one stream replaced."""
    old = log.streams[stream]
    new = Stream(old.time_s if time_s is None else time_s, old.values if values is None else values)
    return replace(log, streams={**log.streams, stream: new})


def record(writer: CellLogWriter, log: CellLog) -> None:
    """Play `log` into a writer in the order of time, as a cell would."""
    events: list[tuple[float, str, Any]] = []
    for name, stream in log.streams.items():
        rows = zip(stream.time_s, stream.values, strict=True)
        events += [(time, "message", Message(name, time, value)) for time, value in rows]
    for name, pictures in log.pictures.items():
        rows = zip(pictures.time_s, pictures.png, strict=True)
        events += [(time, "picture", Picture(name, time, decode(png))) for time, png in rows]
    events += [(s.start_s, "begin", s.name) for s in log.segments] + [(s.end_s, "end", s.name) for s in log.segments]
    # At the same instant a segment ends before the next begins.
    for time, kind, content in sorted(events, key=lambda event: (event[0], event[1] != "end")):
        if kind == "message":
            writer.append([content])
        elif kind == "picture":
            writer.append_picture(content)
        elif kind == "begin":
            writer.begin_segment(content, time)
        else:
            writer.end_segment(time)


def assert_equal(found: CellLog, expected: CellLog) -> None:
    assert found.info == expected.info and found.segments == expected.segments
    assert found.provenance == expected.provenance
    assert set(found.streams) == set(expected.streams) and set(found.pictures) == set(expected.pictures)
    for name, stream in expected.streams.items():
        assert np.array_equal(found.streams[name].time_s, stream.time_s)
        assert np.array_equal(found.streams[name].values, stream.values)
    for camera, pictures in expected.pictures.items():
        assert np.array_equal(found.pictures[camera].time_s, pictures.time_s)
        assert list(found.pictures[camera].png) == list(pictures.png)
