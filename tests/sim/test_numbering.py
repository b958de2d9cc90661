"""Attempts are numbered without gaps, however unevenly environments have ended before."""

import pytest
import torch

from r2s2r.behavior.operator import OperatorModel
from r2s2r_tasks.belt_sort.demonstrate import plan_demonstrations
from r2s2r_tasks.belt_sort.generate import generate
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env

pytestmark = pytest.mark.sim

N = 8


def test_generation_ends_after_environments_have_ended_unevenly():
    """Environment 2 has had two episodes more: its attempts must be counted all the same, or generation never ends."""
    with belt_sort_env(N, seed=0) as env:
        env.reset()
        classes = set(episode(env).target_class.tolist())
        assert classes == {0, 1}, "the seed gives both classes, which the plan below needs"
        planned = plan_demonstrations(env, OperatorModel(), seed=0)
        demos = {name: [demo for _, demo in group] for name, group in zip(("box", "round"), planned, strict=True)}
        for _ in range(2):
            env._reset_idx(torch.tensor([2]))
        env.cfg.episode_length_s = 0.2  # six steps: time runs out long before anything is sorted
        generation = generate(env, demos, N, condition="nominal")
    numbers = [attempt.number for attempt in generation.attempts]
    assert numbers == list(range(numbers[0], numbers[0] + N))
    assert {attempt.env_id for attempt in generation.attempts} == set(range(N))
