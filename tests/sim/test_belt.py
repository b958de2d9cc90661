"""Self-test of the belt: a kinematic body whose velocity carries what lies on it."""

import pytest
import torch

from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env

from .driving import put, restart, state, stay

pytestmark = pytest.mark.sim

N, SEED = 8, 3
SPEED, SECONDS = 0.15, 3.0
MASSES = (0.010, 0.500)
START_Y, GAP = -0.45, 0.25


@pytest.fixture(scope="module")
def ride():
    """Both objects of 8 environments, half of 10 g and half of 500 g, from rest: (start, end) by name of the slot."""
    with belt_sort_env(N, seed=SEED) as env:
        obs = restart(env, SEED)
        still, term = stay(obs), episode(env)
        mass = torch.tensor(MASSES).repeat(N // 2)[:, None]
        belt = torch.zeros(N, 6)
        belt[:, 1] = SPEED
        env.scene["belt"].write_root_velocity_to_sim_index(root_velocity=belt)
        for index, slot in enumerate(("box_object", "round_object")):
            item = env.scene[slot]
            scale = (mass / item.data.body_mass.torch)[..., None]
            item.set_inertias_index(inertias=item.data.body_inertia.torch * scale)
            item.set_masses_index(masses=mass)
            pos = torch.tensor([[0.52, START_Y - GAP * index, 0.1 + float(h)] for h in term.half_heights[:, index]])
            put(env, item, pos, range(N))
        start = env.observation_manager.compute()
        for _ in range(round(30 * SECONDS)):
            obs, *_ = env.step(still)
            assert not env.reset_buf.any()
        yield {name: (state(start, name), state(obs, name)) for name in ("box_pos_b", "round_pos_b")}


@pytest.mark.parametrize(("name", "spread"), [("box_pos_b", 0.001), ("round_pos_b", 0.002)])
def test_b41_objects_of_10_g_and_of_500_g_ride_at_the_belt_s_speed(ride, name, spread):
    """0.15 m/s for 3 s: 0.45 m within 5 mm, less than 2 mm of drop, less than 1 mm between environments.

    From rest, friction of 1 takes v / g = 15 ms to reach the belt's speed, which costs v^2 / (2 g) = 1 mm.
    A standing cylinder touches the belt in one point a step and rattles by a fraction of a millimetre.
    """
    start, end = ride[name]
    way = end - start
    assert (way[:, 1] - SPEED * SECONDS).abs().max() < 0.005
    assert way[:, 2].abs().max() < 0.002
    assert way[:, 1].max() - way[:, 1].min() < spread
    assert way[:, 0].abs().max() < 0.001
