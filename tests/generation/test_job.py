"""The settings of a job: what is allowed, what they come to, and that they are kept."""

import json

import pytest

from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.generation.job import ATTEMPTS_A_CONDITION, GenerationJob

from .conftest import make_job


def test_a_job_comes_back_as_it_was_written(tmp_path):
    job = make_job(conditions=("nominal", "fast_belt"), push_share=0.25)
    job.save(tmp_path)
    assert GenerationJob.load(tmp_path) == job


@pytest.mark.parametrize("episodes", [4, 6, 7, 1501])
def test_quotas_are_equal_up_to_one_and_add_up(episodes):
    job = make_job(episodes=episodes, conditions=("nominal", "red_light"))
    assert sum(job.quotas.values()) == episodes
    assert max(job.quotas.values()) - min(job.quotas.values()) <= 1
    assert set(job.quotas) == {(c, o) for c in ("nominal", "red_light") for o in ("box", "round")}


@pytest.mark.parametrize(("episodes", "demonstrations"), [(4, 64), (100, 64), (200, 100), (1500, 128)])
def test_a_built_in_planner_demonstrates_less_for_a_small_job(episodes, demonstrations):
    assert make_job(episodes=episodes).demonstrations == demonstrations


def test_no_two_attempts_of_a_job_have_one_number():
    job = make_job(conditions=("nominal", "red_light"))
    numbers = [n for c in job.conditions for index in range(5) for n in job.numbers(c, index)]
    assert len(set(numbers)) == len(numbers) == 2 * 5 * job.num_envs
    # Environments are told from the number: the same one makes the attempt wherever it is made.
    assert [n % job.num_envs for n in job.numbers("red_light", 3)] == list(range(job.num_envs))
    assert max(numbers) < 2 * ATTEMPTS_A_CONDITION < 2**31


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"episodes": 0}, "episodes"),
        ({"episodes": 1}, "one of each class"),
        ({"episodes": 2.5}, "whole numbers"),
        ({"num_envs": 0}, "num_envs"),
        ({"seed": -1}, "seed"),
        ({"push_share": 1.5}, "push_share"),
        ({"conditions": ()}, "conditions"),
        ({"conditions": ("nominal", "nominal")}, "conditions"),
    ],
)
def test_what_is_not_allowed_is_named(changes, told):
    with pytest.raises(ConfigError, match=told):
        make_job(**changes)


def test_another_setting_is_refused_by_name(tmp_path):
    begun = make_job()
    begun.save(tmp_path)
    with pytest.raises(ConfigError, match=r"begun with seed 0, received 1"):
        GenerationJob.load(tmp_path).check_same(make_job(seed=1), tmp_path)
    GenerationJob.load(tmp_path).check_same(make_job(), tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format_version": 2}'])
def test_a_damaged_job_is_refused(tmp_path, content):
    (tmp_path / "job.json").write_text(content)
    with pytest.raises(DatasetError, match=r"job\.json"):
        GenerationJob.load(tmp_path)
    with pytest.raises(DatasetError, match="holds no generation"):
        GenerationJob.load(tmp_path / "elsewhere")


def test_the_file_is_plain_json(tmp_path):
    make_job().save(tmp_path)
    assert json.loads((tmp_path / "job.json").read_text())["num_envs"] == make_job().num_envs
