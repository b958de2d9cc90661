"""`r2s2r evaluate`: what it refuses, and a whole evaluation of two networks that have learned nothing yet."""

import json

import pytest

from r2s2r.cli.evaluate import named_checkpoints
from r2s2r.cli.main import main
from r2s2r.contracts.errors import ConfigError

from ..policies import data_sets


@pytest.mark.parametrize("text", ["network", "=folder", "name=", "a/b=folder", "a b=folder"])
def test_policies_are_names_and_checkpoints(text):
    with pytest.raises(ConfigError, match="allowed is NAME=CHECKPOINT"):
        named_checkpoints([text])


def test_policies_have_names_of_their_own():
    with pytest.raises(ConfigError, match="'a' comes twice"):
        named_checkpoints(["a=x", "a=y"])
    assert list(named_checkpoints(["b=x", "a=y=z"])) == ["b", "a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trials", "1", "2"], "--trials: received 1 2, allowed are 5 numbers from 0"),
        (["--trials", "0", "0", "0", "0", "0"], "one of them above 0"),
        (["--cell", "real"], "--cell: received 'real'"),
        (["--workers", "0"], "--workers: received 0"),
        (["--seed", "-1"], "--seed: received -1"),
        (["--execute", "0"], "RunnerCfg.execute"),
        ([], "no checkpoint there"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(options, message, tmp_path, capsys):
    pytest.importorskip("robomimic")
    arguments = ["evaluate", str(tmp_path / "out"), "--policies", f"a={tmp_path / 'none'}", *options]
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("r2s2r: error: ")
    assert message in error


@pytest.mark.slow
def test_two_policies_are_compared_and_the_run_goes_on(tmp_path, capsys):
    pytest.importorskip("robomimic")
    data = data_sets.write(tmp_path / "set.hdf5", [40] * 10, size=16)
    for name, steps in (("one", 2), ("two", 3)):
        assert (
            main(["train", str(tmp_path / name), "--data", f"sim={data}", "--steps", str(steps), "--batch-size", "4"])
            == 0
        )
    policies = [f"{name}={tmp_path / name}" for name in ("one", "two")]
    out = tmp_path / "out"
    arguments = ["evaluate", str(out), "--seed", "3", "--trials", "0", "0", "1", "0", "1", "--workers", "1"]
    assert main([*arguments, "--policies", *policies]) == 0
    table, report = (out / "table.json").read_bytes(), (out / "report.html").read_bytes()
    content = json.loads(table)
    assert {name: c["trials"] for name, c in content["policies"]["two"]["conditions"].items()} == {
        "fast_belt": 1,
        "combined": 1,
    }
    assert main([*arguments, "--policies", *policies]) == 2
    assert "go on with --resume" in capsys.readouterr().err

    log = (out / "trials.jsonl").read_bytes()
    (out / "trials.jsonl").write_bytes(log[:-10])  # the last trial is made again, and comes to the same
    assert main([*arguments, "--policies", *policies, "--resume"]) == 0
    assert (out / "trials.jsonl").read_bytes() == log
    assert (out / "table.json").read_bytes() == table
    assert (out / "report.html").read_bytes() == report

    assert main([*arguments, "--policies", policies[0], "--resume"]) == 2
    assert "begun with other settings: policies" in capsys.readouterr().err
