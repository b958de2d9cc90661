"""Replays demonstrations in parallel environments and writes what succeeds."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.contracts.rejection import Rejection
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.dataset.writer import DatasetWriter
from r2s2r.evaluation.judging import JudgingCfg, Outcome, count_reasons
from r2s2r.replay.batch import BatchReplay
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.attempts import Attempt, AttemptRunner, attributes
from r2s2r_tasks.belt_sort.episode_recorder import EpisodeRecorder
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.replay_driver import ReplayDriver


@dataclass(frozen=True)
class Generation:
    """What a generation came to."""

    attempts: list[Attempt]
    """In the order of their numbers."""

    wall_s: float
    """Time that it took [s]."""

    env_steps: int
    """Control steps, counted once for each environment."""

    @property
    def successes(self) -> int:
        """Attempts that were kept."""
        return sum(attempt.outcome is Outcome.SUCCESS for attempt in self.attempts)

    @property
    def env_steps_per_s(self) -> float:
        """Control steps of one environment a second."""
        return self.env_steps / self.wall_s


def generate(
    env: ManagerBasedRLEnv,
    demos: Mapping[str, Sequence[Demonstration]],
    count: int,
    *,
    condition: str,
    writer: DatasetWriter | None = None,
    cfg: ReplayCfg | None = None,
    on_step: Callable[[dict[str, torch.Tensor]], None] | None = None,
    on_attempt: Callable[[Attempt], None] | None = None,
) -> Generation:
    """Make `count` attempts and write the successful ones.

    Which attempts there are does not depend on which end first: those with the `count` lowest numbers since the reset
    are counted, whatever else runs meanwhile is not.

    Args:
        env: the task; reset at once.
        demos: demonstrations by object class.
        count: attempts to make.
        condition: name of the condition that `env` was opened with; stored with every episode.
        writer: where kept episodes and rejections go; None to only count.
        cfg: variation of the replay.
        on_step: called with the observations before each step.
        on_attempt: called as each counted attempt ends.
    """
    replay = BatchReplay([demos[name] for name in OBJECT_CLASSES], env.num_envs, env.device, cfg)
    driver = ReplayDriver(env, replay)
    recorder = None if writer is None else EpisodeRecorder(env)
    runner = AttemptRunner(env, driver, recorder)
    judging = JudgingCfg(**env.termination_manager.get_term_cfg("judged").params["judging"])
    began = time.perf_counter()
    numbering = episode(env)
    numbering.align_numbers()
    obs, _ = env.reset()
    driver.begin_all()
    first = int(numbering.number.min())
    attempts: list[Attempt] = []
    for attempt in runner.run(obs, on_step):
        if attempt.number >= first + count:
            continue
        attempts.append(attempt)
        if writer is not None and recorder is not None:
            _store(writer, recorder, attempt, judging, replay.cfg, condition)
        if on_attempt:
            on_attempt(attempt)
        if len(attempts) == count:
            break
    wall_s = time.perf_counter() - began
    return Generation(sorted(attempts, key=lambda a: a.number), wall_s, runner.steps * env.num_envs)


def summary(generation: Generation) -> dict[str, Any]:
    """Return the figures of a generation as JSON-able values."""
    attempts = generation.attempts
    return {
        "attempts": len(attempts),
        "successes": generation.successes,
        "yield": generation.successes / len(attempts) if attempts else None,
        "failures": count_reasons(np.array([attempt.outcome for attempt in attempts])),
        "by_class": by_group(attempts, lambda attempt: attempt.object_class),
        "by_shape": by_group(attempts, lambda attempt: attempt.shape),
        "env_steps_per_s": generation.env_steps_per_s,
        "generation_s": generation.wall_s,
    }


def by_group(attempts: Sequence[Attempt], key: Callable[[Attempt], str]) -> dict[str, tuple[int, int]]:
    """Return successes and attempts of each group."""
    groups: dict[str, tuple[int, int]] = {}
    for attempt in attempts:
        good, all_of_it = groups.get(key(attempt), (0, 0))
        groups[key(attempt)] = (good + (attempt.outcome is Outcome.SUCCESS), all_of_it + 1)
    return dict(sorted(groups.items()))


def _store(
    writer: DatasetWriter,
    recorder: EpisodeRecorder,
    attempt: Attempt,
    judging: JudgingCfg,
    cfg: ReplayCfg,
    condition: str,
) -> None:
    if attempt.outcome is Outcome.SUCCESS:
        writer.add(recorder.take(attempt.env_id, True, attempt.demo, attributes(attempt, condition)))
    else:
        value, limit, unit = attempt.measured(judging, cfg.max_wait_s)
        writer.reject(Rejection(attempt.outcome.label, value, limit, unit))
