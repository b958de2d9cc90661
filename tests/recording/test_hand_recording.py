"""What a hand recording accepts, and the one line that it gives for what it does not."""

import dataclasses

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_exp, quat_rotate
from r2s2r.recording.chirality import measured_chirality
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.resampling import resample

from ..synthetic_hand import hand_keypoints

BENT = np.radians(40.0) * np.ones(4)


def recording(bend=BENT, frames=10, **changes):
    """A right hand with all fingers bent; keypoints, wrist and label as given."""
    keypoints = np.tile(hand_keypoints(bend), (frames, 1, 1))
    fields = {
        "source": "test",
        "handedness": "right",
        "time_s": np.arange(frames) / 30.0,
        "keypoints_m": keypoints,
        "valid": np.ones((frames, 21), dtype=bool),
    }
    return HandRecording(**(fields | changes))


def test_right_hand_is_accepted():
    assert len(recording()) == 10
    assert recording().rate_hz == pytest.approx(30.0)


@pytest.mark.parametrize("label, shown", [("left", "right"), ("right", "left")])
def test_b30_label_against_the_fingers_is_an_error(label, shown):
    with pytest.raises(RecordingError, match=f"given as a {label} hand, but its fingers bend as a {shown} hand's"):
        recording(handedness=label, keypoints_m=np.tile(hand_keypoints(BENT, shown), (10, 1, 1)))


def test_b30_flat_frames_alone_are_undecided():
    flat = hand_keypoints(np.zeros(4))
    assert measured_chirality(flat) == "undecided"
    with pytest.raises(RecordingError, match="handedness undecided"):
        recording(bend=np.zeros(4))


def test_chirality_does_not_depend_on_the_frame(rng):
    for _ in range(20):
        turn = quat_exp(rng.normal(size=3))
        moved = quat_rotate(turn, hand_keypoints(BENT)) + rng.normal(size=3)
        assert measured_chirality(moved) == "right"
        assert measured_chirality(moved * (1.0, -1.0, 1.0)) == "left"


def test_millimetres_are_named():
    with pytest.raises(RecordingError, match=r"palm length is 95 m, .* are these millimetres\? divide by 1000"):
        recording(keypoints_m=1000.0 * np.tile(hand_keypoints(BENT), (10, 1, 1)))


def test_without_wrist_the_span_tells_the_unit():
    valid = np.ones((10, 21), dtype=bool)
    valid[:, 0] = False
    with pytest.raises(RecordingError, match="span of the keypoints .* millimetres"):
        recording(keypoints_m=1000.0 * np.tile(hand_keypoints(BENT), (10, 1, 1)), valid=valid)


def test_nan_needs_to_be_marked():
    keypoints = np.tile(hand_keypoints(BENT), (10, 1, 1))
    keypoints[4, 8] = np.nan
    with pytest.raises(RecordingError, match="keypoint index_tip is not finite at frame 4"):
        recording(keypoints_m=keypoints)
    valid = np.ones((10, 21), dtype=bool)
    valid[4, 8] = False
    assert not recording(keypoints_m=keypoints, valid=valid).valid[4, 8]


def test_what_is_not_valid_cannot_be_used_by_mistake():
    valid = np.ones((10, 21), dtype=bool)
    valid[3, 12] = False
    assert np.isnan(recording(valid=valid).keypoints_m[3, 12]).all()


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"time_s": np.zeros(10)}, "time does not increase at frame 1"),
        ({"time_s": np.zeros(1)}, "1 frames, at least 2"),
        ({"keypoints_m": np.zeros((10, 20, 3))}, r"keypoints_m has shape \(10, 20, 3\), expected \(10, 21, 3\)"),
        ({"handedness": "both"}, "handedness is 'both', allowed are right, left"),
        ({"wrist_pos": np.zeros((10, 3))}, "come together or not at all"),
        (
            {"wrist_pos": np.full((10, 3), np.inf), "wrist_quat": np.zeros((10, 4))},
            "wrist_pos is not finite at frame 0",
        ),
    ],
)
def test_bad_input_is_one_line(changes, message):
    with pytest.raises(RecordingError, match=message) as error:
        recording(**changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_b33_wrist_axes_of_another_convention_are_an_error(axis):
    """A wrist frame turned by a quarter about any axis contradicts the knuckles; the right one does not."""
    wrist = {"wrist_pos": np.zeros((10, 3)), "wrist_quat": np.tile([0.0, 0.0, 0.0, 1.0], (10, 1))}
    recording(**wrist)
    wrist["wrist_quat"] = np.tile(quat_exp(np.pi / 2 * np.array(axis)), (10, 1))
    with pytest.raises(RecordingError, match="axis points 90 deg away"):
        recording(**wrist)


def test_b29_irregular_stamps_are_resampled_by_time(rng):
    """Wrist at 0.5 m/s, stamps 11 to 40 ms apart, three gaps of 120 ms: 1 mm outside the gaps, three gaps reported."""
    steps = rng.uniform(0.011, 0.040, 400)
    steps[[100, 200, 300]] = 0.120
    time_s = np.concatenate([[0.0], np.cumsum(steps)])
    moving = 0.5 * time_s[:, None] * np.array([1.0, 0.0, 0.0])
    keypoints = np.tile(hand_keypoints(BENT), (len(time_s), 1, 1)) + moving[:, None]
    irregular = recording(
        frames=len(time_s),
        time_s=time_s,
        keypoints_m=keypoints,
        wrist_pos=moving,
        wrist_quat=np.tile([0.0, 0.0, 0.0, 1.0], (len(time_s), 1)),
    )
    even = resample(irregular, 30.0)
    assert len(even.gaps_s) == 3
    assert all(end - begin == pytest.approx(0.120) for begin, end in even.gaps_s)
    assert np.ptp(np.diff(even.recording.time_s)) < 1e-9
    tracked = even.recording.tracked
    assert 0 < (~tracked).sum() <= 3 * 4
    expected = 0.5 * even.recording.time_s
    assert np.abs(even.recording.keypoints_m[tracked, 0, 0] - expected[tracked]).max() < 1e-3
    assert np.abs(even.recording.wrist_pos[:, 0] - expected).max() < 1e-3
    assert even.jitter_s > 0.005


def test_resampling_keeps_the_instants_of_the_source():
    """At the source's own rate nothing changes: interpolation is exact on the stamps."""
    bends = np.linspace(0.2, 1.2, 10)[:, None] * np.ones(4)
    source = recording(keypoints_m=hand_keypoints(bends))
    even = resample(source, 30.0).recording
    assert np.abs(even.keypoints_m - source.keypoints_m).max() < 1e-9
    with pytest.raises(RecordingError, match="the rate must be positive"):
        resample(source, 0.0)


def test_recordings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        recording().handedness = "left"
