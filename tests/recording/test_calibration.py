"""The calibration routine on a cell without dynamics: what is sent, what is written, what an interruption leaves."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.targets import default_targets
from r2s2r.recording.calibration import LONGEST_S, PARK_ARM, CalibrationCfg, plan_calibration, record_calibration
from r2s2r.recording.cell_log_file import CellLogWriter, partial_path, recover_cell_log
from r2s2r.recording.driving import BRAKE_S, Driver
from r2s2r.recording.excitation import AIR_ARM, HELD_OUT_HAND, ArmExcitationCfg, arm_excitation
from r2s2r.recording.viewpoints import ViewpointCfg
from r2s2r.robot.description import compose
from r2s2r.robot.limits import ARM_LIMITS

from .kinematic_cell import KinematicCell, ListLog


@pytest.fixture(scope="module")
def run(calibration_plan):
    """One whole run: cell, log, cell time, where the block was placed, what was told."""
    cell, log, placed, told = KinematicCell(), ListLog(), [], []

    def place() -> None:
        placed.append((cell.now(), cell.joints["arm_joint_pos"].copy()))

    took_s = record_calibration(cell, log, calibration_plan, place, lambda *what: told.append(what))
    return cell, log, took_s, placed, told


def _segments(log, name: str) -> list[list]:
    return [segment for segment in log.segments if segment[0] == name]


def test_whole_calibration_takes_less_than_five_minutes(run, calibration_plan):
    assert run[2] <= LONGEST_S
    # Besides what is planned: the way from where the arm stood, and waits for the last pictures of a path.
    assert calibration_plan.duration_s <= run[2] <= calibration_plan.duration_s + 6.0
    assert 180.0 < run[2] < 240.0


def test_segments_follow_one_another(run):
    log = run[1]
    counts = Counter(segment[0] for segment in log.segments)
    once = dict.fromkeys(("arm_chirp", "arm_chirp_held_out", "hand_steps", "hand_held_out", "wrist_sweep"), 1)
    assert counts == once | {"viewpoint": 45, "belt_run": 2}
    order = list(dict.fromkeys(segment[0] for segment in log.segments))
    assert order == [*("arm_chirp", "arm_chirp_held_out", "hand_steps", "hand_held_out"), "viewpoint", *order[5:]]
    assert order[5:] == ["wrist_sweep", "belt_run"]
    times = np.array([segment[1:] for segment in log.segments])
    assert (times[:, 1] > times[:, 0]).all() and (times[1:, 0] >= times[:-1, 1]).all()


def test_commands_are_steady_and_never_jump(run):
    log = run[1]
    time_s, joint_pos = log.stream("arm_command")
    assert np.diff(time_s).min() > 0.004  # 200 a second, and never two at once
    moving = np.diff(time_s) < 0.0051
    assert moving.mean() > 0.9
    step = np.abs(np.diff(joint_pos, axis=0))
    assert (step <= 0.5 * 0.005 * ARM_LIMITS.velocity * 1.02).all()
    for name in ("arm_chirp", "wrist_sweep"):
        ((_, begin, end),) = _segments(log, name)
        inside = (time_s > begin) & (time_s <= end)
        assert inside.sum() == pytest.approx(200.0 * (end - begin), abs=25.0)


def test_excitations_are_sent_as_they_were_planned(run):
    log, cfg = run[1], CalibrationCfg()
    time_s, joint_pos = log.stream("arm_command")
    ((_, begin, end),) = _segments(log, "arm_chirp")
    inside = (time_s > begin) & (time_s <= end)
    wanted = arm_excitation(time_s[inside] - begin, cfg.arm)
    np.testing.assert_allclose(joint_pos[inside], wanted, atol=1e-6)
    hand_s, hand = log.stream("hand_command")
    chirp = hand[(hand_s > begin) & (hand_s <= end)]
    assert len(chirp) == 0  # the hand holds still
    ((_, begin, end),) = _segments(log, "hand_steps")
    inside = (hand_s > begin) & (hand_s <= end)
    assert inside.sum() == pytest.approx(100.0 * (end - begin), rel=0.01)
    assert ((time_s > begin) & (time_s <= end)).sum() == 0  # and so does the arm


def test_arm_rests_at_every_viewpoint(run, calibration_plan):
    cell, log, _, _, _ = run
    reading_s, reading = log.stream("arm_joint_pos")
    sent_s, _ = log.stream("arm_command")
    for (_, begin, end), stop in zip(_segments(log, "viewpoint"), calibration_plan.stops, strict=True):
        inside = (reading_s >= begin) & (reading_s <= end)
        np.testing.assert_allclose(reading[inside], np.tile(stop, (inside.sum(), 1)), atol=1e-12)
        assert begin - sent_s[sent_s < begin].max() >= CalibrationCfg().settle_s - 1e-6
        cameras = [picture.camera for picture in log.pictures if begin <= picture.time_s <= end]
        assert sorted(cameras) == ["head", "wrist"]


def test_pictures_on_the_way_are_steady(run):
    log, cfg = run[1], CalibrationCfg()
    for name, camera, period_s in (
        ("wrist_sweep", "wrist", cfg.wrist_picture_s),
        ("wrist_sweep", "head", cfg.head_picture_s),
        ("belt_run", "head", cfg.head_picture_s),
    ):
        for _, begin, end in _segments(log, name):
            times = [p.time_s for p in log.pictures if p.camera == camera and begin <= p.time_s <= end]
            assert abs(len(times) - (end - begin) / period_s) <= 1
            np.testing.assert_allclose(np.diff(times), period_s, atol=0.011)


def test_belt_runs_while_the_arm_is_parked(run):
    _, log, _, placed, _ = run
    time_s, speed = log.stream("belt_command")
    np.testing.assert_array_equal(speed[:, 0], [0.06, 0.0, 0.12, 0.0])
    for k, (_, begin, end) in enumerate(_segments(log, "belt_run")):
        assert placed[k][0] <= begin
        np.testing.assert_allclose(placed[k][1], PARK_ARM)
        assert begin <= time_s[2 * k] and time_s[2 * k + 1] <= end


def test_progress_names_what_begins(run):
    told = run[4]
    assert told[0][0] == "arm_chirp" and "viewpoint 45 of 45" in [what for what, _, _ in told]
    assert [seconds for _, seconds, _ in told] == sorted(seconds for _, seconds, _ in told)
    assert {total for _, _, total in told} == {told[0][2]}


def test_interruption_leaves_a_readable_file_and_stops(calibration_plan, tmp_path):
    cell = KinematicCell()

    def interrupt(time_s: float) -> None:
        if time_s > 120.0:
            cell.on_wait = lambda _: None
            raise KeyboardInterrupt

    cell.on_wait = interrupt
    path = tmp_path / "calibration.hdf5"
    with pytest.raises(KeyboardInterrupt), CellLogWriter(path, cell.info, {}) as log:
        record_calibration(cell, log, calibration_plan, lambda: None)
    assert not path.exists() and partial_path(path).exists()
    recovered = recover_cell_log(path)
    commands = recovered.log.streams["arm_command"]
    assert 120.0 <= commands.time_s[-1] <= 120.0 + BRAKE_S + 0.01
    assert recovered.log.streams["belt_command"].values[-1, 0] == 0.0
    # It comes to rest within the limits: the speed falls to zero without a jump.
    speed = np.diff(commands.values, axis=0)[-90:] / 0.005
    assert np.abs(speed[-1]).max() < 0.02
    assert np.abs(np.diff(speed, axis=0)).max() / 0.005 < 20.0
    assert any("arm_chirp" in note for note in recovered.notes)


def test_b88_a_stall_is_not_made_up_for_by_a_jump():
    """The cell blocks for 190 ms in the middle of a path: the arm goes on from where it was, at its speed."""
    cell, log = KinematicCell(), ListLog()

    def stall(time_s: float) -> None:
        if time_s > 101.0:
            cell.on_wait = lambda _: None
            cell.time_s += 0.19

    cell.on_wait = stall
    Driver(cell, log).follow(2.0, arm=lambda t: np.full(7, t))
    time_s, joint_pos = log.stream("arm_command")
    assert np.diff(time_s).max() > 0.19
    assert np.diff(joint_pos[:, 0]).max() <= 2 * 0.005 + 1e-9
    assert joint_pos[-1, 0] == 2.0
    assert time_s[-1] - time_s[0] == pytest.approx(2.18, abs=0.01)


def test_a_silent_cell_is_named(calibration_plan):
    with pytest.raises(RecordingError, match="no reading of arm_joint_pos, hand_joint_pos within 2.0 s"):
        record_calibration(KinematicCell(silent=True), ListLog(), calibration_plan, lambda: None)


def test_a_camera_without_pictures_is_named():
    cell = KinematicCell()
    cell.request_picture = lambda camera: None
    with pytest.raises(RecordingError, match="camera head: no picture within 1.0 s of asking"):
        Driver(cell, ListLog()).follow(0.5, pictures={"head": 0.2})


def test_an_arm_that_stands_low_is_not_moved(calibration_plan):
    low = np.array(AIR_ARM)
    low[1] = 0.9
    log = ListLog()
    with pytest.raises(RecordingError, match="is not free; bring it there by hand first"):
        record_calibration(KinematicCell(arm=low), log, calibration_plan, lambda: None)
    assert len(log.stream("arm_command")[0]) == 0


def test_a_routine_that_takes_too_long_is_refused():
    cfg = CalibrationCfg(arm=ArmExcitationCfg(duration_s=260.0), viewpoints=ViewpointCfg(count=8, draws=200))
    with pytest.raises(ConfigError, match="it would take [0-9]+ s, allowed are up to 300 s"):
        plan_calibration(compose(), default_targets(), cfg)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settle_s": 0.0}, "settle_s: received 0.0"),
        ({"belt_speeds": (0.9,)}, "belt_speeds: received"),
        ({"hand_move_s": 0.1}, "hand_move_s: received 0.1"),
    ],
)
def test_what_is_not_allowed_is_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        replace(CalibrationCfg(hand_held_out=HELD_OUT_HAND), **changes)
