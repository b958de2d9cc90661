"""`r2s2r generate`: what cannot be done is told in one line before anything long is begun."""

import json

import pytest

from r2s2r.cli.generate import FOUR_SETS, Generate
from r2s2r.cli.main import main
from r2s2r.contracts.world import World
from r2s2r.world.world_file import write_world


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--workers", "0"), "--workers: received 0"),
        (("--episodes", "0"), "episodes"),
        (("--episodes", "1"), "one of each class"),
        (("--num-envs", "0"), "num_envs"),
        (("--push-share", "2"), "push_share"),
        (("--seed", "-1"), "seed"),
        (("--picture-size", "65"), "allowed are 64, 128, 256"),
        (("--conditions", "foggy"), "condition"),
        (("--conditions", "nominal", "nominal"), "different ones"),
        (("--world", "nowhere.yaml"), "nowhere.yaml"),
        (("--behavior", "nowhere"), "allowed are grounded, ungrounded"),
        (("--sets", "five"), "four or FACTORS:BEHAVIOR"),
    ],
)
def test_what_is_not_allowed_is_told_in_one_line(tmp_path, capsys, options, told):
    out = tmp_path / "job"
    assert main(["generate", str(out), *options]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and told in message, message
    assert not (out / "job.json").exists()


def test_unknown_factors_are_told(tmp_path, capsys):
    write_world(tmp_path / "world.yaml", World.nominal())
    options = ["--world", str(tmp_path / "world.yaml"), "--factors", "arm+legs"]
    assert main(["generate", str(tmp_path / "job"), *options]) == 2
    assert "'legs', allowed are all, none, or wrist_cameras" in capsys.readouterr().err


def test_a_folder_with_a_job_is_not_touched(tmp_path, capsys):
    (tmp_path / "job.json").write_text(json.dumps({"format_version": 1}))
    before = (tmp_path / "job.json").read_bytes()
    assert main(["generate", str(tmp_path), "--episodes", "4"]) == 2
    assert "--resume goes on with it" in capsys.readouterr().err
    assert main(["generate", str(tmp_path), "--episodes", "4", "--resume"]) == 2
    assert (tmp_path / "job.json").read_bytes() == before


def test_sets_are_the_paper_s_four_or_any_of_factors_and_behavior(tmp_path):
    assert Generate(tmp_path, sets=("four",))._sets() == FOUR_SETS
    chosen = Generate(tmp_path, sets=("arm+hand:grounded", "none:ungrounded"))._sets()
    assert chosen == {"arm+hand-grounded": ("arm+hand", "grounded"), "none-ungrounded": ("none", "ungrounded")}
    assert Generate(tmp_path)._sets() == {"": ("all", "grounded")}
