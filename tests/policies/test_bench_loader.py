"""`r2s2r bench loader`: both loaders on one small file, and what it refuses."""

import json

import pytest

from r2s2r.cli.main import main

from .data_sets import write


@pytest.mark.slow  # two fresh processes that import torch and robomimic
def test_both_loaders_are_measured_and_written(tmp_path, capfd):
    pytest.importorskip("robomimic", reason="robomimic comes with the extra 'train'")
    data, summary = write(tmp_path / "set.hdf5"), tmp_path / "bench.json"
    options = ["--threads", "1", "--seconds", "0.05", "--repetitions", "1", "--batch-size", "8", "--chunk", "4"]
    assert main(["bench", "loader", str(data), *options, "--json", str(summary)]) == 0
    written = json.loads(summary.read_text())
    ours, peer = (written[name]["rows"] for name in ("r2s2r", "robomimic"))
    assert [(row["workers"], row["whole_window"]) for row in ours] == [(1, False), (1, True)]
    assert [(row["workers"], row["whole_window"]) for row in peer] == [(0, True), (1, True)]
    first, whole, *others = (row["samples_per_s"] for row in ours + peer)
    assert written["ratio"] == pytest.approx(first / max(others))
    assert written["ratios"][0]["whole_window_ratio"] == pytest.approx(whole / max(others))
    # A Python process with NumPy takes tens of MB.
    assert all(2**24 < written[name]["peak_bytes"] < 2**32 for name in ("r2s2r", "robomimic"))
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 7 and lines[-1].startswith("loader, 1 threads: ratio ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "--threads: received 0, allowed are 1 and more"),
        (["--seconds", "0"], "--seconds: received 0, allowed is above 0 and below 3600"),
        ([], "nothing.hdf5: no such file"),
    ],
)
def test_bad_arguments_are_one_line_and_2(arguments, message, tmp_path, capsys):
    assert main(["bench", "loader", str(tmp_path / "nothing.hdf5"), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("r2s2r: error: ") and message in error and error.count("\n") == 1
