"""Demonstrations out of a cell's log: the wrist where the joints put it, targets that hold, gaps that stay gaps."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import matrix_from_quat, pose
from r2s2r.contracts.world import ArmModel, World
from r2s2r.control.kinematics import serial_chain
from r2s2r.recording.cell_demonstration import CellDemonstration, cell_demonstrations
from r2s2r.recording.cell_log import CellLog, Segment, Stream
from r2s2r.recording.cell_log_file import read_cell_log, write_cell_log
from r2s2r.robot.description import compose

from .log_sample import LAG_S, sample_log, spoilt, targets

START_S, END_S = 2.0, 5.0


@pytest.fixture(scope="module")
def chain():
    description = compose()
    return serial_chain(description.urdf_path, description.wrist_link)


@pytest.fixture
def log(rng) -> CellLog:
    """The arm moves through the demonstration, the hand was commanded at 90 Hz from before it to behind it."""
    log = sample_log(rng)
    sent = np.arange(1.5, 11.0, 1.0 / 90.0)
    log = spoilt(log, "hand_command", sent, targets(sent, 16, 2.5))
    return replace(log, segments=(Segment("demonstration", START_S, END_S), Segment("demonstration", END_S, 6.0)))


def test_the_wrist_is_where_the_joints_put_it(chain, log):
    """Readings are 0.1 mrad noisy and 50 ms late; at 0.8 m of reach and 7 joints that is below a millimetre."""
    demonstration, second = cell_demonstrations(log, chain, name="log")
    assert (demonstration.name, second.name) == ("log/demonstration_0", "log/demonstration_1")
    assert len(demonstration) == 90 and demonstration.rate_hz == pytest.approx(30.0)
    assert demonstration.time_s[-1] == pytest.approx(2.967, abs=5e-4)
    truth = chain.wrist_pose(targets(START_S + demonstration.time_s - LAG_S, 7, 1.0))
    found = pose(demonstration.wrist_pos_b, demonstration.wrist_quat_b)
    assert np.abs(found - truth).max() < 2e-3
    assert np.sum(demonstration.wrist_quat_b[1:] * demonstration.wrist_quat_b[:-1], axis=-1).min() > 0.9
    assert demonstration.tracked.all()


def test_commands_hold_until_the_next(chain, log):
    demonstration, _ = cell_demonstrations(log, chain)
    clock, sent = START_S + demonstration.time_s, log.streams["hand_command"].time_s
    latest = np.array([sent[sent <= t].max() for t in clock])
    assert np.array_equal(demonstration.hand_joint_pos, targets(latest, 16, 2.5))
    assert demonstration.belt_speed is not None and (demonstration.belt_speed == 0.06).all()


def test_an_identified_arm_takes_its_bias_off_and_moves_its_frames(chain, log, rng):
    bias = rng.normal(0.0, 0.02, 7)
    offsets = rng.normal(0.0, 1e-3, (7, 6))
    nominal = World.nominal().arm
    arm = replace(nominal, encoder_bias=tuple(bias), kinematic_offsets=tuple(map(tuple, offsets)))
    assert isinstance(arm, ArmModel)
    readings = log.streams["arm_joint_pos"]
    biased = spoilt(log, "arm_joint_pos", values=readings.values + bias)
    plain = cell_demonstrations(log, chain.moved(offsets))[0]
    found = cell_demonstrations(biased, chain, arm)[0]
    assert np.allclose(found.wrist_pos_b, plain.wrist_pos_b, atol=1e-12)
    assert np.allclose(matrix_from_quat(found.wrist_quat_b), matrix_from_quat(plain.wrist_quat_b), atol=1e-12)


def test_a_gap_of_the_encoders_and_the_time_before_the_first_target_are_not_tracked(chain, log):
    readings = log.streams["arm_joint_pos"]
    seen = (readings.time_s < 3.0) | (readings.time_s > 3.5)
    spoiled = spoilt(log, "arm_joint_pos", readings.time_s[seen], readings.values[seen])
    sent = log.streams["hand_command"]
    late = sent.time_s > 2.2
    spoiled = spoilt(spoiled, "hand_command", sent.time_s[late], sent.values[late])
    demonstration, _ = cell_demonstrations(spoiled, chain)
    lost = START_S + demonstration.time_s[~demonstration.tracked]
    assert ((lost < 2.22) | ((lost > 2.99) & (lost < 3.51))).all()
    assert len(lost) == pytest.approx(0.2 * 30 + 0.5 * 30, abs=3)
    assert np.isfinite(demonstration.wrist_pos_b).all()


def test_the_log_on_disk_gives_the_same(chain, log, tmp_path):
    write_cell_log(tmp_path / "log.h5", log)
    first, second = cell_demonstrations(log, chain), cell_demonstrations(read_cell_log(tmp_path / "log.h5"), chain)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.wrist_pos_b, b.wrist_pos_b) and np.array_equal(a.hand_joint_pos, b.hand_joint_pos)


def test_a_log_without_a_belt_says_so(chain, log):
    streams = {name: stream for name, stream in log.streams.items() if name != "belt_command"}
    demonstration = cell_demonstrations(replace(log, streams=streams), chain)[0]
    assert demonstration.belt_speed is None
    assert "left out: the belt's speed, which the log has not" in demonstration.statements


def test_what_is_missing_is_named(chain, log):
    with pytest.raises(RecordingError, match="no segment 'demonstration'; there are arm_chirp"):
        cell_demonstrations(replace(log, segments=(Segment("arm_chirp", 1.0, 2.0),)), chain)
    streams = {name: stream for name, stream in log.streams.items() if name != "hand_command"}
    with pytest.raises(RecordingError, match="stream hand_command is needed; the log has arm_command, arm_joint_pos"):
        cell_demonstrations(replace(log, streams=streams), chain)
    late = Stream(np.array([20.0, 21.0]), np.zeros((2, 16)))
    with pytest.raises(RecordingError, match="no step is tracked"):
        cell_demonstrations(replace(log, streams={**log.streams, "hand_command": late}), chain)


def test_arrays_are_checked():
    good = {
        "name": "d",
        "time_s": np.arange(3) / 30.0,
        "wrist_pos_b": np.zeros((3, 3)),
        "wrist_quat_b": np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)),
        "hand_joint_pos": np.zeros((3, 16)),
        "belt_speed": np.zeros(3),
        "tracked": np.ones(3, dtype=bool),
    }
    CellDemonstration(**good)
    for field, value, message in (
        ("wrist_pos_b", np.zeros((2, 3)), r"wrist_pos_b has shape \(2, 3\), expected \(3, 3\)"),
        ("belt_speed", np.array([0.0, np.nan, 0.0]), "belt_speed is not finite in row 1"),
        ("wrist_quat_b", np.zeros((3, 4)), "must hold unit quaternions"),
        ("time_s", np.zeros(3), "time does not increase at row 1"),
    ):
        with pytest.raises(RecordingError, match=message):
            CellDemonstration(**{**good, field: value})
