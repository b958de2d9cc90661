"""ROS 2 bags as cell logs: joints by name, stamps of the headers, what is not understood is refused."""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS, ROBOT_JOINTS
from r2s2r.recording.cell_log import CellLog, Segment
from r2s2r.recording.cell_log_file import read_cell_log, write_cell_log
from r2s2r.recording.log_checks import check_cell_log
from r2s2r.recording.pictures import decode
from r2s2r.recording.ros_bag import RosTopics, read_mcap

from .log_sample import sample_info, sample_log
from .ros_bags import EPOCH_S, Bag

INFO = sample_info()
ARM = RosTopics(arm_joint_pos="/joint_states")
VENDOR_HAND = tuple(f"joint_{i}.0" for i in range(16))


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "bag.mcap"


def test_a_whole_recording_comes_through(path, rng, tmp_path):
    """Every kind of message; the log passes the checks, and the file written of it says the same."""
    log = sample_log(rng)
    with Bag(path) as bag:
        bag.write("/segment", "std_msgs/String", {"data": "arm_chirp"}, 1.0)
        bag.write("/segment", "std_msgs/String", {"data": "hand_steps"}, 6.0)
        bag.write("/segment", "std_msgs/String", {"data": ""}, 11.0)
        bag.write("/segment", "std_msgs/String", {"data": "belt_run"}, 11.5)
        for time, values in rows(log, "arm_joint_pos"):
            bag.joints("/arm/joint_states", ARM_JOINTS, values, 1.0 + time)
        for time, values in rows(log, "hand_joint_pos"):
            bag.joints("/hand/joint_states", VENDOR_HAND, values, 1.0 + time)
        for time, values in rows(log, "arm_command"):
            bag.trajectory("/arm/target", ARM_JOINTS, values, 1.0 + time, due_s=0.005)
        for time, values in rows(log, "hand_command"):
            bag.numbers("/hand/target", values, 1.0 + time)
        for time, values in rows(log, "belt_command"):
            bag.write("/belt", "std_msgs/Float64", {"data": float(values[0])}, 1.0 + time)
        for camera, encoding in (("wrist", "rgb8"), ("head", "bgr8")):
            for time, png in zip(log.pictures[camera].time_s, log.pictures[camera].png, strict=True):
                rgb = decode(png)
                data = rgb if encoding == "rgb8" else rgb[..., ::-1]
                bag.image(f"/{camera}/image", data, encoding, 1.0 + time, 1.03 + time, pad=5)
    topics = RosTopics(
        arm_joint_pos="/arm/joint_states",
        hand_joint_pos="/hand/joint_states",
        arm_command="/arm/target",
        hand_command="/hand/target",
        belt_command="/belt",
        wrist="/wrist/image",
        head="/head/image",
        segments="/segment",
    )
    found = read_mcap(path, topics, INFO)
    # Unix time in nanoseconds comes back to a float's resolution after the whole second is taken off.
    for name, stream in log.streams.items():
        offset = found.streams[name].time_s - stream.time_s
        assert np.allclose(offset, 1.0 + found_origin(found), rtol=0.0, atol=2e-9)
        assert np.array_equal(found.streams[name].values, stream.values)
    for camera, pictures in log.pictures.items():
        for png, expected in zip(found.pictures[camera].png, pictures.png, strict=True):
            assert np.array_equal(decode(png), decode(expected))
    assert [s.name for s in found.segments] == ["arm_chirp", "hand_steps"]
    notes = "\n".join(found.provenance["notes"])
    assert "hand_command (/hand/target): 500 of 500 messages without a stamp: time of logging" in notes
    assert "wrist (/wrist/image): logged up to 30 ms late" in notes
    assert "arm_command (/arm/target): targets are due up to 5 ms after" in notes
    assert "segment 'belt_run', begun at" in notes
    assert list(found.provenance["inputs"]) == ["bag.mcap"]
    check_cell_log(found)
    write_cell_log(tmp_path / "log.h5", found)
    assert read_cell_log(tmp_path / "log.h5").provenance == found.provenance


def rows(log: CellLog, stream: str) -> Iterator[tuple[float, np.ndarray]]:
    return zip(log.streams[stream].time_s, log.streams[stream].values, strict=True)


def found_origin(log: CellLog) -> float:
    """Return how many seconds the bag's EPOCH_S lies after the log's zero."""
    return EPOCH_S - log.provenance["clock_origin_ns"] / 1e9


def test_b86_joints_are_mapped_by_name(path):
    """Names joint1, 2, 4, 5, 3, 6, 7 and 16 hand joints from a second publisher; velocity NaN."""
    order = ("joint1", "joint2", "joint4", "joint5", "joint3", "joint6", "joint7")
    with Bag(path) as bag:
        for i in range(5):
            bag.joints("/joint_states", order, [int(name[5:]) for name in order], 0.01 * i)
            bag.joints("/joint_states", VENDOR_HAND[::-1], range(15, -1, -1), 0.01 * i + 0.002)
    log = read_mcap(path, RosTopics(arm_joint_pos="/joint_states", hand_joint_pos="/joint_states"), INFO)
    assert log.streams["arm_joint_pos"].values.tolist() == [list(range(1, 8))] * 5
    assert log.streams["hand_joint_pos"].values.tolist() == [list(range(16))] * 5
    assert log.segments == (Segment("recording", 0.0, 0.042),)


def test_b62_topics_are_paired_by_header_and_the_time_of_logging_is_kept(path, tmp_path):
    """A picture of 0.00 s logged at 0.12 s, joints of 0.10 s logged at 0.05 s; targets without a header."""
    picture = np.zeros((4, 8, 3), dtype=np.uint8)
    with Bag(path) as bag:
        bag.joints("/joints", ARM_JOINTS, range(7), 0.10, logged_s=0.05)
        bag.numbers("/targets", range(7), 0.06)
        bag.image("/camera", picture, "rgb8", 0.0, 0.12)
        bag.joints("/joints", ARM_JOINTS, range(7, 14), 0.0, logged_s=0.13)
    log = read_mcap(path, RosTopics(arm_joint_pos="/joints", arm_command="/targets", head="/camera"), INFO)
    joints, targets, head = log.streams["arm_joint_pos"], log.streams["arm_command"], log.pictures["head"]
    assert joints.time_s.tolist() == pytest.approx([0.0, 0.10]) and joints.values[0, 0] == 7.0
    assert head.time_s.tolist() == pytest.approx([0.0]), "paired with the joints of the same instant"
    assert targets.time_s.tolist() == pytest.approx([0.06])
    for stream, logged in ((joints, [0.13, 0.05]), (targets, [0.06]), (head, [0.12])):
        assert stream.logged_s.tolist() == pytest.approx(logged)
    notes = log.provenance["notes"]
    assert notes[0] == "largest reorder: arm_joint_pos (/joints) logged 130 ms late"
    assert "head (/camera): logged up to 120 ms late; sorted by stamp" in notes
    assert "arm_joint_pos (/joints): logged up to 50 ms before its stamp; clocks differ" in notes
    assert "arm_joint_pos (/joints): 1 messages were logged out of order, by up to 100 ms; sorted by stamp" in notes
    assert "arm_command (/targets): 1 of 1 messages without a stamp: time of logging" in notes
    write_cell_log(tmp_path / "log.h5", log)
    found = read_cell_log(tmp_path / "log.h5")
    assert np.array_equal(found.streams["arm_joint_pos"].logged_s, joints.logged_s)
    assert np.array_equal(found.pictures["head"].logged_s, head.logged_s)


def test_b62_the_camera_alone_is_late(path):
    with Bag(path) as bag:
        bag.joints("/joints", ARM_JOINTS, range(7), 0.10, logged_s=0.05)
        bag.image("/camera", np.zeros((4, 8, 3), dtype=np.uint8), "rgb8", 0.0, 0.12)
    log = read_mcap(path, RosTopics(arm_joint_pos="/joints", head="/camera"), INFO)
    assert log.provenance["notes"][0] == "largest reorder: head (/camera) logged 120 ms late"


def test_one_message_with_the_whole_robot_serves_both(path):
    names = ROBOT_JOINTS[::-1]
    with Bag(path) as bag:
        bag.joints("/joint_states", names, range(23), 0.5)
        bag.numbers("/targets", range(23), 0.5)
    topics = RosTopics(
        arm_joint_pos="/joint_states",
        hand_joint_pos="/joint_states",
        arm_command="/targets",
        hand_command="/targets",
        array_joints=names,
    )
    log = read_mcap(path, topics, INFO)
    for part, values in (("arm", range(22, 15, -1)), ("hand", range(15, -1, -1))):
        assert log.streams[f"{part}_joint_pos"].values.tolist() == [list(values)]
        assert log.streams[f"{part}_command"].values.tolist() == [list(values)]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (ARM_JOINTS[:6], "message 0: joints missing: joint7"),
        ((*ARM_JOINTS, "drive_joint"), "unknown joints drive_joint; known are joint1"),
        ((*ARM_JOINTS[:6], "joint1"), "'joint1' comes twice"),
        (tuple(f"xarm_{i}" for i in range(7)), "unknown joints xarm_0, xarm_1"),
    ],
)
def test_b86_missing_and_unknown_joints_are_refused(path, names, message):
    with Bag(path) as bag:
        bag.joints("/joint_states", names, range(len(names)), 0.0)
    with pytest.raises(RecordingError, match=message) as caught:
        read_mcap(path, ARM, INFO)
    assert f"{path}: /joint_states" in str(caught.value)


def test_a_gripper_is_left_out_where_it_is_named_and_other_names_are_mapped(path):
    names = tuple(f"xarm_{i}" for i in range(1, 8))
    with Bag(path) as bag:
        bag.joints("/joint_states", (*names, "drive_joint"), range(8), 0.0)
    mapped = dict(zip(names, ARM_JOINTS, strict=True))
    topics = RosTopics(arm_joint_pos="/joint_states", joint_names=mapped, ignored_joints=("drive_joint",))
    assert read_mcap(path, topics, INFO).streams["arm_joint_pos"].values.tolist() == [list(range(7))]


def test_b62_messages_are_sorted_by_the_stamps_of_their_headers(path, rng):
    """Camera header 0.00 logged 0.12; joint header 0.10 logged 0.05 and out of order."""
    picture = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    with Bag(path) as bag:
        bag.joints("/joint_states", ARM_JOINTS, [1.0] * 7, 0.10, logged_s=0.05)
        bag.joints("/joint_states", ARM_JOINTS, [0.0] * 7, 0.02, logged_s=0.06)
        bag.image("/image", picture, "rgb8", 0.0, 0.12)
        bag.write("/belt", "std_msgs/Float64", {"data": 0.1}, 0.2)
    log = read_mcap(path, RosTopics(arm_joint_pos="/joint_states", wrist="/image", belt_command="/belt"), INFO)
    assert np.allclose(log.streams["arm_joint_pos"].time_s, [0.02, 0.10], rtol=0.0, atol=1e-9)
    assert log.streams["arm_joint_pos"].values[:, 0].tolist() == [0.0, 1.0]
    assert log.pictures["wrist"].time_s.tolist() == [0.0]
    notes = "\n".join(log.provenance["notes"])
    assert "wrist (/image): logged up to 120 ms late" in notes
    assert "arm_joint_pos (/joint_states): 1 messages were logged out of order" in notes
    assert "belt_command (/belt): 1 of 1 messages without a stamp" in notes


def test_an_unset_stamp_and_a_distrusted_one_give_the_time_of_logging(path):
    with Bag(path) as bag:
        bag.joints("/a", ARM_JOINTS, [0.0] * 7, None, logged_s=0.25)
        bag.joints("/b", HAND_JOINTS, [0.0] * 16, -EPOCH_S + 7.0, logged_s=0.5)  # a controller's own clock
    topics = RosTopics(arm_joint_pos="/a", hand_joint_pos="/b", log_time_topics=("/b",))
    log = read_mcap(path, topics, INFO)
    assert log.streams["arm_joint_pos"].time_s.tolist() == [0.25]
    assert log.streams["hand_joint_pos"].time_s.tolist() == [0.5]
    assert len(log.provenance["notes"]) == 2
    with pytest.raises(RecordingError, match="all stamps must come from one clock"):
        check_cell_log(
            read_mcap(path, RosTopics(arm_joint_pos="/a", hand_joint_pos="/b"), INFO), ("arm_joint_pos",), ()
        )


def test_trajectories_of_several_points_are_refused(path):
    for points in (0, 2):
        with Bag(path) as bag:
            bag.trajectory("/target", ARM_JOINTS, [0.0] * 7, 0.0, points=points)
        with pytest.raises(RecordingError, match=f"message 0: trajectory of {points} points; allowed is one"):
            read_mcap(path, RosTopics(arm_command="/target"), INFO)


def test_pictures_of_every_encoding(path, rng):
    rgb = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    alpha = rng.integers(0, 256, (48, 64, 1), dtype=np.uint8)
    grey = np.repeat(rgb[..., :1], 3, axis=-1)
    sent = {
        "rgb8": (rgb, rgb),
        "bgr8": (rgb[..., ::-1], rgb),
        "rgba8": (np.concatenate([rgb, alpha], axis=-1), rgb),
        "bgra8": (np.concatenate([rgb[..., ::-1], alpha], axis=-1), rgb),
        "mono8": (rgb[..., :1], grey),
    }
    for encoding, (data, expected) in sent.items():
        for pad in (0, 3):
            with Bag(path) as bag:
                bag.image("/image", data, encoding, 0.0, 0.0, pad)
            (png,) = read_mcap(path, RosTopics(head="/image"), INFO).pictures["head"].png
            assert np.array_equal(decode(png), expected), encoding


def test_compressed_pictures(path, rng):
    rgb = cv2.resize(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8), (64, 48), interpolation=cv2.INTER_CUBIC)
    for kind, form in ((".png", "bgr8; png compressed bgr8"), (".jpg", "jpeg")):
        data = cv2.imencode(kind, rgb[..., ::-1])[1].tobytes()
        with Bag(path) as bag:
            message = {
                "header": {"stamp": {"sec": EPOCH_S, "nanosec": 0}, "frame_id": ""},
                "format": form,
                "data": data,
            }
            bag.write("/image", "sensor_msgs/CompressedImage", message, 0.0)
        log = read_mcap(path, RosTopics(wrist="/image"), INFO)
        difference = decode(log.pictures["wrist"].png[0]).astype(int) - rgb
        assert np.abs(difference).max() == 0 if kind == ".png" else np.abs(difference).mean() < 5.0
        assert ("compressed with loss" in "".join(log.provenance["notes"])) == (kind == ".jpg")
    with Bag(path) as bag:
        bag.write("/image", "sensor_msgs/CompressedImage", {**message, "data": b"none"}, 0.0)
    with pytest.raises(RecordingError, match="4 bytes of 'jpeg' are no picture"):
        read_mcap(path, RosTopics(wrist="/image"), INFO)


def test_pictures_that_are_not_understood_are_refused(path):
    for encoding, data, message in (
        ("16UC1", np.zeros((4, 8, 1), np.uint8), "encoding '16UC1', allowed are rgb8"),
        ("rgb8", np.zeros((4, 8, 1), np.uint8), "do not make 8 x 4 px of rgb8"),
    ):
        with Bag(path) as bag:
            bag.image("/image", data, encoding, 0.0, 0.0)
        with pytest.raises(RecordingError, match=message):
            read_mcap(path, RosTopics(wrist="/image"), INFO)


def test_numbers_of_another_count_are_refused(path):
    with Bag(path) as bag:
        bag.numbers("/arm", [0.0] * 6, 0.0)
        bag.numbers("/belt", [0.0] * 2, 0.0)
    with pytest.raises(RecordingError, match="/arm, message 0: 7 names and 6 values"):
        read_mcap(path, RosTopics(arm_command="/arm"), INFO)
    with pytest.raises(RecordingError, match="/belt, message 0: 2 numbers, allowed is one speed"):
        read_mcap(path, RosTopics(belt_command="/belt"), INFO)


def test_a_missing_topic_and_a_wrong_type_are_named(path):
    with Bag(path) as bag:
        bag.joints("/joint_states", HAND_JOINTS, [0.0] * 16, 0.0)
        bag.numbers("/targets", [0.0], 0.0)
    for topics in (RosTopics(arm_joint_pos="/arm"), ARM):
        with pytest.raises(RecordingError, match=r"no messages for /\w+ \(arm_joint_pos\); the bag has /joint_st"):
            read_mcap(path, topics, INFO)
    with pytest.raises(RecordingError, match="/joint_states has type sensor_msgs/msg/JointState, allowed for wrist"):
        read_mcap(path, RosTopics(wrist="/joint_states"), INFO)


def test_a_damaged_bag_is_one_clear_error(path, rng):
    with pytest.raises(RecordingError, match="there is no such file"):
        read_mcap(path, ARM, INFO)
    with Bag(path) as bag:
        for i in range(50):
            bag.joints("/joint_states", ARM_JOINTS, rng.normal(size=7), 0.01 * i)
    whole = path.read_bytes()
    for content in (b"", b"\x80\x04}.", whole[:-1], whole[: len(whole) // 2], whole[:9], whole[8:]):
        path.write_bytes(content)
        with pytest.raises(RecordingError, match="cut off, damaged or no mcap of ROS 2 after 0 messages"):
            read_mcap(path, ARM, INFO)
    for place in rng.integers(0, len(whole), 40):
        content = bytearray(whole)
        content[place] ^= 0xFF
        path.write_bytes(content)
        try:
            log = read_mcap(path, ARM, INFO)
        except RecordingError as error:
            assert str(path) in str(error)
        else:
            assert len(log.streams["arm_joint_pos"].time_s) == 50


def test_topics_are_checked():
    with pytest.raises(ConfigError, match="no topic given; allowed are arm_joint_pos"):
        RosTopics()
    with pytest.raises(ConfigError, match="RosTopics.head: received 3, allowed is the name of a topic"):
        RosTopics(head=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="joint_names: received elbow, allowed are joint1"):
        RosTopics(head="/image", joint_names={"j4": "elbow"})
