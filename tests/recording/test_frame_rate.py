"""Frames at the rate that a recording declares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.frame_rate import frame_stamps, rate_error, rows_at_rate


def test_b59_the_recorder_samples_at_the_declared_rate():
    """3.0 s of a control loop at 90 Hz, a set of 30 fps: 90 frames, the last at 2.967 s, no picture twice."""
    control = np.arange(270) / 90.0
    picture = np.floor(control * 30.0 + 1e-9).astype(int)
    rows = rows_at_rate(control, 30.0)
    assert len(rows) == 90
    assert control[rows][-1] == pytest.approx(2.967, abs=5e-4)
    assert len(set(picture[rows])) == 90
    assert rate_error(control[rows], 30.0) is None


def test_b59_frames_at_the_rate_of_the_loop_are_told():
    message = rate_error(np.arange(270) / 90.0, 30.0)
    assert message == "270 frames within 3.000 s are 90 Hz, declared are 30 Hz"
    with pytest.raises(RecordingError, match="loop at 20 Hz, frames at 30 Hz: row 0 would come twice"):
        rows_at_rate(np.arange(60) / 20.0, 30.0)


@given(st.floats(0.05, 100.0), st.floats(1.0, 200.0))
def test_frames_fill_the_time_and_no_more(duration_s, rate_hz):
    stamps = frame_stamps(duration_s, rate_hz)
    assert stamps[0] == 0.0
    assert stamps[-1] < duration_s + 1e-5 / rate_hz
    assert stamps[-1] + 1.0 / rate_hz > duration_s - 1e-5 / rate_hz


def test_uneven_loops_keep_the_latest_row_up_to_each_frame(rng):
    control = np.cumsum(rng.uniform(0.006, 0.014, 600))
    rows = rows_at_rate(control, 30.0)
    frames = control[0] + np.arange(len(rows)) / 30.0
    assert (control[rows] <= frames + 1e-6).all()
    later = np.minimum(rows + 1, len(control) - 1)
    assert ((control[later] > frames) | (rows == len(control) - 1)).all()
    assert rate_error(control[rows], 30.0) is None


@pytest.mark.parametrize("share, fine", [(0.93, True), (1.09, True), (0.85, False), (1.2, False)])
def test_clocks_that_drift_are_not_another_rate(share, fine):
    assert (rate_error(np.arange(300) / (30.0 * share), 30.0) is None) == fine


def test_nonsense_is_refused():
    with pytest.raises(RecordingError, match="the rate must be positive"):
        frame_stamps(1.0, 0.0)
    with pytest.raises(RecordingError, match="there is none"):
        frame_stamps(float("nan"), 30.0)
    with pytest.raises(RecordingError, match="time does not increase at row 2: 0.5 s after 1 s"):
        rows_at_rate(np.array([0.0, 1.0, 0.5]), 30.0)
