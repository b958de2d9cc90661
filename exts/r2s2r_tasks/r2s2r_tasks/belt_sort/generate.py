"""Replays demonstrations in parallel environments and tells what each attempt came to."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.evaluation.judging import Outcome, count_reasons
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
    cfg: ReplayCfg | None = None,
    on_attempt: Callable[[Attempt, Episode], None] | None = None,
) -> Generation:
    """Make `count` attempts.

    Which attempts there are does not depend on which end first: those with the `count` lowest numbers since the reset
    are counted, whatever else runs meanwhile is not.

    Args:
        env: the task; reset at once. Pictures are not looked at: :mod:`r2s2r_tasks.belt_sort.film` makes them.
        demos: demonstrations by object class.
        count: attempts to make.
        condition: name of the condition that `env` was opened with; stored with every episode.
        cfg: variation of the replay.
        on_attempt: called as each counted attempt ends, with what was recorded of it.
    """
    driver = replay_driver(env, demos, cfg)
    recorder = EpisodeRecorder(env)
    runner = AttemptRunner(env, driver, recorder)
    began = time.perf_counter()
    numbering = episode(env)
    numbering.align_numbers()
    obs, _ = env.reset()
    driver.begin_all()
    first = int(numbering.number.min())
    attempts: list[Attempt] = []
    for attempt in runner.run(obs):
        if attempt.number >= first + count:
            continue
        attempts.append(attempt)
        if on_attempt:
            on_attempt(attempt, recorded(recorder, attempt, condition))
        if len(attempts) == count:
            break
    wall_s = time.perf_counter() - began
    return Generation(sorted(attempts, key=lambda a: a.number), wall_s, runner.steps * env.num_envs)


def replay_driver(
    env: ManagerBasedRLEnv, demos: Mapping[str, Sequence[Demonstration]], cfg: ReplayCfg | None
) -> ReplayDriver:
    """Return what replays demonstrations, by object class, in the environments of the task."""
    return ReplayDriver(env, BatchReplay([demos[name] for name in OBJECT_CLASSES], env.num_envs, env.device, cfg))


def recorded(recorder: EpisodeRecorder, attempt: Attempt, condition: str) -> Episode:
    """Return what was recorded of an attempt that has just ended."""
    success = attempt.outcome is Outcome.SUCCESS
    return recorder.take(attempt.env_id, success, attempt.demo, attributes(attempt, condition))


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
