"""One attempt judged as it goes, in a cell as planned and in cells that stand a little off."""

import math

import numpy as np
import pytest

from r2s2r.contracts.transforms import pose, pose_apply, quat_exp, quat_multiply
from r2s2r.contracts.trials import TARGET_X, TARGET_Y
from r2s2r.contracts.world import nominal_poses
from r2s2r.evaluation.judging import Outcome, judging_cfg
from r2s2r.evaluation.trial_judge import TrialJudge

PLANNED = nominal_poses()
CFG = judging_cfg(PLANNED)
BOX_BIN = np.array(PLANNED.bin_pos_b["box"])


def judged(path, target_class: str = "box", limit_s: float = 12.0) -> tuple[Outcome, int]:
    """Return the outcome of a target that goes along `path` (T, 3), and after how many steps it was known."""
    judge = TrialJudge(CFG, target_class, path[0], limit_s)
    for pos in path[1:]:
        outcome = judge.step(pos)
        if outcome is not Outcome.RUNNING:
            return outcome, judge.steps
    return Outcome.RUNNING, judge.steps


def still(pos, steps: int) -> np.ndarray:
    return np.tile(np.asarray(pos, dtype=float), (steps, 1))


@pytest.mark.parametrize(("target_class", "outcome"), [("box", Outcome.SUCCESS), ("round", Outcome.WRONG_BIN)])
def test_half_a_second_at_rest_in_a_bin_decides(target_class, outcome):
    assert judged(still(BOX_BIN + (0.0, 0.0, 0.04), 30), target_class) == (outcome, 15)


def test_passing_through_a_bin_does_not_count():
    fall = BOX_BIN + np.stack([np.zeros(40), np.zeros(40), np.linspace(0.11, 0.01, 40)], axis=1)
    moving = np.concatenate([fall, fall[::-1]])[:25]
    assert judged(moving * [1, 1, 1] + np.linspace(0, 0.1, 25)[:, None] * [1, 0, 0])[0] is Outcome.RUNNING


def test_time_is_up_after_as_many_steps_as_in_the_simulated_task():
    assert judged(still([0.5, 0.0, 0.3], 400)) == (Outcome.TIMEOUT, 360)
    assert judged(still([0.5, 0.0, 0.3], 400), limit_s=1.0) == (Outcome.TIMEOUT, 30)


def test_a_success_in_the_last_step_is_one():
    path = np.concatenate([still(BOX_BIN + (0.0, 0.0, 0.15), 1), still(BOX_BIN + (0.0, 0.0, 0.04), 400)])
    assert judged(path, limit_s=16 / 30) == (Outcome.SUCCESS, 16)


def test_what_is_not_finite_is_unstable():
    assert judged(np.array([[0.5, 0.0, 0.3], [np.nan, 0.0, 0.3]]))[0] is Outcome.UNSTABLE


@pytest.mark.parametrize("half_height", [0.03, 0.045])
@pytest.mark.parametrize("shift", [-0.015, 0.015])
@pytest.mark.parametrize("yaw", [-1.4, 1.4])
def test_a_displaced_belt_does_not_change_the_verdict(half_height, shift, yaw):
    """A belt stands up to 1.5 cm and 1.5 degrees off. The smallest and the largest object ride on it to its end: they
    count as riding until the planned end is reached, then as past it, and never as dropped."""
    for tilt in np.radians(0.5) * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]):
        turn = quat_exp(np.array([*tilt, math.radians(yaw)]))
        T_base_belt = pose(np.array(PLANNED.belt_pos_b) + shift, quat_multiply(np.array(PLANNED.belt_quat_b), turn))
        for across in np.array(TARGET_X) - PLANNED.belt_pos_b[0]:
            along = np.arange(TARGET_Y[0], 0.6, 0.1 / 30)
            path = pose_apply(T_base_belt, np.stack([along, np.full_like(along, -across), half_height + 0 * along], 1))
            outcome, steps = judged(path, limit_s=60.0)
            assert outcome is Outcome.LEFT_BELT
            assert path[steps - 1, 1] <= CFG.belt_end_y < path[steps, 1]
