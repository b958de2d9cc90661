"""`r2s2r retarget` of one and of several recordings: folders, refusals, splits, statements, report."""

import json

import numpy as np
import pytest

from r2s2r.cli.main import main
from r2s2r.cli.retarget_places import find_places
from r2s2r.contracts.errors import ConfigError

from ..hand_layouts import openxr_fields, save, vision_pro_fields, wandering
from ..synthetic_hand import hand_keypoints

FRAMES = 60


def fields(make=openxr_fields, handedness="right", frames=FRAMES, rate_hz=30.0):
    time_s, pos, quat = wandering(frames, rate_hz)
    bend = np.linspace(0.0, 0.9, frames)[:, None] * np.ones(4)
    return make(hand_keypoints(bend, handedness), pos, quat, time_s, handedness)


def run(tmp_path, *arguments):
    """Return exit status and summary of the command with results in tmp_path/out and no clips."""
    summary = tmp_path / "summary.json"
    status = main(["retarget", *map(str, arguments), "--out", str(tmp_path / "out"), "--json", str(summary)])
    return status, json.loads(summary.read_text()) if summary.exists() else None


def test_one_recording_says_how_it_was_read(tmp_path, capsys):
    path = save(tmp_path / "hand.npz", fields())
    status, summary = run(tmp_path, path, "--clip-seconds", "0.2")
    assert status == 0
    printed = capsys.readouterr().out
    assert "source: OpenXR or WebXR hand motion" in printed and "axes: x right, y up, -z ahead" in printed
    assert "hand: right, declared by the file; the bend of the fingers agrees" in printed
    assert "jitter 0.0 ms, 0 gaps" in printed and "tracked: 100.0% of the frames" in printed
    statement = summary["statement"]
    assert statement["rate_hz"] == pytest.approx(30.0) and statement["spans"] == []
    assert statement["size_m"]["wrist_to_middle_knuckle"] == pytest.approx(0.095)
    assert (tmp_path / "out/clip.mp4").stat().st_size > 1000
    with np.load(tmp_path / "out/trajectory.npz", allow_pickle=False) as file:
        assert file["tracked"].all() and file["wrist_valid"].all() and len(file["tracked"]) == FRAMES
    report = (tmp_path / "out/report.html").read_text()
    assert "video/mp4" in report and "x right, y up, -z ahead" in report and str(tmp_path) not in report


def test_bad_recording_among_good_ones_is_named_and_skipped(tmp_path, capsys):
    folder = tmp_path / "in"
    folder.mkdir()
    save(folder / "good.npz", fields())
    save(folder / "stream.npz", fields(vision_pro_fields))
    save(folder / "lefty.npz", fields(handedness="left"))
    (folder / "broken.npz").write_bytes(b"PK no archive")
    (folder / "notes.txt").write_text("not a recording, not tried")
    status, summary = run(tmp_path, folder, "--clip-seconds", "0")
    assert status == 0
    assert sorted(summary["recordings"]) == ["good", "stream"]
    assert sorted(summary["refused"]) == ["broken.npz", "lefty"]
    assert "--mirror makes a right hand of it" in summary["refused"]["lefty"]
    assert "broken.npz: refused: broken.npz: damaged" in capsys.readouterr().out
    for name in ("good", "stream"):
        assert (tmp_path / "out" / name / "trajectory.npz").exists()
    report = (tmp_path / "out/report.html").read_text()
    assert all(name in report for name in ("good", "stream", "lefty", "broken.npz", "damaged"))


def test_nothing_usable_exits_2(tmp_path, capsys):
    left, broken = save(tmp_path / "left.npz", fields(handedness="left")), tmp_path / "broken.json"
    broken.write_text("{")
    status, summary = run(tmp_path, left, broken)
    assert status == 2 and len(summary["refused"]) == 2
    assert (tmp_path / "out/report.html").exists()
    assert main(["retarget", str(left), "--out", str(tmp_path / "other")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("r2s2r: error: ") and error.count("\n") == 1 and "--mirror" in error


def test_b34_left_hand_is_mirrored_on_request(tmp_path, capsys):
    status, summary = run(
        tmp_path, save(tmp_path / "left.npz", fields(handedness="left")), "--mirror", "--clip-seconds", "0"
    )
    assert status == 0
    assert summary["statement"]["handedness"]["by"] == "a left hand (declared by the file) mirrored on request"


def test_b26_frozen_recording_becomes_two(tmp_path):
    """The parts lie beside each other, and every part is told where it was cut."""
    content = fields(frames=300, rate_hz=60.0)
    for name in ("joint_positions_m", "joint_quats"):
        content[name][120:180] = content[name][120]
    status, summary = run(tmp_path, save(tmp_path / "hand.npz", content), "--clip-seconds", "0")
    assert status == 0
    assert sorted(summary["recordings"]) == ["hand, part 1 of 2", "hand, part 2 of 2"]
    assert all((tmp_path / f"out/part_{k}/trajectory.npz").exists() for k in (1, 2))
    spans = summary["recordings"]["hand, part 2 of 2"]["statement"]["spans"]
    assert [(span["frames"], span["reason"], span["filled"]) for span in spans] == [(60, "frozen", False)]
    assert "2.00 s to 2.98 s (60 frames): frozen, untracked" in (tmp_path / "out/report.html").read_text()


def test_folders_for_results_never_meet(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        save(tmp_path / folder / "hand.npz", fields())
    places, refusals = find_places([tmp_path / "a", tmp_path / "b"], tmp_path / "out", None)
    assert [place.out.name for place in places] == ["hand", "hand_2"] and not refusals
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="the folder .* holds none"):
        find_places([tmp_path / "empty"], tmp_path / "out", None)
    with pytest.raises(ConfigError, match="'kinect', allowed are leap"):
        find_places([tmp_path / "a"], tmp_path / "out", "kinect")
