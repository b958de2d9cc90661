"""The real recordings through their loaders, and damaged copies of them."""

import json

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.transforms import matrix_from_quat
from r2s2r.recording.chirality import measured_chirality
from r2s2r.recording.keypoint_stream import load_keypoints
from r2s2r.recording.leap import load_leap
from r2s2r.recording.load import load_hand_recording, source_type
from r2s2r.recording.qualisys import load_qualisys
from r2s2r.recording.webxr import load_webxr

FILES = {
    "leap_grab.npz": ("leap", 374),
    "leap_pinch.npz": ("leap", 307),
    "qualisys_reach_grasp.npz": ("qualisys", 6000),
    "human_joint_right.npz": ("keypoints", 621),
    "webxr_hand_poses_right.json": ("webxr", 55),
    "webxr_hand_poses_left.json": ("webxr", 55),
}


@pytest.mark.parametrize("name", FILES)
def test_each_recording_is_told_and_loaded(data_dir, name):
    kind, frames = FILES[name]
    path = data_dir / "hand_motion" / name
    assert source_type(path) == kind
    recording = load_hand_recording(path)
    assert len(recording) == frames
    assert recording.handedness == ("left" if "left" in name else "right")


@pytest.mark.parametrize("name, rate_hz", [("leap_grab.npz", 113.0), ("leap_pinch.npz", 114.0)])
def test_leap_palm_pose_leads_to_the_fingers(data_dir, name, rate_hz):
    """The device's palm and its finger joints agree: knuckles ahead of the palm, thumb on the thumb's side, z up."""
    recording = load_leap(data_dir / "hand_motion" / name)
    axes = matrix_from_quat(recording.wrist_quat)
    local = np.einsum("tji,tkj->tki", axes, recording.keypoints_m - recording.wrist_pos[:, None])
    assert (local[:, 9, 2] > 0.0).all() and (local[:, 9, 2] < 0.04).all()
    assert (local[:, 5, 1] > local[:, 17, 1]).all()
    assert recording.rate_hz == pytest.approx(rate_hz, rel=0.03)
    assert recording.wrist_pos[:, 2].min() > 0.15, "the hand is held above the device"
    bones = np.linalg.norm(np.diff(recording.keypoints_m[:, 5:9], axis=1), axis=-1)
    assert np.ptp(bones, axis=0).max() < 1e-3, "the device fits a rigid skeleton"


def test_left_hand_given_as_right_is_refused(data_dir):
    with pytest.raises(RecordingError, match="given as a left hand"):
        load_leap(data_dir / "hand_motion/leap_grab.npz", handedness="left")


def test_b30_mirrored_pictures_swap_the_label(data_dir):
    path = data_dir / "hand_motion/human_joint_right.npz"
    with pytest.raises(RecordingError, match="given as a left hand"):
        load_keypoints(path, "left")
    assert load_keypoints(path, "left", mirrored_input=True).handedness == "right"


def test_qualisys_object_rests_and_hand_moves(data_dir):
    """Figures of the data folder's README: distance 170 to 460 mm, object touched but not carried away."""
    recording = load_qualisys(data_dir / "hand_motion/qualisys_reach_grasp.npz")
    distance = np.linalg.norm(recording.wrist_pos - recording.object_pos, axis=-1)
    assert 0.15 < distance.min() < 0.18 and 0.44 < distance.max() < 0.47
    assert np.ptp(recording.object_pos, axis=0).max() < 0.015
    assert 1.0 - recording.valid[:, 4].mean() == pytest.approx(0.082, abs=0.001), "lost samples of the thumb's tip"
    assert not recording.valid[:, 0].any()


def test_qualisys_frames_without_the_triangle_have_no_wrist(data_dir, tmp_path):
    """Lost markers of the hand are NaN: the wrist holds and is flagged, and a hand never seen whole is refused."""
    with np.load(data_dir / "hand_motion/qualisys_reach_grasp.npz") as file:
        arrays = {name: file[name][:1000] if len(file[name]) == 6000 else file[name] for name in file.files}
    top = list(arrays["marker_names"]).index("hand_top")
    arrays["markers_mm"][200:230, top] = np.nan
    np.savez(tmp_path / "a.npz", **arrays)
    recording = load_hand_recording(tmp_path / "a.npz")
    assert np.flatnonzero(~recording.wrist_valid).tolist() == list(range(200, 230))
    assert [(s.frames, s.reason) for s in recording.spans] == [(30, "wrist lost")]
    arrays["markers_mm"][:, top] = np.nan
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(RecordingError, match="hand_top, hand_left, hand_right are never seen together"):
        load_hand_recording(tmp_path / "b.npz")
    arrays["markers_mm"][:, top] = np.arange(1000)[:, None]
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(RecordingError, match="are no rigid triangle"):
        load_hand_recording(tmp_path / "c.npz")


def test_webxr_hands_mirror_each_other(data_dir):
    right = load_webxr(data_dir / "hand_motion/webxr_hand_poses_right.json")
    left = load_webxr(data_dir / "hand_motion/webxr_hand_poses_left.json")
    assert measured_chirality(left.keypoints_m * (-1.0, 1.0, 1.0)) == measured_chirality(right.keypoints_m) == "right"


def test_missing_cut_and_foreign_files_are_one_line(data_dir, tmp_path):
    with pytest.raises(RecordingError, match=r"nowhere.npz: there is no such file"):
        load_hand_recording(tmp_path / "nowhere.npz")
    for name in ("leap_grab.npz", "webxr_hand_poses_right.json"):
        cut = tmp_path / name
        cut.write_bytes((data_dir / "hand_motion" / name).read_bytes()[:20000])
        with pytest.raises(RecordingError, match="damaged"):
            load_hand_recording(cut)
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with pytest.raises(RecordingError, match="not a known hand recording; known types are leap, qualisys"):
        load_hand_recording(tmp_path / "other.npz")
    with pytest.raises(ConfigError, match="'kinect', allowed are leap, qualisys"):
        load_hand_recording(tmp_path / "other.npz", "kinect")


def test_pickles_are_never_opened(tmp_path):
    np.savez(tmp_path / "evil.npz", joints_m=np.array([{"a": 1}], dtype=object))
    with pytest.raises(RecordingError, match="damaged, or no .npz file"):
        load_keypoints(tmp_path / "evil.npz")


def test_wrong_shape_and_names_are_named(tmp_path):
    np.savez(tmp_path / "flat.npz", joints_m=np.zeros((5, 63)))
    with pytest.raises(RecordingError, match=r"joints_m has shape \(5, 63\), expected \(any, 21, 3\)"):
        load_keypoints(tmp_path / "flat.npz")
    np.savez(tmp_path / "bare.npz", time_us=np.zeros(3))
    with pytest.raises(RecordingError, match="palm_position_mm.* missing; the file holds time_us"):
        load_leap(tmp_path / "bare.npz")
    markers = {"time_s": np.arange(3.0), "markers_mm": np.zeros((3, 1, 3)), "marker_names": np.array(["hand_top"])}
    np.savez(tmp_path / "few.npz", **markers)
    with pytest.raises(RecordingError, match="markers missing: hand_left"):
        load_qualisys(tmp_path / "few.npz")
    (tmp_path / "pose.json").write_text(json.dumps({"joint_names": ["wrist"], "poses": []}))
    with pytest.raises(RecordingError, match="no WebXR pose file"):
        load_webxr(tmp_path / "pose.json")
