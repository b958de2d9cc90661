"""A policy tried in all environments at once."""

import numpy as np
import pytest
import torch

from r2s2r.contracts.policy import Observation
from r2s2r.deployment.policy_runner import RunnerCfg
from r2s2r.evaluation.rollout import Rollout
from r2s2r.evaluation.trial_result import TrialResult
from r2s2r_tasks.belt_sort.evaluate import evaluate_in_task
from r2s2r_tasks.belt_sort.session import belt_sort_env

pytestmark = pytest.mark.sim

N, SEED = 2, 4


class Sway:
    """Stays where the robot rests and counts in a finger: joint 16 of an action says the instant that it is for."""

    def __init__(self, rest: np.ndarray):
        self.info = {"name": "sway", "picture_size": 64, "chunk": 16, "rate_hz": 30.0}
        self.rest = rest
        self.seen: list[Observation] = []

    def reset(self, seed: int) -> None:
        self.seen.clear()

    def act(self, observation: Observation) -> np.ndarray:
        self.seen.append(observation)
        actions = np.repeat(self.rest[None], 16, axis=0)
        actions[:, -1] = self.rest[-1] + 0.03 * (observation.time_s + np.arange(16) / 30.0)
        return actions


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED, condition="fast_belt", picture_size=64) as env:
        yield env


@pytest.fixture(scope="module")
def tried(env) -> tuple[list[Sway], list[tuple[TrialResult, Rollout]]]:
    from r2s2r_tasks.belt_sort.evaluate import _rest

    rest = _rest(env, env.reset()[0])[0].cpu().numpy().astype(np.float32)
    policies = [Sway(rest) for _ in range(N)]
    return policies, evaluate_in_task(env, policies, "sway", "fast_belt", RunnerCfg())


def test_who_stands_still_lets_the_object_ride_past(tried):
    _, trials = tried
    assert [result.outcome for result, _ in trials] == ["left_belt"] * N
    assert [result.start for result, _ in trials] == [("fast_belt", number, SEED) for number in range(N)]
    for result, rollout in trials:
        assert 0.16 <= result.belt_speed <= 0.20
        assert len(rollout.time_s) == round(30 * result.duration_s)
        ridden = rollout.target_pose_b[-1, 1] - rollout.target_pose_b[0, 1]
        assert ridden == pytest.approx(result.belt_speed * result.duration_s, rel=0.05)


def test_actions_are_sent_at_the_instants_that_they_are_for(tried):
    policies, trials = tried
    for policy, (_, rollout) in zip(policies, trials, strict=True):
        due = 0.03 * rollout.time_s + policy.rest[-1]
        moving = rollout.decision_step[1] + 2  # the first answer began late, at its first action
        assert rollout.actions[moving:, -1] == pytest.approx(due[moving:], abs=1e-5)
        assert np.all(rollout.actions[:2, -1] == policy.rest[-1])
        assert set(np.diff(rollout.decision_step[1:])) == {8}


def test_policies_see_what_is_there_when_they_are_asked(tried):
    policies, trials = tried
    for policy, (_, rollout) in zip(policies, trials, strict=True):
        assert len(policy.seen) == len(rollout.decision_step)
        for k, seen in enumerate(policy.seen):
            assert np.array_equal(seen.head_rgb, rollout.head_rgb[k])
            assert np.array_equal(seen.joint_pos, rollout.joint_pos[rollout.decision_step[k]])
        assert len({picture.tobytes() for picture in rollout.head_rgb}) == len(rollout.head_rgb)


def test_b80_the_same_seed_gives_the_same_outcomes(env, tried):
    policies, before = tried
    again = evaluate_in_task(env, policies, "sway", "fast_belt", RunnerCfg())
    assert [result for result, _ in again] == [result for result, _ in before]
    for (_, one), (_, other) in zip(again, before, strict=True):
        assert torch.equal(torch.from_numpy(one.target_pose_b), torch.from_numpy(other.target_pose_b))
