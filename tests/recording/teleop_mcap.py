"""Writes what Isaac Teleop's recorder writes, byte by byte after its schema, for tests.

`hand.fbs` there: struct HandJointPose is position (3 float), orientation xyzw (4 float), is_valid (bool) and radius
(float); table HandPose has 26 of them; table HandPoseRecord has the pose and a struct of three int64 stamps.
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from mcap.writer import Writer

SCHEMA = "core.HandPoseRecord"


def joint_bytes(pos: np.ndarray, quat: np.ndarray, valid: np.ndarray) -> bytes:
    """Return the 26 joints' structs: the flag is padded to the four bytes of the radius."""
    joints = [struct.pack("<3f4f?3xf", *p, *q, bool(ok), 0.01) for p, q, ok in zip(pos, quat, valid, strict=True)]
    return b"".join(joints)


def record_bytes(joints: bytes | None, stamps_ns: tuple[int, int, int] | None) -> bytes:
    """Return a finished HandPoseRecord; a hand that is not active has no pose."""
    root = bytearray()
    # The record's vtable at 4: its size, the table's size, where pose and stamps are in the table.
    table, pose_at = 16, 4
    stamps_at = 8 if stamps_ns is not None else 0
    size = 8 + (24 if stamps_ns is not None else 0)
    root += struct.pack("<I", table) + b"\0\0\0\0"
    root += struct.pack("<4H", 8, size, pose_at if joints is not None else 0, stamps_at)
    root += struct.pack("<i", table - 8)
    after = table + size
    hand_table = after + 8  # behind the pose's vtable of 6 bytes and padding to 4
    root += struct.pack("<I", hand_table - (table + pose_at) if joints is not None else 0)
    if stamps_ns is not None:
        root += struct.pack("<3q", *stamps_ns)
    if joints is not None:
        root += struct.pack("<3H", 6, 4 + len(joints), 4) + b"\0\0"
        root += struct.pack("<i", 8) + joints
    return bytes(root)


def write_teleop(
    path: Path,
    messages: Mapping[str, Sequence[tuple[int, bytes]]],
    schema: str = SCHEMA,
    encoding: str = "flatbuffer",
) -> Path:
    """Write an mcap with the messages (log time [ns], content) of each topic, and return its path."""
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start()
        schema_id = writer.register_schema(schema, encoding, b"")
        for topic, content in messages.items():
            channel = writer.register_channel(topic, encoding, schema_id)
            for log_time, data in content:
                writer.add_message(channel, log_time=log_time, data=data, publish_time=log_time)
        writer.finish()
    return path


def hand_messages(
    pos: np.ndarray, quat: np.ndarray, valid: np.ndarray, time_s: np.ndarray, active: np.ndarray | None = None
) -> list[tuple[int, bytes]]:
    """Return messages of joints (T, 26, 3), (T, 26, 4), (T, 26), recorded 5 ms after each sample was taken."""
    messages = []
    for t, stamp_s in enumerate(time_s):
        taken = 1_000_000_000_000 + round(1e9 * stamp_s)
        logged = taken + 5_000_000
        joints = None if active is not None and not active[t] else joint_bytes(pos[t], quat[t], valid[t])
        messages.append((logged, record_bytes(joints, (logged, taken, 77))))
    return messages
