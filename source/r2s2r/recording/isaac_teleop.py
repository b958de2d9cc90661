"""Hands in recordings of NVIDIA Isaac Teleop: mcap with FlatBuffers, decoded after the published schema.

github.com/NVIDIA/IsaacTeleop, src/core/schema/fbs/hand.fbs: `core.HandPoseRecord` on the topics `<tracker>/right_hand`
and `<tracker>/left_hand`, with the 26 OpenXR joints as float32 in the session's space (y up, -z ahead, metres).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import MissingDependencyError, RecordingError
from r2s2r.recording.flatbuffer import Table
from r2s2r.recording.hand_facts import HANDEDNESS, which_hand
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.joint_orders import OPENXR_JOINTS
from r2s2r.recording.openxr import HeadsetJoints, headset_recording

SCHEMA, ENCODING = "core.HandPoseRecord", "flatbuffer"

JOINT = np.dtype(
    {
        "names": ["pos", "quat", "is_valid", "radius"],
        "formats": [("<f4", 3), ("<f4", 4), "u1", "<f4"],
        "offsets": [0, 12, 28, 32],
        "itemsize": 36,
    }
)
"""`struct HandJointPose` as FlatBuffers lays it out: the flag is padded to the radius' four bytes."""

STAMP = np.dtype([("available", "<i8"), ("sample", "<i8"), ("device", "<i8")])
"""`struct DeviceDataTimestamp` [ns]; the first two on the recorder's monotonic clock."""

_PALM_FIRST = slice(len(OPENXR_JOINTS) - 25, None)


def load_isaac_teleop(path: Path, handedness: str | None = None) -> HandRecording:
    """Return one hand of a recording; of two recorded hands the one asked for, else the right one.

    Raises:
        RecordingError: the file is missing, damaged, or holds no such hand; see :class:`HandRecording`.
        MissingDependencyError: the package `mcap` is not installed.
    """
    messages = list(_messages(path))
    topic = _topic(path, {topic for topic, _, _ in messages}, handedness)
    hand, who = which_hand(path, topic.rpartition("/")[2].removesuffix("_hand"), handedness)
    frames = [_frame(path, data, log_time) for name, log_time, data in messages if name == topic]
    stamps, joints = np.array([stamp for stamp, _ in frames]), np.stack([joints for _, joints in frames])
    order = np.argsort(stamps, kind="stable")
    new = np.append(True, np.diff(stamps[order]) > 0)
    stamps, joints = stamps[order][new], joints[order][new]
    notes = (f"topic {topic}",)
    if not new.all():
        notes += (f"{int((~new).sum())} samples recorded more than once, kept once",)
    return headset_recording(
        f"Isaac Teleop {path.name}",
        "Isaac Teleop recording (mcap)",
        hand,
        f"{who} ({topic})",
        "world",
        HeadsetJoints(
            time_s=(stamps - stamps[0]) / 1e9,
            pos=joints["pos"][:, _PALM_FIRST].astype(float),
            valid=joints["is_valid"][:, _PALM_FIRST] != 0,
            wrist_quat=joints["quat"][:, OPENXR_JOINTS.index("wrist")].astype(float),
        ),
        notes,
    )


def _messages(path: Path) -> Iterator[tuple[str, int, bytes]]:
    """Yield topic, log time [ns] and content of each message with a hand."""
    try:
        from mcap.reader import make_reader
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{path}: mcap is not installed; bring it by: pip install 'r2s2r[ground]'"
        ) from error
    try:
        with open(path, "rb") as file:
            for schema, channel, message in make_reader(file).iter_messages():
                if schema is not None and schema.name == SCHEMA and channel.message_encoding == ENCODING:
                    yield channel.topic, message.log_time, message.data
    except FileNotFoundError as error:
        raise RecordingError(f"{path}: there is no such file") from error
    except Exception as error:  # the reader raises whatever the damaged bytes lead it to
        raise RecordingError(f"{path}: cut off, damaged or no mcap ({type(error).__name__}: {error})") from error


def _topic(path: Path, topics: set[str], handedness: str | None) -> str:
    """Return the topic of the hand asked for, else of the right hand, else of the left one."""
    for hand in HANDEDNESS if handedness is None else (handedness,):
        fitting = sorted(topic for topic in topics if topic.rpartition("/")[2] == f"{hand}_hand")
        if len(fitting) > 1:
            raise RecordingError(f"{path}: {len(fitting)} topics with a {hand} hand ({', '.join(fitting)}); keep one")
        if fitting:
            return fitting[0]
    wanted = "hand" if handedness is None else f"{handedness} hand"
    raise RecordingError(
        f"{path}: no {wanted} in it: no messages of {SCHEMA} on <tracker>/right_hand or <tracker>/left_hand"
        + (f"; there are {', '.join(sorted(topics))}" if topics else "")
    )


def _frame(path: Path, data: bytes, log_time: int) -> tuple[int, np.ndarray]:
    """Return the stamp [ns] and the joints (26,) of a message; a hand that was not active has none that is valid."""
    try:
        record = Table.root(data)
        stamp = record.structs(1, STAMP, 1)
        pose = record.table(0)
        joints = None if pose is None else pose.structs(0, JOINT, len(OPENXR_JOINTS))
    except ValueError as error:
        raise RecordingError(f"{path}: a message is no {SCHEMA} ({error})") from error
    taken = log_time if stamp is None or not stamp["sample"][0] else int(stamp["sample"][0])
    return taken, np.zeros(len(OPENXR_JOINTS), JOINT) if joints is None else joints
