"""`r2s2r retarget` and `r2s2r validate` of LeRobot sets and glove demonstrations, as a user runs them."""

import json

import numpy as np
import pytest

from r2s2r.cli.main import main

from ..recording.lerobot_sets import LENGTH, NAMES, cut, data_file, write_set


@pytest.fixture
def lerobot(tmp_path):
    """Two episodes in which the arm reaches and the hand closes."""
    share = np.linspace(0.0, 1.0, LENGTH)[:, None]
    arm = np.array([-0.55, -0.24, -0.12, 0.87, 0.02, -0.7, 0.19]) + 0.1 * share
    hand = np.tile(0.9 - 0.5 * share, (1, 6))
    values = np.hstack([arm, hand])
    assert values.shape[1] == len(NAMES)
    return write_set(tmp_path / "set", episodes=(0, 1), values=values)


def run(tmp_path, *arguments):
    """Return exit status and summary of a command."""
    summary = tmp_path / "summary.json"
    status = main([*map(str, arguments), "--json", str(summary)])
    return status, json.loads(summary.read_text()) if summary.exists() else None


def test_retarget_gives_an_entry_for_each_whole_episode(lerobot, tmp_path, capsys):
    out = tmp_path / "out"
    status, summary = run(tmp_path, "retarget", lerobot, "--out", out, "--clip-seconds", "0.1")
    assert status == 0
    assert sorted(summary["recordings"]) == ["set_episode_000000", "set_episode_000001"]
    printed = capsys.readouterr().out
    assert "source: teleoperated Unitree_G1_Inspire, measured joints" in printed
    assert "note: assumption: the waist is straight" in printed and "note: fact: wrist path by forward" in printed
    for name, told in summary["recordings"].items():
        assert told["frames"] == LENGTH and told["rate_hz"] == pytest.approx(30.0) and told["left_out"] == []
        with np.load(out / name / "trajectory.npz", allow_pickle=False) as file:
            assert file["joint_pos"].shape == (LENGTH, 23) and np.isfinite(file["wrist_pos_b"]).all()
        assert (out / name / "clip.mp4").stat().st_size > 1000
    report = (out / "report.html").read_text()
    assert report.count("video/mp4") == 2 and str(tmp_path) not in report


def test_retarget_of_one_glove_demonstration(data_dir, tmp_path):
    with np.load(data_dir / "hand_motion/adroit_door_demos.npz", allow_pickle=False) as file:
        rows = file["demo_03/observations"]
    path = tmp_path / "glove.npz"
    np.savez(path, **{"demo_00/observations": rows})
    status, summary = run(tmp_path, "retarget", path, "--out", tmp_path / "out", "--clip-seconds", "0")
    assert status == 0
    told = next(iter(summary["recordings"].values())) if "recordings" in summary else summary
    assert told["frames"] == pytest.approx(len(rows) * 0.3, abs=2)
    assert told["fingertip_residual_m"]["median"] < 0.01
    assert told["statement"]["source"] == "data glove on a simulated Adroit (Shadow) hand, demo_00 of 1"


def test_validate_tells_what_is_lost_and_recovers_the_rest(lerobot, tmp_path, capsys):
    assert run(tmp_path, "validate", lerobot) == (0, {"episodes": [0, 1], "lost": {}, "notes": []})
    cut(data_file(lerobot, 1))
    status, summary = run(tmp_path, "validate", lerobot)
    assert status == 2 and summary["episodes"] == [0] and list(summary["lost"]) == ["1"]
    assert "r2s2r validate FOLDER --recover OUT" in capsys.readouterr().out
    status, summary = run(tmp_path, "validate", lerobot, "--recover", tmp_path / "sound")
    assert status == 0 and summary["renumbered"] == {"0": 0}
    assert "lost  episode 1: data/chunk-000/episode_000001.parquet: no whole parquet file" in capsys.readouterr().out
    assert run(tmp_path, "validate", tmp_path / "sound")[0] == 0


def test_b57_a_gap_exits_with_2_and_one_line(tmp_path, capsys):
    root = write_set(tmp_path / "set", episodes=(0, 1, 2, 5, 6), total=7)
    assert main(["validate", str(root)]) == 2
    assert "episodes 3-4 are missing" in capsys.readouterr().err
