"""Recordings of ROS 2 (mcap) as cell logs: joints by name, header stamps, pictures without further loss."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.cell import CAMERAS, STREAMS, CellInfo
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.provenance import provenance
from r2s2r.recording.cell_log import CellLog, PictureStream, Segment, Stream
from r2s2r.recording.pictures import encode
from r2s2r.recording.ros_messages import JointNames, compressed_rgb, image_rgb, trajectory_point
from r2s2r.recording.stream_kinds import STREAM_KINDS

VENDOR_HAND_NAMES = {f"joint_{i}.0": name for i, name in enumerate(HAND_JOINTS)}
"""What the hand's vendor calls its joints (allegro_hand_ros)."""

JOINT_STATE = "sensor_msgs/msg/JointState"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
NUMBERS = "std_msgs/msg/Float64MultiArray"
NUMBER = "std_msgs/msg/Float64"
TEXT = "std_msgs/msg/String"
IMAGE = "sensor_msgs/msg/Image"
COMPRESSED = "sensor_msgs/msg/CompressedImage"

TYPES = {
    "arm_joint_pos": (JOINT_STATE,),
    "hand_joint_pos": (JOINT_STATE,),
    "arm_command": (TRAJECTORY, NUMBERS, JOINT_STATE),
    "hand_command": (TRAJECTORY, NUMBERS, JOINT_STATE),
    "belt_command": (NUMBER, NUMBERS),
    "wrist": (IMAGE, COMPRESSED),
    "head": (IMAGE, COMPRESSED),
    "segments": (TEXT,),
}
"""Message types that each of the topics may have."""

WHOLE_RECORDING = "recording"
"""Name of the one segment of a bag without a topic of segments."""

LATE_S = 0.01
"""Delay between stamp and logging that is told [s]."""


@dataclass(frozen=True)
class RosTopics:
    """Where a bag has what a cell log holds; None: not recorded.

    Raises:
        ConfigError: no topic is given, or a joint name is unknown.
    """

    arm_joint_pos: str | None = None
    """JointState with the arm's joints; others of the robot may be in it."""
    hand_joint_pos: str | None = None
    """JointState with the hand's joints; may be the same topic."""
    arm_command: str | None = None
    """JointTrajectory of one point, Float64MultiArray or JointState."""
    hand_command: str | None = None
    """As for the arm."""
    belt_command: str | None = None
    """Float64 [m/s]."""
    wrist: str | None = None
    """Image or CompressedImage of the wrist camera."""
    head: str | None = None
    """Image or CompressedImage of the head camera."""
    segments: str | None = None
    """String: the name of the segment that begins, empty at its end."""
    joint_names: Mapping[str, str] = field(default_factory=lambda: dict(VENDOR_HAND_NAMES))
    """Our name (ROBOT_JOINTS) by the bag's, where they differ."""
    ignored_joints: tuple[str, ...] = ()
    """Joints in the bag that are not recorded, such as a gripper's."""
    array_joints: tuple[str, ...] = ()
    """Names, in order, of the numbers of a Float64MultiArray; empty: the arm's or hand's joints in our order."""
    log_time_topics: tuple[str, ...] = ()
    """Topics whose header stamps come from another clock: the time of logging is taken."""

    def __post_init__(self):
        if not self.by_role:
            raise ConfigError(f"RosTopics: no topic given; allowed are {', '.join(TYPES)}")
        JointNames(self.joint_names, self.ignored_joints)
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in TYPES and value is not None and not (isinstance(value, str) and value):
                raise ConfigError(f"RosTopics.{f.name}: received {value!r}, allowed is the name of a topic")

    @property
    def by_role(self) -> dict[str, str]:
        """Topic by stream, camera or `segments`."""
        return {role: topic for role in TYPES if (topic := getattr(self, role)) is not None}


def read_mcap(path: "str | os.PathLike[str]", topics: RosTopics, info: CellInfo) -> CellLog:
    """Return the recording in a bag as a cell log.

    Stamps are those of the headers, each topic sorted by them; messages without one, or with a stamp of zero, have the
    time of logging, which every stream keeps as `logged_s`. Seconds are counted from the first message's whole second.
    `provenance` has the bag's hash, `clock_origin_ns` and `notes`: the largest reorder, and which topics took the time
    of logging, were out of order, were logged late or compressed with loss.

    Args:
        path: The .mcap file.
        topics: What is where.
        info: Data sheets and settings of the cell; a bag has none.

    Raises:
        RecordingError: the bag is missing, cut off or damaged, lacks a topic, a topic has another type, or a message is
            not what is needed; the message names topic and number.
        ConfigError: the file cannot be hashed.
    """
    path = Path(path)
    roles: dict[str, list[str]] = {}
    for role, topic in topics.by_role.items():
        roles.setdefault(topic, []).append(role)
    found = {role: _Track() for role in topics.by_role}
    names = JointNames(topics.joint_names, topics.ignored_joints)
    for topic, schema, log_ns, number, message in _messages(path, list(roles)):
        stamp_ns = 0 if topic in topics.log_time_topics else _header_ns(message)
        for role in roles[topic]:
            where = f"{path}: {topic}, message {number}"
            if schema not in TYPES[role]:
                raise RecordingError(f"{path}: {topic} has type {schema}, allowed for {role} are {TYPES[role]}")
            content = _content(role, schema, message, names, topics, found[role], where)
            if content is not None:
                found[role].add(stamp_ns, log_ns, content)
    missing = [f"{topics.by_role[role]} ({role})" for role, track in found.items() if not track.content]
    if missing:
        raise RecordingError(f"{path}: no messages for {', '.join(missing)}; the bag has {_topics_of(path)}")
    return _log(path, topics, info, found)


@dataclass
class _Track:
    """Messages of one role in the order of logging."""

    stamps_ns: list[int] = field(default_factory=list)
    logged_ns: list[int] = field(default_factory=list)
    content: list[Any] = field(default_factory=list)
    unstamped: int = 0
    latest_ns: int = 0
    earliest_ns: int = 0
    due_s: float = 0.0
    lossy: bool = False

    def add(self, stamp_ns: int, log_ns: int, content: Any) -> None:
        if stamp_ns:
            self.latest_ns = max(self.latest_ns, log_ns - stamp_ns)
            self.earliest_ns = min(self.earliest_ns, log_ns - stamp_ns)
        self.unstamped += not stamp_ns
        self.stamps_ns.append(stamp_ns or log_ns)
        self.logged_ns.append(log_ns)
        self.content.append(content)

    def notes(self, what: str) -> list[str]:
        steps_back = -np.minimum(np.diff(np.array(self.stamps_ns, dtype=np.int64)), 0)
        told = []
        if self.unstamped:
            told.append(f"{what}: {self.unstamped} of {len(self.content)} messages without a stamp: time of logging")
        if self.latest_ns > 1e9 * LATE_S:
            told.append(f"{what}: logged up to {1e-6 * self.latest_ns:.0f} ms late; sorted by stamp")
        if self.earliest_ns < -1e9 * LATE_S:
            told.append(f"{what}: logged up to {-1e-6 * self.earliest_ns:.0f} ms before its stamp; clocks differ")
        if steps_back.any():
            told.append(
                f"{what}: {np.count_nonzero(steps_back)} messages were logged out of order, by up to "
                f"{1e-6 * steps_back.max():.0f} ms; sorted by stamp"
            )
        if self.due_s > 0.0:
            told.append(f"{what}: targets are due up to {1e3 * self.due_s:.0f} ms after they were sent")
        if self.lossy:
            told.append(f"{what}: compressed with loss before recording")
        return told


def _content(
    role: str, schema: str, message: Any, names: JointNames, topics: RosTopics, track: _Track, where: str
) -> Any:
    """Return values (n,) of a stream, an encoded picture, or text; None where a message is not about this role."""
    if role == "segments":
        return message.data
    if role in CAMERAS:
        track.lossy |= schema == COMPRESSED and "png" not in message.format.lower()
        return encode(image_rgb(message, where) if schema == IMAGE else compressed_rgb(message, where))
    wanted = STREAM_KINDS[role].names
    if schema == JOINT_STATE:
        return names.pick(wanted, list(message.name), list(message.position), where)
    if schema == TRAJECTORY:
        joints, positions, due_s = trajectory_point(message, where)
        track.due_s = max(track.due_s, due_s)
        return names.pick(wanted, joints, positions, where)
    values = [message.data] if schema == NUMBER else list(message.data)
    if role == "belt_command":
        if len(values) != 1:
            raise RecordingError(f"{where}: {len(values)} numbers, allowed is one speed")
        return np.array(values)
    return names.pick(wanted, list(topics.array_joints or wanted), values, where)


def _messages(path: Path, topics: list[str]) -> Iterator[tuple[str, str, int, int, Any]]:
    """Yield topic, type, time of logging [ns], number in the topic and decoded message, in the order of logging."""
    from mcap.reader import make_reader  # here: the topics can be named without the library
    from mcap_ros2.decoder import DecoderFactory

    numbers = dict.fromkeys(topics, 0)
    try:
        with open(path, "rb") as file:
            reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
            for schema, channel, message, decoded in reader.iter_decoded_messages(topics=topics):
                yield channel.topic, schema.name if schema else "", message.log_time, numbers[channel.topic], decoded
                numbers[channel.topic] += 1
    except FileNotFoundError as error:
        raise RecordingError(f"{path}: there is no such file") from error
    except Exception as error:  # the container, two compressions and the decoder have each their own errors
        raise RecordingError(
            f"{path}: cut off, damaged or no mcap of ROS 2 after {sum(numbers.values())} messages "
            f"({type(error).__name__}: {error}); `mcap recover` saves what is whole of a bag"
        ) from error


def _topics_of(path: Path) -> str:
    from mcap.reader import make_reader

    with open(path, "rb") as file:
        summary = make_reader(file).get_summary()
        channels = summary.channels.values() if summary else ()
        return ", ".join(sorted({channel.topic for channel in channels})) or "no topics"


def _header_ns(message: Any) -> int:
    """Return the stamp in a message's header [ns]; 0: there is none."""
    header = getattr(message, "header", None)
    return 0 if header is None else header.stamp.sec * 1_000_000_000 + header.stamp.nanosec


def _log(path: Path, topics: RosTopics, info: CellInfo, found: dict[str, _Track]) -> CellLog:
    origin_ns = min(min(track.stamps_ns) for track in found.values()) // 1_000_000_000 * 1_000_000_000
    streams, pictures, notes = {}, {}, _largest_reorder(topics, found)
    segments: tuple[Segment, ...] = ()
    for role, track in found.items():
        notes += track.notes(f"{role} ({topics.by_role[role]})")
        order = np.argsort(np.array(track.stamps_ns, dtype=np.int64), kind="stable")
        time_s = np.array([track.stamps_ns[i] - origin_ns for i in order]) * 1e-9
        logged_s = np.array([track.logged_ns[i] - origin_ns for i in order]) * 1e-9
        content = [track.content[i] for i in order]
        if role in STREAMS:
            streams[role] = Stream(time_s, np.array(content), logged_s)
        elif role in CAMERAS:
            pictures[role] = PictureStream(time_s, tuple(content), logged_s)
        else:
            segments = _segments(time_s, content, notes)
    if topics.segments is None:
        stamps = np.concatenate([s.time_s for s in (*streams.values(), *pictures.values())])
        segments = (Segment(WHOLE_RECORDING, float(stamps.min()), float(stamps.max())),)
    origin = {**provenance(topics, [path]), "clock_origin_ns": origin_ns, "notes": notes}
    streams = {name: streams[name] for name in STREAMS if name in streams}
    return CellLog(info, streams, pictures, segments, origin)


def _largest_reorder(topics: RosTopics, found: dict[str, _Track]) -> list[str]:
    """Return the line that tells which topic was logged latest after its stamps; none where all were logged at once."""
    role = max(found, key=lambda role: found[role].latest_ns)
    late_ns = found[role].latest_ns
    if late_ns <= 1e9 * LATE_S:
        return []
    return [f"largest reorder: {role} ({topics.by_role[role]}) logged {1e-6 * late_ns:.0f} ms late"]


def _segments(time_s: np.ndarray, texts: list[str], notes: list[str]) -> tuple[Segment, ...]:
    """Return the segments that begin with a name and end with an empty one, or with the next."""
    segments = []
    for i, name in enumerate(texts):
        if not name:
            continue
        if i + 1 == len(texts):
            notes.append(f"segment {name!r}, begun at {time_s[i]:.3f} s, has no end and is left out")
            continue
        segments.append(Segment(name, float(time_s[i]), float(time_s[i + 1])))
    return tuple(segments)
