"""Pictures made afterwards are those that the cameras would have made."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r_tasks.belt_sort.episode_recorder import STATE_NAMES
from r2s2r_tasks.belt_sort.film import PICTURES, Film
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env

from .driving import stay

pytestmark = pytest.mark.sim

N, STEPS, SEED = 4, 6, 5

EDGE_PIXELS = 1e-3
"""Share of the pixels that may differ: the renderer gets poses that are rounded once more, so that a ray along an edge
may meet the other side."""


@pytest.fixture(scope="module")
def seen() -> tuple[list[Episode], dict[str, np.ndarray]]:
    """Episodes of random moves without pictures, and the pictures (N, T, H, W, 3) that were taken meanwhile."""
    generator = torch.Generator().manual_seed(0)
    states, pictures = [], {name: [] for name in PICTURES}
    with belt_sort_env(N, seed=SEED, picture_size=64) as env:
        obs, _ = env.reset()
        still, term = stay(obs), episode(env)
        attributes = [
            {"attempt": int(term.number[i]), "box_shape": names[0], "round_shape": names[1]}
            for i, names in enumerate(term.shape_names)
        ]
        for _ in range(STEPS):
            states.append(obs["privileged"].clone())
            for name in PICTURES:
                pictures[name].append(obs[name].clone())
            obs, *_ = env.step(still + 0.1 * torch.randn(still.shape, generator=generator))
    table = torch.stack(states, dim=1).numpy()
    blind = [
        Episode(
            actions=np.zeros((STEPS, 25), np.float32),
            obs={"joint_pos": np.zeros((STEPS, 23), np.float32)},
            states=table[i],
            state_names=STATE_NAMES,
            commands={},
            rewards=np.zeros(STEPS, np.float32),
            dones=np.zeros(STEPS, np.int64),
            success=True,
            source_demo="none",
            attributes=attributes[i],
        )
        for i in range(N)
    ]
    return blind, {name: torch.stack(taken, dim=1).numpy() for name, taken in pictures.items()}


@pytest.fixture(scope="module")
def film():
    with belt_sort_env(N, seed=SEED, picture_size=64) as env:
        yield Film(env)


def test_a_filmed_episode_shows_what_the_cameras_saw(seen, film):
    blind, pictures = seen
    filmed = dict(film.shoot(enumerate(blind)))
    for i in range(N):
        for name in PICTURES:
            differs = (filmed[i].obs[name] != pictures[name][i]).any(axis=-1)
            assert differs.mean() <= EDGE_PIXELS, (i, name, differs.mean())
            assert not differs[0].all() and filmed[i].obs[name].std() > 10.0
        np.testing.assert_array_equal(filmed[i].states, blind[i].states)


def test_an_episode_looks_the_same_in_whatever_company_it_is_filmed(seen, film):
    """Alone, the other environments' cameras look away; and colours follow the number, not the environment."""
    blind, _ = seen
    together = dict(film.shoot(enumerate(blind)))
    alone = dict(film.shoot([(2, blind[2])]))
    for name in PICTURES:
        np.testing.assert_array_equal(alone[2].obs[name], together[2].obs[name])


def test_more_episodes_than_environments_take_turns(seen, film):
    blind, _ = seen
    twice = dict(film.shoot((i, blind[i % N]) for i in range(3 * N)))
    assert sorted(twice) == list(range(3 * N))
    for i in range(3 * N):
        np.testing.assert_array_equal(twice[i].obs["head_rgb"], twice[i % N].obs["head_rgb"])


def test_what_cannot_be_filmed_is_told(seen, film):
    blind, _ = seen
    with pytest.raises(DatasetError, match="no environment holds"):
        list(film.shoot([(0, replace(blind[0], attributes={**blind[0].attributes, "box_shape": "dodecahedron"}))]))
    with pytest.raises(DatasetError, match="does not tell its box_shape"):
        list(film.shoot([(0, replace(blind[0], attributes={"attempt": 0}))]))
    with pytest.raises(DatasetError, match="states have no column"):
        list(film.shoot([(0, replace(blind[0], state_names=("x",) * len(STATE_NAMES)))]))
    assert list(film.shoot([])) == []
