"""Runs attempts in all environments at once and tells what each came to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import warp as wp
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.contracts.rejection import Rejection
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.evaluation.judging import JudgingCfg, Outcome
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.episode_recorder import EpisodeRecorder
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.replay_driver import ReplayDriver


@dataclass(frozen=True)
class Attempt:
    """What one attempt came to."""

    number: int
    """Its number: the draw of its episode depends on it and the seed."""
    env_id: int
    """Environment that it was made in."""
    outcome: Outcome
    """How it ended."""
    object_class: str
    """Class of the target."""
    shapes: tuple[str, ...]
    """Shape and size of each class's object."""
    belt_speed: float
    """[m/s]"""
    steps: int
    """Control steps that it took."""
    max_height: float
    """Greatest height of the target's centre in the base [m]."""
    held_s: float
    """How long the target lay still in its bin at the end [s]."""
    waited_s: float
    """How long closing waited for the wrist [s]."""
    demo: str
    """Demonstration that was adapted."""

    @property
    def shape(self) -> str:
        """Shape and size of the target."""
        return self.shapes[OBJECT_CLASSES.index(self.object_class)]

    def measured(self, judging: JudgingCfg, max_wait_s: float) -> tuple[float, float, str]:
        """Return value, limit and unit that tell why the attempt failed: the rule's own where it has one."""
        if self.outcome is Outcome.LATE_CLOSE:
            return self.waited_s, max_wait_s, "s"
        return self.held_s, judging.hold_s, "s"


class AttemptRunner:
    """Steps the environment under the replay and yields attempts as they end; environments start the next at once."""

    def __init__(self, env: ManagerBasedRLEnv, driver: ReplayDriver, recorder: EpisodeRecorder | None = None):
        self._env, self._driver, self._recorder = env, driver, recorder
        self._judged = env.termination_manager.get_term_cfg("judged").func
        self._episode = episode(env)
        self.steps = 0
        """Control steps so far."""

    def run(
        self, obs: dict[str, torch.Tensor], on_step: Callable[[dict[str, torch.Tensor]], None] | None = None
    ) -> Iterator[Attempt]:
        """Yield attempts as they end, without end; arguments as for :meth:`each_step`."""
        for ended in self.each_step(obs, on_step):
            yield from ended

    def each_step(
        self, obs: dict[str, torch.Tensor], on_step: Callable[[dict[str, torch.Tensor]], None] | None = None
    ) -> Iterator[list[Attempt]]:
        """Yield after each control step the attempts that ended in it, without end.

        The replay's first attempts have begun. What the recorder holds of an attempt is there until the next step.

        Args:
            obs: observations after the reset.
            on_step: called with the observations before each step.
        """
        if self._recorder is not None:
            self._recorder.forget(torch.arange(self._env.num_envs, device=self._env.device))
        while True:
            if on_step:
                on_step(obs)
            actions = self._driver.actions()
            if self._recorder is not None:
                replay = self._driver.replay
                self._recorder.observe(obs, actions, wp.to_torch(replay.tracked), wp.to_torch(replay.disturbed))
            running = self._running()
            obs, reward, *_ = self._env.step(actions)
            self.steps += 1
            if self._recorder is not None:
                final = self._judged.final
                self._recorder.acted(reward, final["joint_pos_target"], final["followable"])
            ended = self._env.reset_buf.nonzero().flatten()
            yield [self._attempt(env_id, running) for env_id in ended.tolist()]
            self._driver.begin(ended)
            if self._recorder is not None:
                self._recorder.forget(ended)

    def _running(self) -> dict[str, torch.Tensor]:
        """Return what the reset inside the step would overwrite."""
        return {
            "number": self._episode.number.clone(),
            "target_class": self._episode.target_class.clone(),
            "belt_speed": self._episode.belt_speed.clone(),
            "steps": self._env.episode_length_buf + 1,
        }

    def _attempt(self, env_id: int, running: dict[str, torch.Tensor]) -> Attempt:
        replay, final = self._driver.replay, self._judged.final
        index = int(running["target_class"][env_id])
        outcome = Outcome(int(self._judged.outcome[env_id]))
        if outcome is Outcome.SUCCESS and bool(wp.to_torch(replay.late)[env_id]):
            outcome = Outcome.LATE_CLOSE
        return Attempt(
            number=int(running["number"][env_id]),
            env_id=env_id,
            outcome=outcome,
            object_class=OBJECT_CLASSES[index],
            shapes=tuple(self._episode.shape_names[env_id]),
            belt_speed=float(running["belt_speed"][env_id]),
            steps=int(running["steps"][env_id]),
            max_height=float(final["max_height"][env_id]),
            held_s=float(final["held_s"][env_id, 0]),
            waited_s=float(wp.to_torch(replay.waited_s)[env_id]),
            demo=replay.demos[int(wp.to_torch(replay.demo)[env_id])].name,
        )


def rejection(attempt: Attempt, env: ManagerBasedRLEnv, cfg: ReplayCfg) -> Rejection:
    """Return why a failed attempt is not kept: rule, value and limit."""
    judging = JudgingCfg(**env.termination_manager.get_term_cfg("judged").params["judging"])
    measured = attempt.measured(judging, cfg.max_wait_s)
    return Rejection(attempt.outcome.label, *measured, upper=attempt.outcome is Outcome.LATE_CLOSE)


def attributes(attempt: Attempt, condition: str) -> dict[str, Any]:
    """Return the attributes of a kept episode."""
    return {
        "object_class": attempt.object_class,
        "shape": attempt.shape,
        **{f"{name}_shape": shape for name, shape in zip(OBJECT_CLASSES, attempt.shapes, strict=True)},
        "belt_speed": attempt.belt_speed,
        "condition": condition,
        "attempt": attempt.number,
        "max_height": attempt.max_height,
        "held_s": attempt.held_s,
        "waited_s": attempt.waited_s,
    }
