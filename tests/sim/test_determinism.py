"""The same seed gives the same numbers, bit for bit; an episode depends on its number, not on where it runs."""

import pytest
import torch

from r2s2r.contracts.action import ACTION_DIM
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env

from .driving import stay

pytestmark = pytest.mark.sim

SEED, STEPS = 21, 20


def _run(num_envs: int, seed: int, steps: int = STEPS) -> dict[str, torch.Tensor]:
    """Open the task, make random moves, and return all that was seen (steps, N, ...) and drawn (8, ...)."""
    generator = torch.Generator().manual_seed(0)
    with belt_sort_env(num_envs, seed=seed) as env:
        obs, _ = env.reset()
        still, seen = stay(obs), []
        drawn = []
        for _ in range(steps):
            moves = 0.05 * torch.randn(num_envs, ACTION_DIM, generator=generator)
            obs, reward, *_ = env.step(still + moves)
            seen.append(torch.cat((obs["policy"], obs["privileged"], reward[:, None]), dim=-1))
        term = episode(env)
        while True:  # episodes 0 to 7, however many environments share them
            drawn.append(torch.cat((term.target_class[:, None], term.layout), dim=-1).clone())
            if sum(map(len, drawn)) >= 8:
                break
            env.reset()
    return {"seen": torch.stack(seen) if seen else torch.empty(0), "drawn": torch.cat(drawn)}


@pytest.fixture(scope="module")
def four() -> dict[str, torch.Tensor]:
    return _run(4, SEED)


def test_the_same_seed_gives_the_same_steps_bit_for_bit(four):
    again = _run(4, SEED)
    assert torch.equal(again["seen"], four["seen"])
    assert torch.equal(again["drawn"], four["drawn"])


def test_another_seed_gives_other_episodes(four):
    other = _run(4, SEED + 1, steps=0)
    assert not (other["drawn"][:, 1:] == four["drawn"][:, 1:]).all(dim=0).any()


def test_an_episode_s_draw_depends_on_its_number_alone(four):
    eight = _run(8, SEED, steps=0)
    assert torch.equal(eight["drawn"], four["drawn"])
