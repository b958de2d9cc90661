"""Whole trials on the virtual cell: a policy that sorts, one that does not, one process and two."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from r2s2r.contracts.action import HAND_JOINT_POS
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import nominal_poses
from r2s2r.deployment.demonstration_attempt import DemonstrationMaker
from r2s2r.deployment.policy_runner import RunnerCfg
from r2s2r.deployment.trial_pool import Bench, make_trials
from r2s2r.deployment.trial_runner import run_trial
from r2s2r.evaluation.judging import judging_cfg
from r2s2r.evaluation.rollout import read_rollout, rollout_path

SEED = 3
JUDGING = judging_cfg(nominal_poses())
SOON_OVER = replace(JUDGING, belt_end_y=-0.25)
"""Judges an object that has ridden 10 to 20 cm as past the end: half a second instead of five."""
TRIALS = [Trial("fast_belt", number, 5) for number in range(2)]


@pytest.fixture(scope="module")
def policies():
    """The module of policies under a name that other processes find it by."""
    folder = str(Path(__file__).parent)
    sys.path.insert(0, folder)
    import trial_policies

    yield trial_policies
    sys.path.remove(folder)


@pytest.fixture(scope="module")
def cell(policies):
    wp.config.log_level = wp.LOG_WARNING
    return policies.opened(SEED, 16)


def test_a_recorded_attempt_sorts_again_when_a_policy_sends_it(cell, policies):
    trial = Trial("nominal", 0, 0)
    maker = DemonstrationMaker(lambda: cell, nominal_poses(), pictures=False)
    attempt, episode = maker.make(trial)
    assert attempt.success
    cell.begin(trial)
    policy = policies.Replay(episode.actions, cell.now() + np.arange(len(episode)) / 30.0)
    result, rollout = run_trial(cell, policy, trial, JUDGING, RunnerCfg())
    assert result.success
    assert result.held_steps == 0
    assert rollout.meta["success"] is True
    _check_consistent(rollout, result)


def test_a_robot_that_stands_still_lets_the_object_ride_past(cell, policies):
    result, rollout = run_trial(cell, policies.HoldStill(), TRIALS[0], JUDGING, RunnerCfg())
    assert result.outcome == "left_belt"
    assert (result.condition, result.number, result.seed) == ("fast_belt", 0, 5)
    assert rollout.target_pose_b[-1, 1] > JUDGING.belt_end_y
    assert np.ptp(rollout.joint_pos, axis=0).max() < 0.05
    _check_consistent(rollout, result)


def test_time_runs_out_when_nothing_moves(cell, policies):
    """With the belt's end out of reach the same attempt lasts until time is up."""
    judging = replace(JUDGING, belt_end_y=5.0, dropped_below_z=-20.0)
    result, _ = run_trial(cell, policies.HoldStill(), Trial("nominal", 0, 5), judging, RunnerCfg())
    assert (result.outcome, result.duration_s) == ("timeout", 12.0)


def _check_consistent(rollout, result) -> None:
    steps = round(result.duration_s * 30)
    assert len(rollout.time_s) == steps + 1
    assert np.diff(rollout.time_s) == pytest.approx(1 / 30, abs=1e-6)
    assert len(rollout.decision_step) == result.decisions
    # What was sent when an answer took over is the answer's own action, but for joins that were blended.
    pairs = zip(rollout.decision_step, rollout.start_index, rollout.chunks, strict=True)
    sent = [
        np.abs(rollout.actions[step + 7] - chunk[start + 5])[HAND_JOINT_POS].max()
        for step, start, chunk in pairs
        if start >= 0 and step + 8 < steps
    ]
    assert max(sent) < 1e-6


def test_b80_the_same_seed_gives_the_same_outcomes_in_one_process_or_two(policies, tmp_path):
    wanted = [("wander", trial) for trial in TRIALS]
    made = {}
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        bench = Bench(policies.open_cell(SEED), policies.load, SOON_OVER, RunnerCfg(), folder)
        results = sorted(make_trials(bench, wanted, workers), key=lambda result: result.start)
        made[workers] = results, [read_rollout(rollout_path(folder, *pair)) for pair in wanted]
    assert made[1][0] == made[2][0]
    for one, two in zip(made[1][1], made[2][1], strict=True):
        assert np.array_equal(one.actions, two.actions)
        assert np.array_equal(one.head_rgb, two.head_rgb)
        assert np.array_equal(one.target_pose_b, two.target_pose_b)


def test_an_error_in_a_process_is_told_as_it_is(policies, tmp_path):
    bench = Bench(policies.open_cell(SEED), policies.load, SOON_OVER, RunnerCfg(inference_delay_s=0.5), tmp_path)
    with pytest.raises(ConfigError, match="policy hold_still is slower than its control period"):
        list(make_trials(bench, [("hold_still", trial) for trial in TRIALS], workers=2))
