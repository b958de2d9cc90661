"""What motions are measured by: closed forms, and what must not matter."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.behavior.motion_features import (
    FEATURES,
    Motion,
    as_record,
    closing_features,
    measure_motion,
    path_deviation,
    path_features,
)
from r2s2r.behavior.phases import PickRecord
from r2s2r.behavior.scripted_pinch import ScriptedPinch
from r2s2r.behavior.smoothness import spectral_arc_length
from r2s2r.contracts.rejection import Rejection
from r2s2r.contracts.transforms import quat_multiply, quat_rotate, yaw_quat
from r2s2r.control.minimum_jerk import PEAK_SPEED_RATIO, bump, progress

from .picks import operator_demo, record

NAMES = [feature.name for feature in FEATURES]
RESOLUTION = np.array([feature.resolution for feature in FEATURES])


def measured(recorded: PickRecord) -> Motion:
    motion = measure_motion(recorded)
    assert isinstance(motion, Motion), str(motion)
    return motion


def minimum_jerk_speed(duration: float, rate_hz: float = 100.0, length: float = 1.0) -> np.ndarray:
    time = np.arange(0.0, duration + 1e-9, 1.0 / rate_hz)
    return length * np.gradient(progress(time / duration), 1.0 / rate_hz)


def test_minimum_jerk_reach_has_the_spectral_arc_length_of_the_literature():
    """About -1.41 (Balasubramanian et al. 2015, figure 3), whatever its size and duration."""
    values = [
        spectral_arc_length(minimum_jerk_speed(duration, length=length), 100.0)
        for duration in (0.6, 1.0, 2.0)
        for length in (0.01, 1.0)
    ]
    assert values == pytest.approx([-1.41] * 6, abs=0.015)


def test_more_submovements_are_less_smooth():
    one = minimum_jerk_speed(0.5)
    gap = np.zeros(20)
    rows = [np.concatenate([one, *[np.concatenate([gap, one])] * extra]) for extra in range(4)]
    values = [spectral_arc_length(row, 100.0) for row in rows]
    assert (np.diff(values) < -0.2).all()


def test_noise_of_a_sensor_does_not_change_the_smoothness_much(rng):
    speed = minimum_jerk_speed(1.0)
    noisy = speed + rng.normal(0.0, 0.01 * speed.max(), len(speed))
    assert spectral_arc_length(noisy, 100.0) == pytest.approx(spectral_arc_length(speed, 100.0), abs=0.05)
    assert spectral_arc_length(np.zeros(50), 30.0) == 0.0


def test_straight_minimum_jerk_way_has_its_closed_form():
    rate, duration, length = 100.0, 1.2, 0.3
    time = np.arange(0.0, duration + 1e-9, 1.0 / rate)
    pos = np.outer(length * progress(time / duration), [0.6, 0.0, 0.8])
    speed = np.linalg.norm(np.gradient(pos, axis=0), axis=1) * rate
    expected = [duration, PEAK_SPEED_RATIO * length / duration, PEAK_SPEED_RATIO, 0.5, 1.0, -1.41, 0.0]
    assert path_features(pos, speed, rate) == pytest.approx(expected, abs=0.02)


def test_deviation_of_a_path_is_its_height_over_its_length():
    p = np.linspace(0.0, 1.0, 101)
    assert path_deviation(np.stack([2.0 * p, 0.0 * p, 0.3 * bump(p)], axis=1)) == pytest.approx(0.15)
    assert path_deviation(np.zeros((4, 3))) == 0.0


def test_closing_of_one_finger_of_all_alike_and_of_one_after_the_other():
    ramp = np.linspace(0.0, 1.0, 41)[:, None]
    one = closing_features(ramp * np.eye(16)[1])
    assert one == pytest.approx([1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    alike = closing_features(ramp * np.ones(16))
    assert alike == pytest.approx([0.25] * 4 + [0.0, 1.0])
    times = np.linspace(0.0, 1.0, 41)[:, None] * 2.0 - np.repeat([0.0, 1.0], 8)
    after = closing_features(np.clip(times, 0.0, 1.0))
    assert after[4] == pytest.approx(0.25, abs=0.02), "one half is there a quarter before, the other after the middle"
    assert after[5] < 0.9


@pytest.mark.parametrize("planner", [None, ScriptedPinch()])
def test_where_the_cell_stands_and_which_way_it_is_turned_do_not_matter(planner):
    demo = operator_demo(4, planner)
    plain = as_record(demo)
    turn, shift = yaw_quat(0.7), np.array([0.3, -0.2, 0.1])
    moved = replace(
        plain,
        wrist_pos_b=quat_rotate(turn, plain.wrist_pos_b) + shift,
        wrist_quat_b=quat_multiply(turn, plain.wrist_quat_b),
        bin_pos_b=quat_rotate(turn, plain.bin_pos_b) + shift,
        belt_velocity_b=quat_rotate(turn, demo.belt_velocity_b),
    )
    mirrored = replace(
        plain,
        wrist_pos_b=plain.wrist_pos_b * (1.0, -1.0, 1.0),
        bin_pos_b=plain.bin_pos_b * (1.0, -1.0, 1.0),
        belt_velocity_b=demo.belt_velocity_b * (1.0, -1.0, 1.0),
    )
    for other in (moved, mirrored):
        assert measured(other).features == pytest.approx(measured(plain).features, abs=1e-6)
        assert measured(other).speeds == pytest.approx(measured(plain).speeds, abs=1e-6)


def test_waiting_does_not_matter_and_neither_does_what_follows_the_release():
    """An episode waits for its object and ends when that has settled: less than a resolution of each number."""
    for seed in range(5):
        demo = operator_demo(seed)
        usual = measured(as_record(demo)).features
        waiting = measured(record(demo, np.random.default_rng(0), noise=0.0, before=70, after=0))
        assert (np.abs(waiting.features - usual) <= RESOLUTION).all()
        cut = as_record(replace_end(demo))
        assert (np.abs(measured(cut).features - usual) <= RESOLUTION).all()


def replace_end(demo):
    """Return the demonstration without the second half of its retreat."""
    end = (int(np.searchsorted(demo.phase, 5)) + len(demo)) // 2
    arrays = ("wrist_pos_b", "wrist_quat_b", "hand_joint_pos", "phase", "object_pos_b", "object_yaw", "tracked")
    return replace(demo, **{name: getattr(demo, name)[:end] for name in arrays})


def test_pace_scales_times_and_speeds_and_leaves_shapes():
    pace = 0.7
    for seed in range(4):
        demo = operator_demo(seed)
        usual, slow = (
            dict(zip(NAMES, measured(record(demo, np.random.default_rng(0), noise=0.0, pace=p)).features, strict=True))
            for p in (1.0, pace)
        )
        for name, feature in zip(NAMES, FEATURES, strict=True):
            factor = {"s": 1.0 / pace, "m/s": pace}.get(feature.unit, 1.0)
            slack = {"s": 6 / 30, "m/s": 0.02}.get(feature.unit, 2.5 * feature.resolution)
            assert slow[name] == pytest.approx(factor * usual[name], abs=slack), name


def test_the_replay_s_disturbances_change_little():
    """Averaged over 12 motions, no number moves by more than two of its resolutions."""
    clean = [measured(as_record(operator_demo(seed))).features for seed in range(12)]
    disturbed = [measured(record(operator_demo(seed), np.random.default_rng(seed))).features for seed in range(12)]
    shift = np.abs(np.mean(disturbed, axis=0) - np.mean(clean, axis=0))
    assert dict(zip(NAMES, shift / RESOLUTION, strict=True)) == pytest.approx(dict.fromkeys(NAMES, 0.0), abs=2.0)


def test_what_is_no_pick_is_told():
    still = as_record(operator_demo(0))
    still = replace(still, hand_joint_pos=np.zeros_like(still.hand_joint_pos))
    assert str(measure_motion(still)) == "closing 0.000 < 0.500 rad"
    assert isinstance(measure_motion(still), Rejection)
