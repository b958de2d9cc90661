"""What a hand tracker's file does not state, or states wrongly, is refused in one line and never guessed."""

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.load import LOADERS, load_hand_recording
from r2s2r.recording.statement import describe

from ..hand_layouts import FIELDS, FRAMES, POS, QUAT, TIME_S, mano_parameter_fields, mediapipe_fields, save
from ..synthetic_hand import hand_keypoints

POINTS = hand_keypoints(np.linspace(0.0, 1.0, FRAMES)[:, None] * np.ones(4))

MISSTATED = {
    "openxr": [
        ({"space": None}, "space missing, allowed are world, wrist"),
        ({"handedness": None}, "handedness missing, allowed are right, left"),
        ({"handedness": "both"}, "handedness is 'both', allowed are right, left"),
        ({"quaternion_order": None}, "quaternion_order missing, allowed are xyzw; the order of joint_quats"),
        ({"quaternion_order": "wxyz"}, "quaternion_order is 'wxyz', allowed are xyzw"),
        ({"time_s": None}, "time_s missing; the file holds"),
        ({"joint_valid": 2.0 * np.ones((FRAMES, 26))}, "joint_valid holds 2, allowed are true and false"),
        ({"joint_positions_m": np.zeros((FRAMES, 20, 3))}, "20 joints without joint_names; allowed are 25"),
        ({"joint_positions_m": np.zeros((FRAMES, 26))}, r"has shape \(60, 26\), expected \(60, any, 3\)"),
    ],
    "vision_pro": [
        ({"time_s": None}, "time_s missing; the stream has no stamps"),
        ({"right_fingers": None}, "right_fingers missing"),
        (
            {"right_fingers": np.tile(np.eye(4), (FRAMES, 24, 1, 1))},
            "right_fingers has 24 joints, allowed are 25 or 27",
        ),
        ({"right_wrist": np.full((FRAMES, 4, 4), np.inf)}, r"right_wrist is infinite at \(0, 0, 0\)"),
        ({"right_wrist": np.full((FRAMES, 4, 4), np.nan)}, "right_wrist is no pose .* at frame 0"),
        ({"right_wrist": np.tile(2.0 * np.eye(4), (FRAMES, 1, 1))}, "right_wrist is no pose .* at frame 0"),
    ],
    "mano": [
        ({"joint_order": None}, "joint_order missing, allowed are mano, openpose"),
        ({"up_axis": "x"}, "up_axis is 'x', allowed are z, y, -y"),
        ({"mano_joints_m": np.zeros((FRAMES, 16, 3))}, r"has shape \(60, 16, 3\), expected \(60, 21, 3\)"),
    ],
}


@pytest.mark.parametrize("kind, changes, message", [(k, *case) for k, cases in MISSTATED.items() for case in cases])
def test_what_is_not_stated_is_refused_in_one_line(kind, changes, message, tmp_path):
    fields = FIELDS[kind](POINTS, POS, QUAT, TIME_S) | changes
    with pytest.raises(RecordingError, match=message) as error:
        load_hand_recording(save(tmp_path / "a.npz", {k: v for k, v in fields.items() if v is not None}), kind)
    assert "\n" not in str(error.value)


BAD_NUMBERS = [
    (lambda f: _shorter(f, 0), "0 frames, at least 2"),
    (lambda f: _shorter(f, 1), "1 frames, at least 2"),
    (lambda f: f | {"joint_positions_m": np.full((FRAMES, 26, 3), np.nan)}, "not tracked in any of 60 frames"),
    (lambda f: f | {"joint_valid": np.zeros((FRAMES, 26))}, "not tracked in any of 60 frames"),
    (lambda f: f | {"time_s": np.full(FRAMES, np.nan)}, "time_s is not finite at frame 0"),
    (lambda f: _all_alike(f), "the hand is frozen throughout"),
    (lambda f: f | {"joint_positions_m": 1e3 * f["joint_positions_m"]}, r"are these millimetres\? divide by 1000"),
    (lambda f: f | {"joint_positions_m": 1e2 * f["joint_positions_m"]}, r"are these centimetres\? divide by 100"),
]


@pytest.mark.parametrize("change, message", BAD_NUMBERS)
def test_bad_recordings_are_refused_in_one_line(change, message, tmp_path):
    fields = change(FIELDS["openxr"](POINTS, POS, QUAT, TIME_S))
    with pytest.raises(RecordingError, match=message) as error:
        load_hand_recording(save(tmp_path / "a.npz", fields))
    assert "\n" not in str(error.value)


def test_damaged_json_and_pickles_are_one_line(tmp_path):
    (tmp_path / "a.json").write_text('{"joint_positions_m": [[')
    (tmp_path / "b.json").write_text("[1, 2]")
    np.savez(tmp_path / "c.npz", right_wrist=np.array([{"a": 1}], dtype=object))
    for name, message in (
        ("a.json", "damaged, or no JSON"),
        ("b.json", "holds a list"),
        ("c.npz", "damaged, or no .npz"),
    ):
        with pytest.raises(RecordingError, match=message):
            load_hand_recording(tmp_path / name)


def test_file_of_two_types_asks_which(tmp_path):
    fields = FIELDS["openxr"](POINTS, POS, QUAT, TIME_S) | FIELDS["vision_pro"](POINTS, POS, QUAT, TIME_S)
    path = save(tmp_path / "a.npz", fields)
    with pytest.raises(RecordingError, match="may be of the types openxr, vision_pro; say which"):
        load_hand_recording(path)
    assert load_hand_recording(path, "vision_pro").facts.kind.startswith("Apple Vision Pro")
    assert set(LOADERS) >= {"leap", "qualisys", "keypoints", "webxr", "openxr", "vision_pro", "mano", "mediapipe"}


@pytest.mark.filterwarnings("error")
def test_damage_of_any_kind_is_one_line_or_a_recording(tmp_path, rng):
    """200 files with two fields lost, cut, emptied, of another type or scale: nothing but RecordingError."""
    layouts = [make(POINTS, POS, QUAT, TIME_S) for make in FIELDS.values()]
    layouts += [mediapipe_fields(POINTS, QUAT, TIME_S)]
    layouts += [mano_parameter_fields(POINTS[0], 0.5 * np.ones((FRAMES, 4)), POS, QUAT, TIME_S)]
    refused = 0
    for _ in range(200):
        fields = dict(layouts[rng.integers(len(layouts))])
        for name in rng.choice(list(fields), 2, replace=False):
            fields[name] = _damaged(np.asarray(fields[name]), rng)
        path = save(tmp_path / rng.choice(["a.npz", "a.json"]), {k: v for k, v in fields.items() if v is not None})
        try:
            describe(load_hand_recording(path)).lines()
        except RecordingError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 100


def _damaged(value, rng):
    """Return a field that is lost (None), or wrong in one of many ways."""
    numbers = value.dtype.kind in "fi"
    some = rng.random(value.shape) < 0.05
    ways = [None, np.array("nonsense"), np.array(7.5), np.stack([value, value]), value.reshape(-1)]
    ways += [value[:0], value[:1], value[: len(value) // 2]] if value.ndim else []
    ways += [0 * value, 1e3 * value, 1e-3 * value, np.full(value.shape, np.nan)] if numbers else []
    ways += [np.where(some, np.nan, value), value + rng.normal(size=value.shape)] if numbers else []
    return ways[rng.integers(len(ways))]


def _shorter(fields, frames):
    per_frame = ("time_s", "joint_positions_m", "joint_quats", "joint_valid")
    return {name: value[:frames] if name in per_frame else value for name, value in fields.items()}


def _all_alike(fields):
    per_frame = ("joint_positions_m", "joint_quats")
    return {name: np.repeat(v[40:41], FRAMES, axis=0) if name in per_frame else v for name, v in fields.items()}
