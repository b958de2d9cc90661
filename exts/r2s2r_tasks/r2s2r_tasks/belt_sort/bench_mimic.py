"""Our replay against Isaac Lab Mimic: successful episodes a minute from the same demonstrations of the same task.

Demonstrations are the operator model's with built-in statistics, made in as many environments; those that succeed are
given to both. First Mimic generates from them, then the replay, each in an environment of its own with the same seed:
same scene, objects, draws, physics, controller and verdict. Mimic runs as its authors' script runs it, see
:mod:`.mimic.generation`. Both record each step in memory; no side draws pictures or writes a file.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.behavior.operator import OperatorModel
from r2s2r.evaluation.judging import Outcome, count_reasons
from r2s2r_tasks.belt_sort.demonstrate import demonstrate
from r2s2r_tasks.belt_sort.generate import generate
from r2s2r_tasks.belt_sort.mimic.generation import generate_by_mimic
from r2s2r_tasks.belt_sort.session import MIMIC_TASK, belt_sort_env


@dataclass(frozen=True)
class Side:
    """What one of the two generators came to."""

    attempts: int
    """Attempts that were made and judged."""
    successes: int
    """Attempts that succeeded."""
    failures: dict[str, int]
    """How often each rule was broken."""
    successes_per_minute: float
    """Successful episodes in a minute of wall clock."""
    env_steps_per_s: float
    """Control steps of one environment a second."""
    simulator_ms: float
    """Time of a control step of all environments inside the environment: physics, controller, verdict [ms]."""
    generator_ms: float
    """The rest of it: choosing, adapting, handing over actions, resets that are asked for [ms]."""


@dataclass(frozen=True)
class MimicBench:
    """What both generators came to."""

    num_envs: int
    """Environments that ran at once."""
    ratio: float | None
    """Successful episodes a minute of the replay over Mimic's; None where Mimic had none."""
    replay: Side
    """Our replay."""
    mimic: Side
    """Isaac Lab Mimic."""
    demonstrations: dict[str, int]
    """How many demonstrations of each class both started from."""


def bench_mimic(num_envs: int, *, attempts: int, seed: int, device: str = "cpu") -> MimicBench:
    """Let both generate from the same demonstrations.

    Args:
        num_envs: environments N.
        attempts: how many each side makes; Mimic at least as many.
        seed: seed of all draws.
        device: `cpu` or a CUDA device.

    Raises:
        ConfigError: no environment, or a device that is not there.
        SimulationError: the operator's demonstrations of a class all failed.
    """
    with belt_sort_env(num_envs, seed=seed, device=device) as env:
        demos, _ = demonstrate(env, OperatorModel(), seed)
    with belt_sort_env(num_envs, seed=seed, device=device, task=MIMIC_TASK) as env, _step_times(env) as times:
        by_mimic = generate_by_mimic(env, demos, attempts, seed=seed)
        mimic = _side(by_mimic.outcomes, by_mimic.wall_s, times, num_envs)
    with belt_sort_env(num_envs, seed=seed, device=device) as env, _step_times(env) as times:
        by_replay = generate(env, demos, attempts, condition="nominal")
        replay = _side([attempt.outcome for attempt in by_replay.attempts], by_replay.wall_s, times, num_envs)
    ratio = replay.successes_per_minute / mimic.successes_per_minute if mimic.successes else None
    return MimicBench(num_envs, ratio, replay, mimic, {name: len(group) for name, group in demos.items()})


@contextmanager
def _step_times(env: ManagerBasedRLEnv) -> Iterator[list[float]]:
    """Note how long each step of `env` takes [s]."""
    times: list[float] = []
    step = env.step

    def timed(actions):
        began = time.perf_counter()
        result = step(actions)
        times.append(time.perf_counter() - began)
        return result

    env.step = timed
    yield times
    env.step = step


def _side(outcomes: Sequence[Outcome], wall_s: float, step_times: Sequence[float], num_envs: int) -> Side:
    steps, stepping_s = len(step_times), sum(step_times)
    successes = sum(outcome is Outcome.SUCCESS for outcome in outcomes)
    return Side(
        attempts=len(outcomes),
        successes=successes,
        failures=count_reasons(np.array(outcomes)),
        successes_per_minute=60.0 * successes / wall_s,
        env_steps_per_s=steps * num_envs / wall_s,
        simulator_ms=1e3 * stepping_s / steps,
        generator_ms=1e3 * (wall_s - stepping_s) / steps,
    )
