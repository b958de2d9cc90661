"""Recordings of Isaac Teleop, written here after its published schema: joints, validity, two hands, damage."""

import struct

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_angle
from r2s2r.recording.flatbuffer import Table
from r2s2r.recording.isaac_teleop import JOINT, STAMP
from r2s2r.recording.load import load_hand_recording, source_type

from ..hand_layouts import FRAMES, POS, QUAT, TIME_S, in_room, openxr_fields
from ..synthetic_hand import hand_keypoints
from .teleop_mcap import hand_messages, joint_bytes, record_bytes, write_teleop

BEND = np.linspace(0.0, 1.0, FRAMES)[:, None] * np.ones(4)


def joints(handedness="right"):
    fields = openxr_fields(hand_keypoints(BEND, handedness), POS, QUAT, TIME_S, handedness)
    return fields["joint_positions_m"], fields["joint_quats"], fields["joint_valid"]


def test_layout_of_the_structs_is_the_schemas():
    """Sizes and places as the FlatBuffers compiler gives them for the schema."""
    assert JOINT.itemsize == 36 and STAMP.itemsize == 24
    assert [JOINT.fields[name][1] for name in ("pos", "quat", "is_valid", "radius")] == [0, 12, 28, 32]


def test_hand_comes_back_in_our_axes(tmp_path):
    path = write_teleop(tmp_path / "a.mcap", {"hands/right_hand": hand_messages(*joints(), TIME_S)})
    assert source_type(path) == "isaac_teleop"
    hand = load_hand_recording(path)
    # Joints are in single precision, some metres from the origin at most.
    assert np.abs(hand.keypoints_m - in_room(hand_keypoints(BEND), POS, QUAT)).max() < 1e-6
    assert quat_angle(hand.wrist_quat, QUAT).max() < 1e-3
    assert np.abs(hand.time_s - TIME_S).max() < 1e-8, "times of the samples, not of the log"
    assert hand.facts.handedness == "declared by the file (hands/right_hand)"


def test_b27_hand_that_is_not_active_or_not_valid_is_not_tracked(tmp_path):
    pos, quat, valid = joints()
    pos[20:29], valid[20:29] = 0.0, False
    active = np.ones(FRAMES, dtype=bool)
    active[40:43] = False
    path = write_teleop(tmp_path / "a.mcap", {"hands/right_hand": hand_messages(pos, quat, valid, TIME_S, active)})
    hand = load_hand_recording(path)
    assert np.flatnonzero(~hand.tracked).tolist() == [*range(20, 29), *range(40, 43)]
    assert (hand.wrist_pos[20:29] == hand.wrist_pos[19]).all()
    assert [(s.frames, s.reason) for s in hand.spans] == [(9, "wrist lost"), (3, "wrist lost")]


def test_one_of_two_hands_is_read(tmp_path):
    both = {f"hands/{hand}_hand": hand_messages(*joints(hand), TIME_S) for hand in ("left", "right")}
    path = write_teleop(tmp_path / "a.mcap", both)
    assert load_hand_recording(path).handedness == "right"
    assert load_hand_recording(path, handedness="left").handedness == "left"
    alone = write_teleop(tmp_path / "b.mcap", {"hands/left_hand": both["hands/left_hand"]})
    assert load_hand_recording(alone).handedness == "left"
    with pytest.raises(RecordingError, match="no right hand in it.*there are hands/left_hand"):
        load_hand_recording(alone, handedness="right")
    twice = write_teleop(tmp_path / "c.mcap", both | {"extra/right_hand": both["hands/right_hand"]})
    with pytest.raises(RecordingError, match=r"2 topics with a right hand \(extra/right_hand, hands/right_hand\)"):
        load_hand_recording(twice)


def test_samples_recorded_twice_are_kept_once(tmp_path):
    messages = hand_messages(*joints(), TIME_S)
    doubled = [m for message in messages for m in (message, (message[0] + 1_000_000, message[1]))]
    hand = load_hand_recording(write_teleop(tmp_path / "a.mcap", {"hands/right_hand": doubled}))
    assert len(hand) == FRAMES and any("60 samples recorded more than once" in note for note in hand.facts.notes)


def test_records_without_stamps_take_the_log_time(tmp_path):
    pos, quat, valid = joints()
    content = [
        (round(1e9 * t), record_bytes(joint_bytes(p, q, v), None))
        for t, p, q, v in zip(TIME_S, pos, quat, valid, strict=True)
    ]
    hand = load_hand_recording(write_teleop(tmp_path / "a.mcap", {"hands/right_hand": content}))
    assert np.abs(hand.time_s - TIME_S).max() < 1e-8


def test_other_and_damaged_recordings_are_one_line(tmp_path):
    good = write_teleop(tmp_path / "a.mcap", {"hands/right_hand": hand_messages(*joints(), TIME_S)})
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(good.read_bytes()[:5000])
    other = write_teleop(tmp_path / "b.mcap", {"head/head": []}, schema="core.HeadPoseRecord")
    broken = write_teleop(tmp_path / "c.mcap", {"hands/right_hand": [(0, b"\x10\0\0\0\xff\xff")]})
    for path, message in (
        (cut, "cut off, damaged or no mcap"),
        (other, "no hand in it: no messages of core.HandPoseRecord"),
        (broken, "a message is no core.HandPoseRecord"),
        (tmp_path / "none.mcap", "there is no such file"),
    ):
        with pytest.raises(RecordingError, match=message) as error:
            load_hand_recording(path)
        assert "\n" not in str(error.value)


def test_reading_never_leaves_the_buffer(rng):
    """Any bytes, and a good record with any byte changed: a value or ValueError, nothing else."""
    pos, quat, valid = joints()
    good = bytearray(hand_messages(pos, quat, valid, TIME_S)[0][1])
    damaged = [bytes(rng.integers(0, 256, size=int(n), dtype=np.uint8)) for n in rng.integers(0, 80, 300)]
    for at in range(60):
        changed = bytearray(good)
        struct.pack_into("<B", changed, at, int(rng.integers(256)))
        damaged.append(bytes(changed))
    for buffer in damaged:
        try:
            record = Table.root(buffer)
            record.structs(1, STAMP, 1)
            pose = record.table(0)
            found = None if pose is None else pose.structs(0, JOINT, 26)
        except ValueError:
            continue
        assert found is None or found.shape == (26,)
