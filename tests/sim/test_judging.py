"""Verdicts on scripted motions in the simulator: objects are put into bins, carried through them and dropped."""

import pytest
import torch

from r2s2r.contracts.world import OBJECT_CLASSES, World
from r2s2r.evaluation.judging import Outcome
from r2s2r_tasks.assets.bin_cfg import BinCfg
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env

from .driving import judge, put, restart, stay

pytestmark = pytest.mark.sim

N, SEED = 10, 17
SETTLE, PASS, WRONG, DROP = range(4), range(4, 6), range(6, 8), range(8, 10)
SLOTS = ("box_object", "round_object")
PASSING_STEPS = 3
"""0.1 s at 30 Hz."""


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED) as env:
        yield env


def _put_target(env, env_id: int, place: str) -> None:
    """Put the target of environment `env_id` into its own bin, into the other one, or onto the table."""
    term = episode(env)
    target = int(term.target_class[env_id])
    bins = World.nominal().poses.bin_pos_b
    x, y, z = {
        "own": bins[OBJECT_CLASSES[target]],
        "other": bins[OBJECT_CLASSES[1 - target]],
        "table": (0.80, -0.10, 0.0),
    }[place]
    floor = 0.0 if place == "table" else BinCfg().thickness
    put(env, env.scene[SLOTS[target]], (x, y, z + floor + float(term.half_heights[env_id, target])), [env_id])


def _throw_target_out(env, env_id: int) -> None:
    """Let the target of environment `env_id` fly up at 2 m/s and towards the back, over the wall of its bin."""
    item = env.scene[SLOTS[int(episode(env).target_class[env_id])]]
    velocity = torch.tensor([[-1.0, 0.0, 2.0, 0.0, 0.0, 0.0]])
    item.write_root_velocity_to_sim_index(root_velocity=velocity, env_ids=torch.tensor([env_id], dtype=torch.int32))


def test_b45_success_needs_a_settled_target_in_its_own_bin(env):
    """4 settle in the right bin, 2 leave it after 0.1 s, 2 lie in the wrong one, 2 are dropped: 4 successes."""
    still = stay(restart(env, SEED))
    for ids, place in ((SETTLE, "own"), (PASS, "own"), (WRONG, "other"), (DROP, "table")):
        for env_id in ids:
            _put_target(env, env_id, place)
    ended: dict[int, tuple[Outcome, int, float]] = {}
    for step in range(1, 46):
        if step == PASSING_STEPS + 1:
            for env_id in PASS:
                assert 0.0 < judge(env).held_s[env_id, 0] < 0.2
                _throw_target_out(env, env_id)
        env.step(still)
        for env_id in env.reset_buf.nonzero().flatten().tolist():
            outcome, held_s = Outcome(int(judge(env).outcome[env_id])), float(judge(env).final["held_s"][env_id, 0])
            ended.setdefault(env_id, (outcome, step, held_s))
    outcomes = [ended[env_id][0] for env_id in range(N)]
    assert outcomes == [Outcome.SUCCESS] * 4 + [Outcome.DROPPED] * 2 + [Outcome.WRONG_BIN] * 2 + [Outcome.DROPPED] * 2
    # Half a second of lying still, 15 steps, and the raw value beside the verdict.
    for env_id in SETTLE:
        assert ended[env_id][1] >= 15 and ended[env_id][2] == pytest.approx(0.5, abs=1e-3)
    for env_id in PASS:
        assert ended[env_id][2] == 0.0


def test_time_runs_out_as_a_failure_of_its_own(env):
    still = stay(restart(env, SEED))
    env.episode_length_buf[:] = env.max_episode_length - 1
    _, _, terminated, truncated, _ = env.step(still)
    assert truncated.all() and not terminated.any()
    assert (judge(env).outcome == Outcome.TIMEOUT).all()


def test_the_next_attempt_inherits_nothing(env):
    """Held time and greatest height are those of the attempt, and the new place of the target is no jump."""
    still = stay(restart(env, SEED))
    for env_id in range(N):
        _put_target(env, env_id, "own")
    for _ in range(5):
        env.step(still)
    assert (judge(env).held_s[:, 0] > 0.0).all()
    restart(env, SEED)
    assert (judge(env).held_s == 0.0).all() and (judge(env).max_height == 0.0).all()
    env.step(still)
    assert (judge(env).outcome == Outcome.RUNNING).all()
