"""`r2s2r bench retarget`: a short run against the peer, and what is refused. Times are printed, not judged."""

import json

import pytest

from r2s2r.cli.bench_retarget import BenchRetarget
from r2s2r.cli.main import main
from r2s2r.contracts.errors import RecordingError
from r2s2r.recording import catalogue


def test_our_cost_is_not_higher_than_the_peer_s(data_dir, tmp_path, capsys):
    pytest.importorskip("dex_retargeting", reason="dex_retargeting is not installed")
    path = tmp_path / "bench.json"
    arguments = ["--repetitions", "1", "--streams", "2", "--max-frames", "60", "--json", str(path)]
    assert main(["bench", "retarget", *arguments]) == 0
    summary = json.loads(path.read_text())
    assert len(summary["rows"]) == 6 and len(summary["own"]) == 3
    for row in summary["rows"]:
        where = row["objective"], row["recording"]
        assert row["frames"] == 60 and row["ratio"] > 0.0 and row["peer"]["frames_per_s"] > 0.0, where
        # Each frame from the same posture before: the peer's own problems.
        same = row["same_problems"]
        assert same["ours_mean"] <= same["peer_mean"] and same["share_not_higher"] >= 0.95, where
    printed = capsys.readouterr().out
    assert "vector, human_joint_right, 60 frames: ratio" in printed and "live" in printed


@pytest.mark.parametrize(
    "option, message",
    [
        (["--repetitions", "0"], "--repetitions: received 0, allowed are 1 and more"),
        (["--streams", "0"], "--streams: received 0, allowed are 1 and more"),
        (["--max-frames", "1"], "--max-frames: received 1, allowed are 2 and more"),
    ],
)
def test_bad_options_are_one_line(option, message, capsys):
    assert main(["bench", "retarget", *option]) == 2
    assert capsys.readouterr().err.strip() == f"r2s2r: error: {message}"


def test_without_recordings_it_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv(catalogue.DATA_DIR_VARIABLE, raising=False)
    monkeypatch.setattr(catalogue, "default_data_dir", lambda: tmp_path / "nothing")
    with pytest.raises(RecordingError, match="bench retarget: no recorded data"):
        BenchRetarget().run()
