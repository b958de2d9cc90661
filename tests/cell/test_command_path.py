"""Commands on their way: dead time of any length, play, lag."""

import math
from dataclasses import replace

import numpy as np
import pytest

from r2s2r.cell.command_path import DelayedHold, HandPath
from r2s2r.contracts.world import nominal_hand

STEP_S = 0.002


def test_a_step_s_mean_holds_each_command_from_its_own_time_on():
    hold = DelayedHold(np.array([1.0]))
    hold.push(0.0025, np.array([2.0]))
    hold.push(0.0035, np.array([4.0]))
    assert hold.mean(0.0, 0.002) == pytest.approx(1.0)
    assert hold.mean(0.002, 0.004) == pytest.approx(0.25 * 1.0 + 0.5 * 2.0 + 0.25 * 4.0)
    assert hold.mean(0.004, 0.006) == pytest.approx(4.0)


def test_a_late_command_acts_at_once_and_commands_do_not_overtake():
    hold = DelayedHold(np.array([0.0]))
    hold.push(-1.0, np.array([1.0]))
    assert hold.mean(0.0, 0.002) == pytest.approx(1.0)
    hold.push(0.010, np.array([2.0]))
    hold.push(0.008, np.array([3.0]))  # jitter put it before the one sent first
    assert hold.mean(0.002, 0.010) == pytest.approx(1.0)
    assert hold.mean(0.010, 0.012) == pytest.approx(3.0)


def test_a_command_is_a_copy():
    hold, value = DelayedHold(np.zeros(1)), np.array([1.0])
    hold.push(0.0, value)
    value[:] = 9.0
    assert hold.mean(0.0, 0.002) == pytest.approx(1.0)


def _hand(**changes) -> HandPath:
    return HandPath(replace(nominal_hand(), **changes), np.zeros(16), 0.0)


def test_without_delay_play_and_lag_the_target_passes():
    path = _hand()
    path.push(0.0005, np.full(16, 0.3))
    assert path.advance(STEP_S) == pytest.approx(np.full(16, 0.3))


def test_each_joint_answers_after_its_own_dead_time_and_with_its_own_lag():
    delays, lags = np.linspace(0.0203, 0.0797, 16), np.linspace(0.1, 0.02, 16)
    path = _hand(delay_s=tuple(delays), lag_s=tuple(lags))
    path.push(0.0, np.full(16, 0.3))
    for k in range(1, 101):
        now = k * STEP_S
        expected = 0.3 * (1.0 - np.exp(-np.maximum(now - delays, 0.0) / lags))
        assert path.advance(now) == pytest.approx(expected, abs=1e-12)


def test_the_answer_does_not_depend_on_the_step():
    response = {"delay_s": (0.0337,) * 16, "deadband": (0.012,) * 16, "lag_s": (0.05,) * 16}
    coarse, fine = _hand(**response), _hand(**response)
    for k in range(100):
        target = np.full(16, 0.2 * math.sin(0.9 * k))
        coarse.push(0.01 * k, target)
        fine.push(0.01 * k, target)
        for m in range(10):
            answer = fine.advance(0.01 * k + 0.001 * (m + 1))
        assert coarse.advance(0.01 * (k + 1)) == pytest.approx(answer, abs=1e-12)


def test_play_keeps_half_its_width_behind_on_either_way():
    path = _hand(deadband=(0.02,) * 16)
    now, seen = 0.0, []
    for target in (0.1, 0.11, 0.09, 0.05, 0.065, 0.2):
        path.push(now, np.full(16, target))
        now += 0.01
        seen.append(path.advance(now)[0])
    # 0.09 and 0.065 lie within the play of what was accepted before and move nothing.
    assert seen == pytest.approx([0.08, 0.09, 0.09, 0.07, 0.07, 0.18])
