"""Replay against bare physics: how much of the simulator's speed is left while demonstrations are replayed.

Both are measured in one run, on the same environments and the same states: each control step of the replay is timed,
the physics goes back to where that step began, and its physics steps are run and timed once more with the joint
targets noted from the replay and nothing else. So both see the same contacts and the same solver iterations, and what
else the machine does meanwhile meets both alike: they take turns within a fraction of a second. That the second run
ends in the same state as the first is measured, too.

A control step of the replay is all that :class:`~r2s2r_tasks.belt_sort.attempts.AttemptRunner` does without pictures
and without a file: adapted demonstrations, arm controller, physics, verdicts, rewards, observations, and the attempts
that end and begin. Attempts of a long run end at different times, so here they are spread from the start.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from statistics import median

import torch
import warp as wp
from isaaclab.envs import ManagerBasedRLEnv
from isaaclab_newton.physics import NewtonManager

from r2s2r.behavior.demonstration import Phase
from r2s2r.behavior.operator import OperatorModel
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.replay.batch import BatchReplay
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.attempts import Attempt, AttemptRunner
from r2s2r_tasks.belt_sort.demonstrate import plan_demonstrations
from r2s2r_tasks.belt_sort.physics_checkpoint import PhysicsCheckpoint, model_changes_held_back
from r2s2r_tasks.belt_sort.replay_driver import ReplayDriver
from r2s2r_tasks.belt_sort.session import belt_sort_env

WARM_UP_STEPS = 100
"""Control steps before the first timed one: kernels are loaded, and the first hands have closed."""

ATTEMPT_S = 8.0
"""What an attempt takes in a long run [s]: attempts end at the rate of one a second for each eight environments."""

STEPS_PER_REPETITION = 8192
"""Control steps of one environment in one repetition, within :data:`CONTROL_STEPS`."""

CONTROL_STEPS = (10, 30)
"""Fewest and most control steps of a repetition."""


@dataclass(frozen=True)
class ReplayBench:
    """What one number of environments came to."""

    num_envs: int
    """Environments that ran at once."""
    ratio: float
    """Speed of the replay over that of bare physics: median of the repetitions."""
    ratio_range: tuple[float, float]
    """Smallest and greatest ratio of a repetition."""
    replay_env_steps_per_s: float
    """Control steps of one environment a second under replay: median of the repetitions."""
    bare_env_steps_per_s: float
    """The same of bare physics."""
    real_time_factor: float
    """Simulated seconds of all environments together in a second of replay."""
    repetitions: int
    """Repetitions that were timed."""
    control_steps: int
    """Control steps in each of them."""
    attempts_ended: int
    """Attempts that ended, and began anew, while the replay was timed."""
    in_hand: float
    """Share of the environments in which the hand was closing or holding, at the end."""
    state_error: float
    """Greatest difference between the joint coordinates that both reach from the same state [m, rad]."""


def bench_replay(num_envs: int, *, repetitions: int, seed: int, device: str = "cpu") -> ReplayBench:
    """Measure one number of environments.

    Demonstrations are the operator model's with built-in statistics, one in each environment, none of them checked.

    Args:
        num_envs: environments N.
        repetitions: how often the ratio is measured.
        seed: seed of all draws.
        device: `cpu` or a CUDA device.

    Raises:
        ConfigError: no environment, or a device that is not there.
    """
    fewest, most = CONTROL_STEPS
    control_steps = min(most, max(fewest, STEPS_PER_REPETITION // num_envs)) if num_envs > 0 else fewest
    with belt_sort_env(num_envs, seed=seed, device=device) as env:
        pair = _Pair(env, seed)
        for _ in range(WARM_UP_STEPS):
            pair.replay_step()
        timed = [pair.repetition(control_steps) for _ in range(repetitions)]
        ratios = [bare_s / replay_s for replay_s, bare_s in timed]
        steps = num_envs * control_steps
        replay_rate = median(steps / replay_s for replay_s, _ in timed)
        return ReplayBench(
            num_envs=num_envs,
            ratio=median(ratios),
            ratio_range=(min(ratios), max(ratios)),
            replay_env_steps_per_s=replay_rate,
            bare_env_steps_per_s=median(steps / bare_s for _, bare_s in timed),
            real_time_factor=replay_rate / POLICY_RATE_HZ,
            repetitions=repetitions,
            control_steps=control_steps,
            attempts_ended=pair.attempts_ended,
            in_hand=pair.in_hand,
            state_error=pair.state_error,
        )


class _Pair:
    """A running replay, each control step of which can be repeated by the physics alone."""

    def __init__(self, env: ManagerBasedRLEnv, seed: int):
        self._env = env
        self._steps = self._begin(seed)
        self._sim_step = env.sim.step
        self._state, self._control = NewtonManager.get_state_0(), NewtonManager.get_control()
        self._targets = [wp.empty_like(self._control.joint_target_q) for _ in range(env.cfg.decimation)]
        self._reached = wp.empty_like(self._state.joint_q)
        self._start, self._end = PhysicsCheckpoint(), PhysicsCheckpoint()
        self.attempts_ended = 0
        self.state_error = 0.0

    @property
    def in_hand(self) -> float:
        """Share of the environments in which the hand is closing or holding."""
        progress = self._replay.progress()
        return float(((progress >= Phase.CLOSE) & (progress < Phase.RELEASE)).mean())

    def replay_step(self) -> int:
        """Make one control step of the replay and return how many attempts ended."""
        return len(next(self._steps))

    def repetition(self, control_steps: int) -> tuple[float, float]:
        """Return the time that some control steps take under replay, and their physics steps alone [s]."""
        replay_s = bare_s = 0.0
        for _ in range(control_steps):
            self._start.save()
            with self._noting():
                began = self._now()
                self.attempts_ended += self.replay_step()
                replay_s += self._now() - began
            self._end.save()
            self._start.restore()
            with model_changes_held_back():
                began = self._now()
                self._physics_steps()
                bare_s += self._now() - began
            difference = wp.to_torch(self._state.joint_q) - wp.to_torch(self._reached)
            self.state_error = max(self.state_error, float(difference.abs().max()))
            self._end.restore()
        return replay_s, bare_s

    def _physics_steps(self) -> None:
        for target in self._targets:
            wp.copy(self._control.joint_target_q, target)
            self._sim_step(render=False)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note joint targets before each physics step, and the state after the last: a reset may follow it."""
        number = count()

        def step(render: bool = True) -> None:
            index = next(number)
            wp.copy(self._targets[index], self._control.joint_target_q)
            self._sim_step(render=render)
            if index == len(self._targets) - 1:
                wp.copy(self._reached, self._state.joint_q)

        self._env.sim.step = step
        try:
            yield
        finally:
            self._env.sim.step = self._sim_step

    def _begin(self, seed: int) -> Iterator[list[Attempt]]:
        env = self._env
        obs, _ = env.reset()
        demos = [[demo for _, demo in group] for group in plan_demonstrations(env, OperatorModel(), seed)]
        self._replay = BatchReplay(demos, env.num_envs, env.device, ReplayCfg(seed=seed))
        driver = ReplayDriver(env, self._replay)
        driver.begin_all()
        spread = torch.rand(env.num_envs, generator=torch.Generator().manual_seed(seed))
        left = (1 + spread * ATTEMPT_S / env.step_dt).long().clamp(max=env.max_episode_length)
        env.episode_length_buf[:] = env.max_episode_length - left.to(env.device)
        return AttemptRunner(env, driver).each_step(obs)

    def _now(self) -> float:
        """Return the time when the device has done what it was told [s]."""
        wp.synchronize_device(self._env.device)
        return time.perf_counter()
