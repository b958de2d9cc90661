"""Runs Isaac Lab Mimic's own generation loop on this task."""

import asyncio
import contextlib
import io
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from isaaclab.managers import TerminationTermCfg
from isaaclab_mimic.datagen import generation
from isaaclab_mimic.datagen.data_generator import DataGenerator
from isaaclab_mimic.datagen.datagen_info_pool import DataGenInfoPool

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.evaluation.judging import Outcome
from r2s2r_tasks.belt_sort.mimic.mimic_env import BeltSortMimicEnv
from r2s2r_tasks.belt_sort.mimic.source import ClassPool, source_pool
from r2s2r_tasks.belt_sort.mimic.terminations import succeeded


@dataclass(frozen=True)
class MimicGeneration:
    """What a generation by Mimic came to."""

    outcomes: list[Outcome]
    """How each attempt ended, one environment after the other."""

    wall_s: float
    """Time that it took [s]."""


def generate_by_mimic(
    env: BeltSortMimicEnv, demos: Mapping[str, Sequence[Demonstration]], count: int, *, seed: int
) -> MimicGeneration:
    """Make `count` attempts, or as many more as end in the last one's step.

    Mimic's `env_loop` and `run_data_generator` run as its script `generate_dataset.py` has them, one generator for each
    environment; what they print is left out. Attempts that are under way when it stops are not counted.

    Args:
        env: the task; reset at once.
        demos: source demonstrations by object class.
        count: attempts after which it stops.
        seed: of what Mimic draws.
    """
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    env.cfg.datagen_config.generation_guarantee = False
    env.cfg.datagen_config.generation_num_trials = count
    generation.num_success = generation.num_failures = generation.num_attempts = 0
    env.reset()
    with _event_loop() as loop, contextlib.redirect_stdout(io.StringIO()):
        pools = [source_pool(env, demos[name], loop) for name in OBJECT_CLASSES]
        generators = [_Generator(env, env_id, pools) for env_id in range(env.num_envs)]
        began = time.perf_counter()
        _run(env, generators, loop)
        wall_s = time.perf_counter() - began
    return MimicGeneration([outcome for generator in generators for outcome in generator.outcomes], wall_s)


class _Generator(DataGenerator):
    """Mimic's generator of one environment; notes how its attempts end."""

    def __init__(self, env: BeltSortMimicEnv, env_id: int, pools: Sequence[DataGenInfoPool]):
        super().__init__(env, ClassPool(env, env_id, pools))
        self._judged = env.termination_manager.get_term_cfg("judged").func
        self.outcomes: list[Outcome] = []

    async def generate(self, env_id: int, *args: Any, **kwargs: Any) -> dict:
        results = await super().generate(env_id, *args, **kwargs)
        outcome = Outcome(int(self._judged.outcome[env_id]))
        # A trajectory that ends before the verdict has run out of time.
        self.outcomes.append(Outcome.TIMEOUT if outcome is Outcome.RUNNING else outcome)
        return results


@contextlib.contextmanager
def _event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Open an event loop and make it the thread's current one, on which Mimic gathers."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _run(env: BeltSortMimicEnv, generators: Sequence[_Generator], loop: asyncio.AbstractEventLoop) -> None:
    resets: asyncio.Queue = asyncio.Queue()
    actions: asyncio.Queue = asyncio.Queue()
    success = TerminationTermCfg(func=succeeded)
    attempts = (
        generation.run_data_generator(env, env_id, resets, actions, generator, success)
        for env_id, generator in enumerate(generators)
    )
    tasks = asyncio.gather(*(loop.create_task(attempt) for attempt in attempts))
    try:
        generation.env_loop(env, resets, actions, generators[0].src_demo_datagen_info_pool, loop, tasks)
    finally:
        tasks.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(tasks)
