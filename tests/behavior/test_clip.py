"""Pictures of human and robot, and the command that makes them."""

import json

import numpy as np
import pytest

from r2s2r.behavior.clip import CELL_VIEW, OBJECT_RGB, draw_hand, retargeting_clip
from r2s2r.behavior.motion import retarget
from r2s2r.behavior.robot_view import BACKGROUND_RGB, View
from r2s2r.cli.retarget import Retarget
from r2s2r.contracts.errors import ConfigError, RecordingError, RetargetingError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.resampling import resample


def test_view_projects_its_target_to_the_middle(rng):
    view = View(eye_b=(1.0, -0.5, 0.8), target_b=(0.4, 0.1, 0.3), width=200, height=100)
    assert view.project(np.array(view.target_b)) == pytest.approx([100.0, 50.0])
    assert np.abs(view.axes.T @ view.axes - np.eye(3)).max() < 1e-12
    above = view.project(np.array(view.target_b) + [0.0, 0.0, 0.1])
    assert above[1] < 50.0 and above[0] == pytest.approx(100.0), "up in the world is up in the picture"
    assert np.isnan(view.project(np.array(view.eye_b) + [1.0, -1.0, 0.5])).all(), "behind the camera"


def test_bad_views_are_named():
    with pytest.raises(ConfigError, match="must be positive"):
        View((1.0, 0.0, 1.0), (0.0, 0.0, 0.0), width=0)
    with pytest.raises(ConfigError, match="straight up or down"):
        View((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


def test_drawing_leaves_out_what_is_not_measured():
    empty = draw_hand(np.full((21, 2), np.nan), CELL_VIEW)
    assert (empty == BACKGROUND_RGB).all()
    with_object = draw_hand(np.full((21, 2), np.nan), CELL_VIEW, np.array([100.0, 50.0]))
    assert (with_object[50, 100] == OBJECT_RGB).all()


def test_clip_shows_robot_where_the_human_is(data_dir):
    """Human drawing and robot picture share one camera: the centre of the drawn hand lies on the robot's black hand."""
    human = resample(load_hand_recording(data_dir / "hand_motion/leap_grab.npz"), 30.0).recording
    clip = retargeting_clip(retarget(human), max_frames=2)
    size = CELL_VIEW.width
    assert clip.shape == (2, CELL_VIEW.height, 2 * size, 3) and clip.dtype == np.uint8
    for frame in clip:
        drawn = np.abs(frame[:, :size].astype(int) - BACKGROUND_RGB).sum(axis=-1) > 60
        black = frame[:, size:].max(axis=-1) < 60
        rows, columns = np.nonzero(drawn)
        centre = np.array([rows.mean(), columns.mean()])
        dark_rows, dark_columns = np.nonzero(black)
        assert np.hypot(dark_rows - centre[0], dark_columns - centre[1]).min() < 5.0


def test_motion_says_what_it_leaves_out(data_dir):
    stream = retarget(load_hand_recording(data_dir / "hand_motion/human_joint_right.npz"))
    assert stream.wrist is None and "hand-local" in stream.left_out[0]
    with pytest.raises(RetargetingError, match="left hand.*hand-local"):
        retarget(load_hand_recording(data_dir / "hand_motion/webxr_hand_poses_left.json"))


def test_command_writes_trajectory_and_clip(data_dir, tmp_path, capsys):
    summary = Retarget((data_dir / "hand_motion/leap_pinch.npz",), tmp_path / "out", clip_seconds=0.2).run()
    json.dumps(summary)
    assert summary["status"] == {"solved": 81, "partly_measured": 0, "held": 0, "out_of_reach": 0}
    assert summary["fingertip_residual_m"]["median"] < 0.005
    assert "fingertips:" in capsys.readouterr().out
    assert (tmp_path / "out/clip.mp4").stat().st_size > 1000
    with np.load(tmp_path / "out/trajectory.npz", allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        assert file["joint_pos"].shape == (81, 23)
    assert header["joint_names"] == list(ROBOT_JOINTS) and header["quaternion_order"] == "xyzw"
    assert header["provenance"]["inputs"]


def test_command_refuses_bad_input(data_dir, tmp_path):
    with pytest.raises(RecordingError, match="there is no such file"):
        Retarget((tmp_path / "nowhere.npz",), tmp_path / "out").run()
    with pytest.raises(ConfigError, match="--clip-seconds: received -1"):
        Retarget((tmp_path / "nowhere.npz",), tmp_path / "out", clip_seconds=-1.0).run()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        Retarget((data_dir / "hand_motion/leap_pinch.npz",), tmp_path / "file/out").run()
