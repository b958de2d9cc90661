"""What a hand tracker's file does not state, or states wrongly, is refused in one line and never guessed."""

import numpy as np
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.load import LOADERS, load_hand_recording

from ..hand_layouts import mano_joint_fields, openxr_fields, save, vision_pro_fields, wandering
from ..synthetic_hand import hand_keypoints

FRAMES = 60
TIME_S, POS, QUAT = wandering(FRAMES)
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
        ({"joint_positions_m": np.zeros((FRAMES, 26))}, r"has shape \(60, 26\), expected \(any, any, 3\)"),
    ],
    "vision_pro": [
        ({"time_s": None}, "time_s missing; the stream has no stamps"),
        ({"right_fingers": None}, "right_fingers missing"),
        (
            {"right_fingers": np.tile(np.eye(4), (FRAMES, 24, 1, 1))},
            "right_fingers has 24 joints, allowed are 25 or 27",
        ),
        ({"right_wrist": np.full((FRAMES, 4, 4), np.nan)}, "right_wrist is no pose .* at frame 0"),
        ({"right_wrist": np.tile(2.0 * np.eye(4), (FRAMES, 1, 1))}, "right_wrist is no pose .* at frame 0"),
    ],
    "mano": [
        ({"joint_order": None}, "joint_order missing, allowed are mano, openpose"),
        ({"up_axis": "x"}, "up_axis is 'x', allowed are z, y, -y"),
        ({"mano_joints_m": np.zeros((FRAMES, 16, 3))}, r"has shape \(60, 16, 3\), expected \(any, 21, 3\)"),
    ],
}


@pytest.mark.parametrize("kind, changes, message", [(k, *case) for k, cases in MISSTATED.items() for case in cases])
def test_what_is_not_stated_is_refused_in_one_line(kind, changes, message, tmp_path):
    make = {"openxr": openxr_fields, "vision_pro": vision_pro_fields, "mano": mano_joint_fields}[kind]
    fields = make(POINTS, POS, QUAT, TIME_S) | changes
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
    fields = change(openxr_fields(POINTS, POS, QUAT, TIME_S))
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
    fields = openxr_fields(POINTS, POS, QUAT, TIME_S) | vision_pro_fields(POINTS, POS, QUAT, TIME_S)
    path = save(tmp_path / "a.npz", fields)
    with pytest.raises(RecordingError, match="may be of the types openxr, vision_pro; say which"):
        load_hand_recording(path)
    assert load_hand_recording(path, "vision_pro").facts.kind.startswith("Apple Vision Pro")
    assert set(LOADERS) >= {"leap", "qualisys", "keypoints", "webxr", "openxr", "vision_pro", "mano", "mediapipe"}


def _shorter(fields, frames):
    per_frame = ("time_s", "joint_positions_m", "joint_quats", "joint_valid")
    return {name: value[:frames] if name in per_frame else value for name, value in fields.items()}


def _all_alike(fields):
    per_frame = ("joint_positions_m", "joint_quats")
    return {name: np.repeat(v[40:41], FRAMES, axis=0) if name in per_frame else v for name, v in fields.items()}
