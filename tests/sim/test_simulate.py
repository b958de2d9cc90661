"""Attempts of a job: what one comes to depends on its number and its environment, not on what ran before it."""

import numpy as np
import pytest

from r2s2r.behavior.behavior import Behavior
from r2s2r.behavior.operator import OperatorModel
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.demonstrate import plan_demonstrations
from r2s2r_tasks.belt_sort.generate import generate
from r2s2r_tasks.belt_sort.lead import measure_lead
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env
from r2s2r_tasks.belt_sort.simulate import simulate

pytestmark = pytest.mark.sim

N, SEED = 6, 4
CFG = ReplayCfg(seed=SEED, push_share=0.5)

SHORT_S = 5.0
"""Time for an attempt [s]: the hand has come to the object and closes around it, then time is up. A whole attempt
would tell no more here."""


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED) as env:
        env.cfg.episode_length_s = SHORT_S
        yield env


@pytest.fixture(scope="module")
def behavior(env) -> Behavior:
    env.reset()
    planned = plan_demonstrations(env, OperatorModel(), SEED)
    demos = {name: tuple(demo for _, demo in group) for name, group in zip(OBJECT_CLASSES, planned, strict=True)}
    return Behavior("grounded", demos, {name: () for name in OBJECT_CLASSES})


def _attempts(env, behavior, first: int, wanted: int) -> dict[int, Episode]:
    """Return what was recorded of `wanted` attempts by number, from number `first` on, a multiple of N."""
    recorded = {}
    episode(env).number[:] = first - N
    generate(
        env,
        behavior.demos,
        wanted,
        condition="nominal",
        cfg=CFG,
        on_attempt=lambda attempt, item: recorded.update({attempt.number: item}),
    )
    return recorded


def test_an_attempt_is_the_same_bit_for_bit_whatever_was_simulated_before(env, behavior):
    """What makes a job resumable: numbers N to 2 N - 1 after others, and as the first ones."""
    after_others = _attempts(env, behavior, 0, 2 * N)
    first = _attempts(env, behavior, N, N)
    assert sorted(first) == list(range(N, 2 * N))
    for number, item in first.items():
        before = after_others[number]
        assert item.attributes == before.attributes and item.source_demo == before.source_demo
        for name in ("actions", "states", "rewards"):
            np.testing.assert_array_equal(getattr(item, name), getattr(before, name), err_msg=name)
        for name, values in before.commands.items():
            np.testing.assert_array_equal(item.commands[name], values, err_msg=name)
    hands = np.array([item.states[-1, :23] - item.states[0, :23] for item in first.values()])
    assert np.abs(hands[:, 7:]).max() > 0.3, "the hands have closed, so that contacts were part of it"
    assert all(item.commands["tracked"].all() for item in first.values())


def test_shards_hold_each_attempt_once_and_environments_do_not_wait(env, behavior, monkeypatch):
    """Shards 3 and 5: the one between is somebody else's."""
    monkeypatch.setattr(env.cfg, "episode_length_s", 1.0)
    claimed, free = [], iter((3, 5, 6, 7, 8))

    def claim() -> range:
        claimed.append(next(free))
        return range(claimed[-1] * N, (claimed[-1] + 1) * N)

    shards = []
    for shard in simulate(env, behavior, CFG, "nominal", claim, lambda: len(shards) == 2):
        shards.append(shard)
    assert [shard.numbers.start // N for shard in shards] == [3, 5]
    for shard in shards:
        assert sorted(record.number for record in shard.attempts) == list(shard.numbers)
        assert all(record.rejection is not None and record.rejection.rule == "timeout" for record in shard.attempts)
        assert shard.episodes == {}
    assert claimed == [3, 5, 6, 7], "one shard ahead of the foremost environment, no more"


def test_the_nominal_arm_is_late_by_what_the_replay_assumes(env):
    assert measure_lead(env) == pytest.approx(ReplayCfg().lead_s, abs=0.003)
