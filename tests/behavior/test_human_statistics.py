"""Reaches of a made-up and of the recorded person."""

import dataclasses

import numpy as np
import pytest

from r2s2r.behavior.human_statistics import HumanStatistics, Spread
from r2s2r.behavior.reaches import find_reaches
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.control.minimum_jerk import progress
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.qualisys import load_qualisys

from ..synthetic_hand import hand_keypoints

RATE_HZ = 100.0
REACH_S, CLOSE_S, LENGTH, NEAR, RISE = 1.2, 0.5, 0.25, 0.15, 0.02


def made_up_reaches(count=4):
    """A hand that goes to an object by minimum jerk over an arc, closes by minimum jerk from 0.2 s before, returns."""
    clock = np.arange(0.0, 4.0, 1.0 / RATE_HZ)
    there = progress(clock / REACH_S) - progress((clock - 2.2) / REACH_S)
    closed = progress((clock - (REACH_S - 0.2)) / CLOSE_S) - progress((clock - 2.2) / CLOSE_S)
    there, closed = np.tile(there, count), np.tile(closed, count)
    arc = RISE * 16.0 * (there * (1.0 - there)) ** 2
    wrist_pos = np.stack([LENGTH * there, 0.0 * there, 1.0 + arc], axis=-1)
    # The palm looks down, the fingers point along x.
    axes = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    keypoints = hand_keypoints(0.6 * np.ones((len(there), 4))) @ axes.T + wrist_pos[:, None]
    keypoints[:, 3] = keypoints[:, 6] + (0.11 - 0.03 * closed)[:, None] * np.array([0.0, 1.0, 0.0])
    return HandRecording(
        source="made up",
        handedness="right",
        time_s=np.arange(len(there)) / RATE_HZ,
        keypoints_m=keypoints,
        valid=np.ones((len(there), 21), dtype=bool),
        wrist_pos=wrist_pos,
        wrist_quat=np.tile([0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)], (len(there), 1)),
        object_pos=np.tile([LENGTH + NEAR, 0.0, 1.0], (len(there), 1)),
    )


def test_reaches_of_known_motion_are_measured():
    """A reach ends where its speed has fallen to 5 % of the peak: at 5.8 % from both ends of a minimum-jerk motion."""
    reaches = find_reaches(made_up_reaches())
    assert len(reaches) == 2, "the first and the last have no turn on one side"
    for reach in reaches:
        assert reach.duration_s == pytest.approx((1.0 - 2 * 0.058) * REACH_S, abs=0.03)
        assert reach.length_m == pytest.approx(LENGTH, abs=0.003)
        assert reach.peak_speed == pytest.approx(1.875 * LENGTH / REACH_S, rel=0.02)
        assert reach.peak_speed_fraction == pytest.approx(0.5, abs=0.03)
        assert reach.path_rise == pytest.approx(RISE / LENGTH, abs=0.005)
        assert reach.path_deviation == pytest.approx(RISE / LENGTH, abs=0.005)
        # 10 % of a minimum-jerk closing is reached at 24.7 % of its time, 90 % at 75.3 %.
        onset = REACH_S - 0.2 + 0.247 * CLOSE_S
        assert reach.closing_onset_s == pytest.approx(onset - (1.0 - 0.058) * REACH_S, abs=0.03)
        assert reach.closing_duration_s == pytest.approx((0.753 - 0.247) * CLOSE_S, abs=0.03)


def test_builtin_numbers_are_the_measured_ones(data_dir):
    """The numbers in the module are those of the recording, rounded to 0.1 mm and 0.1 ms."""
    recording = load_qualisys(data_dir / "hand_motion/qualisys_reach_grasp.npz")
    measured, builtin = HumanStatistics.measure(recording, "recording"), HumanStatistics.builtin()
    assert measured.reach_count == builtin.reach_count
    for field in dataclasses.fields(HumanStatistics):
        if field.name in ("source", "reach_count"):
            continue
        ours, theirs = (dataclasses.astuple(getattr(s, field.name)) for s in (builtin, measured))
        assert np.abs(np.subtract(ours, theirs)).max() <= 0.51e-4, field.name


def test_what_reaches_need_is_named():
    recording = made_up_reaches(2)
    with pytest.raises(RecordingError, match="motion of wrist and object"):
        find_reaches(dataclasses.replace(recording, object_pos=None))
    time_s = recording.time_s.copy()
    time_s[50:] += 0.5
    with pytest.raises(RecordingError, match="the times are not even"):
        find_reaches(dataclasses.replace(recording, time_s=time_s))
    valid = recording.valid.copy()
    valid[5, 6] = False
    with pytest.raises(RecordingError, match="fill the gaps first"):
        find_reaches(dataclasses.replace(recording, valid=valid))
    with pytest.raises(RecordingError, match="received 0 values"):
        HumanStatistics.measure(recording, "two swings hold no whole reach")


def test_draws_stay_in_the_seen_range_and_repeat(rng):
    spread = HumanStatistics.builtin().duration_s
    draws = [spread.draw(rng) for _ in range(2000)]
    assert spread.low <= min(draws) and max(draws) <= spread.high
    # Clipping a normal at its 5 % and 95 % ends moves the mean by far less than one standard error of the recording.
    assert np.mean(draws) == pytest.approx(spread.mean, abs=spread.std / np.sqrt(19))
    assert [spread.draw(np.random.default_rng(3)) for _ in range(2)][0] == spread.draw(np.random.default_rng(3))


def test_impossible_spreads_are_refused():
    with pytest.raises(ConfigError, match="std must be >= 0"):
        Spread(0.0, -1.0, 0.0, 0.0, 0.0)
    with pytest.raises(ConfigError, match="low <= median <= high"):
        Spread(0.0, 1.0, 2.0, 1.0, 3.0)
    with pytest.raises(ConfigError, match="finite"):
        Spread(np.nan, 1.0, 0.0, 1.0, 3.0)
