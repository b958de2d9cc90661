"""`r2s2r study`: what it refuses before anything is begun, and the command that it states."""

import pytest

from r2s2r.cli.main import main
from r2s2r.cli.study import Study
from r2s2r.dataset.lock import WriterLock


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--scale", "huge"), "allowed are tiny, small, paper"),
        (("--seeds", "0"), "--seeds: received 0"),
        (("--seeds", "1000"), "--seeds: received 1000"),
        (("--seed", "-1"), "--seed"),
        (("--cores", "0"), "--cores: received 0"),
        (("--sets", "grounded"), "allowed are ungrounded, behavior_grounded, world_grounded, fully_grounded"),
        (("--sets", "arm_grounded_behavior"), "--sets"),
        (("--sets", "fully_grounded", "world_grounded"), "received world_grounded without ungrounded"),
        (("--demos", "1"), "demos"),
        (("--policy", "huge"), "allowed are tiny, small, base, paper"),
        (("--trials", "1", "2"), "trials: received (1, 2)"),
        (("--max-rounds", "0"), "max_rounds"),
    ],
)
def test_bad_options_are_one_line_and_2(tmp_path, capsys, options, told):
    out = tmp_path / "study"
    assert main(["study", str(out), *options]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and told in message, message
    assert not out.exists()


def test_two_runs_in_one_folder_are_refused(tmp_path, capsys):
    lock = WriterLock(tmp_path / "study.lock")
    try:
        assert main(["study", str(tmp_path)]) == 2
    finally:
        lock.release()
    assert "being written by process" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_command_that_makes_it_again_names_what_was_changed(tmp_path):
    study = Study(tmp_path, scale="tiny", seed=201, factors=True, episodes=40, trials=(4, 1, 1, 1, 1))
    assert study._command() == (
        "r2s2r study OUT --scale tiny --seed 201 --seeds 1 --factors --episodes 40 --trials 4 1 1 1 1"
    )
    scale = study._scale()
    assert (scale.episodes, scale.trials, scale.demos) == (40, (4, 1, 1, 1, 1), 20)
    some = Study(tmp_path, seed=201, sets=("behavior_grounded", "fully_grounded"))
    assert some._command().endswith("--seeds 1 --sets behavior_grounded fully_grounded")
