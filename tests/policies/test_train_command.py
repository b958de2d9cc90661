"""`r2s2r train`: what cannot be done is told in one line; a run is made, resumed and extended."""

import json

import pytest

from r2s2r.cli.main import main
from r2s2r_policies.checkpoint import read_checkpoint

from .data_sets import write
from .runs import PICTURE, data_sets, flow


def train(out, *options: str) -> int:
    return main(["train", str(out), *options])


@pytest.fixture
def options(tmp_path) -> list[str]:
    """Options of a run of a second."""
    real, sim = data_sets(tmp_path)
    (tmp_path / "flow.json").write_text(json.dumps(flow()))
    return [
        *("--data", f"real={real}", f"sim={sim}", "--weights", "0.25", "0.75"),
        *("--config", str(tmp_path / "flow.json"), "--batch-size", "4", "--steps", "2", "--warmup-steps", "0"),
    ]


def refusal(capsys, status: int) -> str:
    message = capsys.readouterr().err
    assert status == 2 and message.count("\n") == 1, message
    return message


def test_a_run_is_made_resumed_and_extended(tmp_path, options, capsys):
    out, summary = tmp_path / "run", tmp_path / "summary.json"
    assert train(out, *options, "--json", str(summary)) == 0
    assert "step 2 of 2: loss" in capsys.readouterr().out
    told = json.loads(summary.read_text())
    assert told["step"] == 2 and [source["drawn"] for source in told["sources"]] == [2, 6]
    assert read_checkpoint(told["checkpoint"]).provenance["config"]["data"][0]["name"] == "real.hdf5"
    assert "--resume" in refusal(capsys, train(out, *options))
    assert train(out, *options, "--resume", "--steps", "3") == 0
    assert read_checkpoint(out).step == 3
    assert train(out, *options, "--resume", "--steps", "3", "--json", str(summary)) == 0  # nothing is left to do
    assert json.loads(summary.read_text())["held_out_loss"] > 0
    assert "begun with seed 0" in refusal(capsys, train(out, *options, "--resume", "--seed", "1"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (("--weights", "0.5", "0.6"), "sum to 1.1, allowed is 1"),
        (("--weights", "1"), "received 1 for 2 data sets"),
        (("--weights", "-1", "2"), "allowed is 0 to 1"),
        (("--data", "real=nowhere.hdf5", "--weights", "1"), "nowhere.hdf5"),
        (("--data", "fake=x.hdf5", "--weights", "1"), "allowed are real=FILE and sim=FILE"),
        (("--data", "real="), "allowed are real=FILE and sim=FILE"),
        (("--steps", "0"), "--steps: received 0"),
        (("--decay-steps", "3"), "--decay-steps: received 3"),
        (("--batch-size", "0"), "batch_size"),
        (("--threads", "0"), "threads"),
        (("--seed", "-1"), "--seed"),
        (("--device", "tpu"), "device"),
        (("--learning-rate", "-1"), "learning_rate"),
        (("--config", "nowhere.json"), "nowhere.json"),
    ],
)
def test_what_is_not_allowed_is_told_in_one_line(tmp_path, options, capsys, changes, told):
    out = tmp_path / "run"
    assert told in refusal(capsys, train(out, *options, *changes))
    assert not (out / "checkpoints").exists()


def test_an_unknown_size_is_told(tmp_path, options, capsys):
    without_config = options[: options.index("--config")]
    assert "allowed are tiny, small, base, paper" in refusal(
        capsys, train(tmp_path / "run", *without_config, "--size", "huge")
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"algo_name": "iql"}, "allowed are flow_matching, bc"),
        ({"train": {}}, "no algo_name"),
        ({"algo_name": "bc", "algo": {"depth": 3}}, "depth"),
        ({"algo_name": "bc", "algo": {"rnn": {"enabled": True}}}, "algo.rnn.horizon is 10, train.seq_length is 1"),
    ],
)
def test_a_configuration_that_does_not_fit_is_told(tmp_path, options, capsys, content, told):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content))
    assert told in refusal(capsys, train(tmp_path / "run", *options, "--config", str(path)))


def test_data_sets_that_cannot_be_mixed_are_told_b65(tmp_path, options, capsys):
    other = write(tmp_path / "large.hdf5", size=2 * PICTURE)
    changed = ["--data", f"real={tmp_path / 'real.hdf5'}", f"sim={other}"]
    assert "16 x 16 against 32 x 32" in refusal(capsys, train(tmp_path / "run", *options, *changed))


def test_a_damaged_checkpoint_is_told_on_resuming(tmp_path, options, capsys):
    out = tmp_path / "run"
    assert train(out, *options) == 0
    path = read_checkpoint(out).folder / "training.pt"
    path.write_bytes(path.read_bytes()[:-1])
    capsys.readouterr()
    assert "training.pt is damaged" in refusal(capsys, train(out, *options, "--resume", "--steps", "3"))
