"""What must not pass as a calibration recording is refused by name, and what a fit can live with is warned of."""

import re
from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log import CellLog, PictureStream, Segment, Stream
from r2s2r.recording.feedback_checks import check_rate, echoed_joints, effective_rate_hz
from r2s2r.recording.log_checks import check_cell_log, dropped_samples
from r2s2r.recording.pictures import encode

from .log_sample import spoilt, targets


def refusal(log: CellLog, **needed) -> str:
    with pytest.raises(RecordingError) as caught:
        check_cell_log(log, **needed)
    return str(caught.value)


def test_a_good_recording_passes_without_a_warning(log):
    assert check_cell_log(log) == ()


def test_what_is_missing_is_named(log):
    without = replace(log, streams={name: s for name, s in log.streams.items() if name != "hand_joint_pos"})
    assert "stream hand_joint_pos missing or empty; there are arm_command" in refusal(without)
    assert "camera head missing" in refusal(replace(log, pictures={"wrist": log.pictures["wrist"]}))
    empty = spoilt(log, "belt_command", np.zeros(0), np.zeros((0, 1)))
    assert "stream belt_command missing" in refusal(empty)
    assert check_cell_log(empty, streams=("arm_command", "arm_joint_pos"), cameras=()) == ()
    assert check_cell_log(without, streams=("arm_command", "arm_joint_pos")) == ()


@pytest.mark.parametrize(("step", "verb"), [(-0.01, "goes back"), (0.0, "repeats")])
def test_time_stamps_that_go_back_or_repeat_are_refused(log, step, verb):
    time = log.streams["hand_joint_pos"].time_s.copy()
    time[700] = time[699] + step
    message = refusal(spoilt(log, "hand_joint_pos", time_s=time))
    assert re.search(rf"hand_joint_pos: time {verb} at index 700: {time[700]:.6f} s after {time[699]:.6f} s", message)
    head = log.pictures["head"]
    pictures = {**log.pictures, "head": replace(head, time_s=head.time_s[::-1])}
    assert "pictures of head: time goes back at index 1" in refusal(replace(log, pictures=pictures))


def test_what_is_not_finite_is_refused_with_its_place(log):
    values = log.streams["arm_joint_pos"].values.copy()
    values[300, 3] = np.nan
    time = log.streams["arm_joint_pos"].time_s.copy()
    message = refusal(spoilt(log, "arm_joint_pos", values=values))
    assert f"joint4 is nan at index 300 ({time[300]:.3f} s; 1 such values)" in message
    time[5] = np.inf
    assert "stamp 5 is inf" in refusal(spoilt(log, "arm_joint_pos", time_s=time))


def test_degrees_beyond_the_limits_are_told(log):
    for name in ("arm_joint_pos", "hand_command"):
        message = refusal(spoilt(log, name, values=np.degrees(log.streams[name].values)))
        assert "divided by 57.3 it is inside: looks like degrees" in message and message.startswith(name)


def test_mixed_units_within_the_limits_are_told_by_the_commands(log):
    """A hand that moves little: in degrees its readings stay within the limits of most joints, but not of the rest."""
    sent, read = log.streams["hand_command"], log.streams["hand_joint_pos"]
    middle = sent.values.mean(axis=0)
    small = spoilt(log, "hand_command", values=middle + 0.01 * (sent.values - middle))
    read_small = 0.01 * (read.values - middle)
    mixed = spoilt(small, "hand_joint_pos", values=middle + np.degrees(read_small))
    message = refusal(mixed)
    assert "hand_joint_pos looks like degrees" in message and "times as far as hand_command" in message
    swapped = spoilt(small, "hand_joint_pos", values=middle + read_small)
    swapped = spoilt(swapped, "hand_command", values=middle + np.degrees(0.01 * (sent.values - middle)))
    assert "hand_command looks like degrees" in refusal(swapped)


def test_a_speed_that_no_joint_has_is_refused(log):
    """Joint 1 may turn by 360 degrees, so 60 'radians' of it only show in its speed."""
    time = log.streams["arm_joint_pos"].time_s
    values = log.streams["arm_joint_pos"].values.copy()
    values[:, 0] = np.degrees(0.1 * np.sin(2.0 * np.pi * 0.5 * time))
    message = refusal(spoilt(log, "arm_joint_pos", values=values))
    # 5.73 sin(pi t) has the speed 18 at its zeros.
    assert re.search(r"joint1 moves at 1[78]\.\d+ rad/s, it can 3\.14; are these degrees", message)


def test_other_units_of_the_belt_are_refused(log):
    message = refusal(spoilt(log, "belt_command", values=np.array([[60.0], [0.0]])))
    assert "belt_command: reaches 60 m/s, allowed are up to 2 m/s; are these millimetres" in message


def test_joints_in_another_order_show_at_the_limits(log):
    values = log.streams["arm_joint_pos"].values.copy()
    values[:, [1, 3]] = values[:, [3, 1]] * 2.0
    assert "wrong joint or order" in refusal(spoilt(log, "arm_joint_pos", values=values))


def test_single_wild_readings_are_outliers(log):
    values = log.streams["arm_joint_pos"].values.copy()
    values[[400, 900], 1] = 40.0
    (warning,) = check_cell_log(spoilt(log, "arm_joint_pos", values=values))
    assert "joint2 is 40 rad at index 400" in warning and "2 outliers" in warning


def test_b23_readings_that_repeat_the_commands_are_refused(log):
    """Log A of the report: state = command shifted by 2 samples, difference below 1e-6 rad."""
    time = np.arange(0.0, 10.0, 0.01)
    command = Stream(time, targets(time, 7, 0.0))
    echo = Stream(time, np.roll(command.values, 2, axis=0) + 5e-7)
    assert set(echoed_joints(echo, command).values()) == {2} and len(echoed_joints(echo, command)) == 7
    arm = replace(log, streams={**log.streams, "arm_command": command, "arm_joint_pos": echo})
    message = refusal(arm)
    assert "command echo" in message and "joint7 equal the commands sent 2 samples before" in message


def test_b23_an_echo_is_found_among_jitter_and_drops(log, rng):
    sent = log.streams["hand_command"]
    time = sent.time_s[3:] + rng.uniform(-2e-4, 2e-4, len(sent.time_s) - 3)
    kept = rng.uniform(size=len(time)) > 0.01
    echo = Stream(time[kept], sent.values[:-3][kept])
    assert set(echoed_joints(echo, sent).values()) <= {2, 3} and len(echoed_joints(echo, sent)) == 16
    assert "command echo" in refusal(spoilt(log, "hand_joint_pos", echo.time_s, echo.values))


def test_b23_a_measurement_is_no_echo(log, rng):
    """Neither a perfect drive that is late by half a sample, nor an encoder with the grid of its commands, nor rest."""
    time = np.arange(0.0, 10.0, 0.005)
    command = Stream(time, targets(time, 7, 0.0))
    assert echoed_joints(Stream(time, targets(time - 0.0225, 7, 0.0)), command) == {}
    grid = 2.0 * np.pi / 4096.0
    coarse = Stream(time, np.round(command.values / grid) * grid)
    lagged = np.empty_like(command.values)  # first-order answer of 60 ms: its delay depends on the motion
    lagged[0] = command.values[0]
    for i in range(1, len(time)):
        lagged[i] = lagged[i - 1] + 0.08 * (command.values[i] - lagged[i - 1])
    assert echoed_joints(Stream(time, np.round(lagged / grid) * grid), coarse) == {}
    rest = Stream(time, np.zeros((len(time), 7)))
    assert echoed_joints(rest, rest) == {}
    assert echoed_joints(log.streams["arm_joint_pos"], Stream(np.zeros(0), np.zeros((0, 7)))) == {}


def test_b23_repeated_readings_have_their_effective_rate(log):
    """Log B of the report: a 100 Hz file with each value repeated 20 times."""
    time = np.arange(0.0, 12.0, 0.01)
    held = Stream(time, np.repeat(targets(time[::20], 7, 0.0), 20, axis=0))
    assert effective_rate_hz(held) == pytest.approx(5.0)
    message = refusal(spoilt(log, "arm_joint_pos", held.time_s, held.values))
    assert "arm_joint_pos: effective rate 5 Hz" in message and "repeated 20 times at 100 Hz" in message
    assert "allowed are 50 Hz and more" in message


def test_b23_a_rate_that_suffices_is_warned_of(log):
    values = np.repeat(log.streams["arm_joint_pos"].values[::2], 2, axis=0)
    (warning,) = check_cell_log(spoilt(log, "arm_joint_pos", values=values))
    assert re.search(r"effective rate (99|100)\S* Hz, each value is repeated 2 times at (199|200)\S* Hz", warning)


def test_a_coarse_encoder_is_not_sample_and_hold(log):
    values = np.round(log.streams["hand_joint_pos"].values / 1.5e-3) * 1.5e-3
    assert check_cell_log(spoilt(log, "hand_joint_pos", values=values)) == ()


def test_a_slow_source_is_refused_too():
    time = np.arange(0.0, 10.0, 0.1)
    with pytest.raises(RecordingError, match="effective rate 10 Hz; allowed are 25 Hz and more"):
        check_rate("hand_joint_pos", Stream(time, targets(time, 16, 0.0)))
    assert check_rate("hand_joint_pos", Stream(time, np.zeros((len(time), 16)))) == ()
    assert check_rate("hand_joint_pos", Stream(time[:1], np.zeros((1, 16)))) == ()


def test_dropped_samples_are_counted(log):
    arm = log.streams["arm_joint_pos"]
    kept = np.ones(len(arm.time_s), dtype=bool)
    kept[[100, 101, 500, 900]] = False
    (warning,) = check_cell_log(spoilt(log, "arm_joint_pos", arm.time_s[kept], arm.values[kept]))
    assert "4 samples missing (0.17 %), longest gap 1" in warning
    assert dropped_samples("x", np.zeros(0)) == dropped_samples("x", np.zeros(1)) == ()


def test_a_long_gap_is_told_by_its_place(log):
    arm = log.streams["arm_joint_pos"]
    kept = (arm.time_s < 3.0) | (arm.time_s > 3.5)
    warnings = check_cell_log(spoilt(log, "arm_joint_pos", arm.time_s[kept], arm.values[kept]))
    assert len(warnings) == 2 and re.search(r"arm_joint_pos: nothing from (2\.99|3\.00)\d to 3\.50\d s", warnings[1])


def test_a_joint_that_never_moved_is_named(log):
    arm = log.streams["arm_joint_pos"].values.copy()
    arm[:, 2] = arm[0, 2]
    (warning,) = check_cell_log(spoilt(log, "arm_joint_pos", values=arm))
    assert "segment 'arm_chirp': joint3 never moved (0 rad), although commanded by 0.6 rad" in warning
    sent = log.streams["arm_command"].values.copy()
    sent[:, 2] = 0.0
    (warning,) = check_cell_log(spoilt(spoilt(log, "arm_joint_pos", values=arm), "arm_command", values=sent))
    assert "nor was it commanded to" in warning


def test_a_log_cut_in_the_middle_names_its_segments(log):
    hand = log.streams["hand_joint_pos"].between(0.0, 8.0)
    cut = spoilt(log, "hand_joint_pos", hand.time_s, hand.values)
    (warning,) = check_cell_log(cut)
    assert re.search(r"'hand_steps' \(6.000 to 11.000 s\) is cut: hand_joint_pos has \S+ to (7.99|8.00)\d s", warning)


def test_segments_need_an_end(log):
    for end in (np.nan, 0.5):
        assert "'arm_chirp': from 1.000 to" in refusal(replace(log, segments=(Segment("arm_chirp", 1.0, end),)))


def test_streams_of_different_clocks_are_refused(log):
    arm = log.streams["arm_joint_pos"]
    message = refusal(spoilt(log, "arm_joint_pos", time_s=arm.time_s + 1.7e9))
    assert "arm_joint_pos (1700000000.000 to" in message and "one clock" in message
    head = replace(log.pictures["head"], time_s=log.pictures["head"].time_s - 100.0)
    assert "pictures of head (-98.000 to -92.000 s) and arm_joint_pos" in refusal(
        replace(log, pictures={**log.pictures, "head": head})
    )
    late = tuple(replace(s, start_s=s.start_s + 50.0, end_s=s.end_s + 50.0) for s in log.segments)
    assert "segments (51.000 to 61.000 s)" in refusal(replace(log, segments=late))


def test_pictures_of_another_size_are_refused_and_frozen_ones_told(log):
    head = log.pictures["head"]
    other = PictureStream(head.time_s, (*head.png[:2], encode(np.zeros((48, 65, 3), np.uint8))))
    message = refusal(replace(log, pictures={**log.pictures, "head": other}))
    assert "pictures of head: picture 2 has 65 x 48 px, the camera 64 x 48" in message
    frozen = PictureStream(head.time_s, (head.png[0],) * 3)
    (warning,) = check_cell_log(replace(log, pictures={**log.pictures, "head": frozen}))
    assert "pictures of head: 2 of 3 equal the one before" in warning
