"""When a policy is asked and which of its actions are sent: on a cell without dynamics every step can be told."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.contracts.policy import Observation
from r2s2r.deployment.control_stack import ControlStack
from r2s2r.deployment.policy_runner import PolicyRunner, RunnerCfg
from r2s2r.robot.ready import READY_JOINT_POS

from .still_cell import StillCell

REST = np.array([READY_JOINT_POS[name] for name in ROBOT_JOINTS])


class Clock:
    """A policy whose hand joints say the instant that an action is for: first joint, 1 rad = 10 s after the start."""

    def __init__(self, rest_action: np.ndarray, chunk: int = 16, start_s: float = 100.0):
        self.info = {"name": "clock", "picture_size": 4, "chunk": chunk, "rate_hz": 30.0}
        self.rest, self.start_s = rest_action, start_s
        self.seen: list[Observation] = []

    def reset(self, seed: int) -> None:
        self.seen.clear()

    def act(self, observation: Observation) -> np.ndarray:
        self.seen.append(observation)
        times = observation.time_s - self.start_s + np.arange(self.info["chunk"]) / 30.0
        actions = np.repeat(self.rest[None], len(times), axis=0)
        actions[:, 9] = self.rest[9] + 0.1 * times
        return actions


@pytest.fixture(scope="module")
def stack() -> ControlStack:
    return ControlStack(StillCell().info)


def begun(stack: ControlStack, cfg: RunnerCfg, chunk: int = 16, lead_s: float = 0.0):
    cell = StillCell(lead_s)
    policy = Clock(stack.rest_action(REST), chunk)
    return cell, policy, PolicyRunner(cell, policy, cfg, stack, REST)


def test_every_action_is_sent_at_the_instant_that_it_is_for(stack):
    """Once the robot moves, action and clock agree to half a step, whatever pictures and thinking took."""
    for delay_s in (0.0, 0.05, 0.13):
        cell, policy, runner = begun(stack, RunnerCfg(inference_delay_s=delay_s, execute=6))
        late = []
        for _ in range(90):
            now_s, before = cell.now(), len(cell.hand_commands)
            action = runner.step()
            if len(cell.hand_commands) > before and runner.decisions[0].join is not None and len(runner.decisions) > 3:
                late.append(now_s - policy.start_s - 10.0 * (action[9] - policy.rest[9]))
        assert np.abs(late).max() <= 0.5 / 30.0 + 1e-3


def test_b93_the_robot_waits_for_the_first_answer_and_starts_at_its_first_action(stack):
    cell, policy, runner = begun(stack, RunnerCfg(inference_delay_s=0.7, execute=8), chunk=50)
    for _ in range(60):
        runner.step()
    first_sent_s = cell.hand_commands[0][0]
    assert first_sent_s >= policy.seen[0].time_s + 0.7
    assert runner.decisions[0].join.start == 0
    assert cell.hand_commands[0][1][0] == pytest.approx(
        policy.rest[9] + 0.1 * (policy.seen[0].time_s - 100.0), abs=1e-6
    )
    assert runner.held_steps == 0


def test_b93_nine_executed_actions_are_passed_over(stack):
    """0.3 s of thinking, and pictures whose exposure is the instant at which the policy is asked."""
    cell, _, runner = begun(stack, RunnerCfg(inference_delay_s=0.3, execute=12), chunk=40, lead_s=0.04)
    for _ in range(80):
        runner.step()
    starts = [decision.join.start for decision in runner.decisions[1:] if decision.join is not None]
    observed = [decision.observation.time_s for decision in runner.decisions[1:]]
    asked = [cell.begin_s + decision.step / 30.0 for decision in runner.decisions[1:]]
    age_steps = np.round((np.array(asked) - observed) * 30.0).astype(int)
    assert starts
    assert [start - age for start, age in zip(starts, age_steps, strict=False)] == [9] * len(starts)


def test_each_answer_is_executed_as_long_as_was_asked_for(stack):
    _, _, runner = begun(stack, RunnerCfg(execute=7, inference_delay_s=0.05))
    for _ in range(100):
        runner.step()
    assert set(np.diff([decision.step for decision in runner.decisions])) == {7}
    assert runner.held_steps == 0


def test_a_policy_that_is_slower_than_its_period_is_refused_in_one_line(stack):
    with pytest.raises(
        ConfigError, match="policy clock is slower than its control period: an answer has 16 actions"
    ) as e:
        begun(stack, RunnerCfg(inference_delay_s=0.4))
    assert "\n" not in str(e.value)


def test_a_policy_that_turns_out_slower_holds_the_robot_still(stack, monkeypatch):
    """Measured thinking of 0.6 s: 16 actions end before the next answer, the last one is held and counted."""
    cell, policy, runner = begun(stack, RunnerCfg(inference_delay_s=None))
    clock = iter(np.arange(0.0, 1e4, 0.6))
    monkeypatch.setattr("r2s2r.deployment.policy_runner.time.perf_counter", lambda: next(clock))
    for _ in range(120):
        runner.step()
    assert runner.held_steps > 0
    assert all(decision.chunk.shape == (16, 25) for decision in runner.decisions)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((8, 25)), r"answer of shape \(8, 25\), expected \(16, 25\)"),
        (np.full((16, 25), np.nan), "is not finite in row 0"),
        (np.zeros((16, 24)), "width 24"),
    ],
)
def test_another_answer_than_promised_is_refused(stack, answer, message):
    _, policy, runner = begun(stack, RunnerCfg())
    policy.act = lambda observation: answer
    with pytest.raises(ConfigError, match=f"policy clock.*{message}"):
        for _ in range(10):
            runner.step()


def test_another_rate_is_refused(stack):
    policy = Clock(np.zeros(25))
    policy.info["rate_hz"] = 10.0
    with pytest.raises(ConfigError, match="policy clock: rate_hz is 10.0, allowed is 30"):
        PolicyRunner(StillCell(), policy, RunnerCfg(), stack, REST)


@pytest.mark.parametrize(("values", "name"), [({"execute": 0}, "execute"), ({"inference_delay_s": -1.0}, "inference")])
def test_settings_are_checked(values, name):
    with pytest.raises(ConfigError, match=rf"RunnerCfg\.{name}"):
        RunnerCfg(**values)
