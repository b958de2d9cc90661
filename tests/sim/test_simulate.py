"""Attempts of a job: what one comes to depends on its number and its environment, not on what ran before it."""

from itertools import count

import numpy as np
import pytest
import torch

from r2s2r.behavior.behavior import Behavior
from r2s2r.behavior.operator import OperatorModel
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.demonstrate import plan_demonstrations
from r2s2r_tasks.belt_sort.lead import measure_lead
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env
from r2s2r_tasks.belt_sort.simulate import SimulatedShard, simulate

pytestmark = pytest.mark.sim

N, SEED = 6, 4
CFG = ReplayCfg(seed=SEED, push_share=0.5)


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED) as env:
        yield env


@pytest.fixture(scope="module")
def behavior(env) -> Behavior:
    episode(env).upcoming[:] = torch.arange(N, dtype=torch.int32)
    env.reset()
    planned = plan_demonstrations(env, OperatorModel(), SEED)
    demos = {name: tuple(demo for _, demo in group) for name, group in zip(OBJECT_CLASSES, planned, strict=True)}
    return Behavior("grounded", demos, {name: () for name in OBJECT_CLASSES})


def _shards(env, behavior, first: int, wanted: int) -> dict[int, SimulatedShard]:
    """Return `wanted` shards by their first number, from the shard numbered `first` on."""
    indices = count(first)

    def claim() -> range:
        begin = next(indices) * N
        return range(begin, begin + N)

    done = {}
    for shard in simulate(env, behavior, CFG, "nominal", claim, lambda: False):
        done[shard.numbers.start // N] = shard
        if len(done) == wanted:
            return done
    raise AssertionError("the simulation ended by itself")


@pytest.fixture(scope="module")
def in_one_go(env, behavior) -> dict[int, SimulatedShard]:
    """Shards 0 and 1, one after the other."""
    return _shards(env, behavior, 0, 2)


def test_every_attempt_of_a_shard_is_there_once(in_one_go):
    for index, shard in in_one_go.items():
        assert sorted(record.number for record in shard.attempts) == list(range(index * N, (index + 1) * N))
        assert sorted(shard.episodes) == sorted(record.number for record in shard.attempts if record.success)
    assert sum(len(shard.episodes) for shard in in_one_go.values()) >= N, "the operator sorts most of them"


def test_a_shard_is_the_same_bit_for_bit_whatever_was_simulated_before(env, behavior, in_one_go):
    """What makes a job resumable: shard 1 after shard 0, and after another history."""
    again = _shards(env, behavior, 1, 1)[1]
    key = lambda record: record.number  # noqa: E731
    assert sorted(again.attempts, key=key) == sorted(in_one_go[1].attempts, key=key)
    for number, episode_again in again.episodes.items():
        before = in_one_go[1].episodes[number]
        for name in ("actions", "states", "rewards"):
            np.testing.assert_array_equal(getattr(episode_again, name), getattr(before, name), err_msg=name)
        for name, values in before.commands.items():
            np.testing.assert_array_equal(episode_again.commands[name], values, err_msg=name)


def test_pushes_are_marked_and_the_way_back_is_not(in_one_go):
    """About half of the attempts have one push; it lasts 0.4 s out at the demonstration's own speed, 0.9 to 1.1."""
    disturbed = [item.commands["disturbed"] for shard in in_one_go.values() for item in shard.episodes.values()]
    lengths = [int(flags.sum()) for flags in disturbed]
    assert 0 < sum(length > 0 for length in lengths) < len(lengths)
    for length in lengths:
        assert length == 0 or 0.4 * 30 / 1.1 - 1 <= length <= 0.4 * 30 / 0.9 + 1
    for flags in disturbed:
        assert np.diff(flags.astype(int)).clip(0).sum() <= 1, "one stretch at most"


def test_the_human_was_tracked_in_every_step_of_a_planned_demonstration(in_one_go):
    assert all(item.commands["tracked"].all() for shard in in_one_go.values() for item in shard.episodes.values())


def test_the_nominal_arm_is_late_by_what_the_replay_assumes(env):
    assert measure_lead(env) == pytest.approx(ReplayCfg().lead_s, abs=0.003)
