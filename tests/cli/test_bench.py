"""`r2s2r bench`: what it refuses, and the summary that it writes. The measurement itself: tests/sim."""

import json
import sys
from dataclasses import make_dataclass
from types import SimpleNamespace

import pytest

from r2s2r.cli.main import main

FIGURES = {
    "ratio": 0.93,
    "ratio_range": (0.91, 0.95),
    "replay_env_steps_per_s": 930.0,
    "bare_env_steps_per_s": 1000.0,
    "real_time_factor": 31.0,
    "repetitions": 3,
    "control_steps": 30,
    "attempts_ended": 7,
    "in_hand": 0.4,
    "state_error": 0.0,
}


@pytest.fixture
def measured(monkeypatch) -> list[dict]:
    """Replace the measurement, and note what it was asked for."""
    asked: list[dict] = []
    row = make_dataclass("Row", ["num_envs", *FIGURES])

    def bench_replay(num_envs: int, **settings):
        asked.append({"num_envs": num_envs} | settings)
        return row(num_envs, **FIGURES)

    module = SimpleNamespace(bench_replay=bench_replay)
    monkeypatch.setitem(sys.modules, "r2s2r_tasks.belt_sort.bench_replay", module)
    return asked


def test_rows_machine_and_versions_are_written(measured, tmp_path, capsys):
    summary = tmp_path / "bench.json"
    arguments = ["bench", "replay", "--num-envs", "8", "16", "--repetitions", "3", "--seed", "5"]
    assert main([*arguments, "--json", str(summary)]) == 0
    written = json.loads(summary.read_text())
    assert [(row["num_envs"], row["ratio"]) for row in written["rows"]] == [(8, 0.93), (16, 0.93)]
    assert written["rows"][0] == json.loads(json.dumps({"num_envs": 8} | FIGURES))
    assert (written["seed"], written["device"]) == (5, "cpu")
    assert written["machine"]["cores"] >= 1 and "numpy" in written["versions"]
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["replay, 8 environments", "replay, 16 environments"]
    assert "ratio 0.930 (0.910 to 0.950), 930 against 1000 bare environment steps/s" in lines[0]
    assert [asked["num_envs"] for asked in measured] == [8, 16]
    assert {asked["repetitions"] for asked in measured} == {3}


def test_both_sizes_of_the_target_are_the_default(measured):
    assert main(["bench", "replay"]) == 0
    assert [asked["num_envs"] for asked in measured] == [64, 1024]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "--num-envs", "64", "0"], "--num-envs: received 64 0, allowed are 1 and more"),
        (["replay", "--repetitions", "0"], "--repetitions: received 0, allowed are 1 and more"),
        (["replay", "--seed", "-1"], f"--seed: received -1, allowed are 0 to {2**31 - 1}"),
    ],
)
def test_bad_arguments_are_one_line_and_2(arguments, message, measured, capsys):
    assert main(["bench", *arguments]) == 2
    assert capsys.readouterr().err == f"r2s2r: error: {message}\n"
    assert measured == []


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys):
    assert main(["bench", "reply"]) == 2
    printed = capsys.readouterr()
    assert "replay" in printed.err + printed.out
