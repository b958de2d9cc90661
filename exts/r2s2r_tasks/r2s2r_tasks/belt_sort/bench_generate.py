"""What a generated episode costs: physics, rendering, and everything else.

A whole shard is simulated, some of its episodes are filmed, written and put together as `r2s2r generate` does it, in
one process. The filmed ones stand for all: their time is scaled to the number of successes. Opening environments is
left out, since it is paid once a job.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.behavior.behavior import GROUNDED, Behavior
from r2s2r.behavior.operator import OperatorModel
from r2s2r.contracts.errors import SimulationError
from r2s2r.contracts.provenance import provenance
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.dataset.assembly import assemble
from r2s2r.generation.films import FilmFolder
from r2s2r.generation.shards import ShardFolder, ShardKey
from r2s2r.generation.writing import WritingThread
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.demonstrate import plan_demonstrations
from r2s2r_tasks.belt_sort.film import FILM_ENVS, Film
from r2s2r_tasks.belt_sort.generation_env import task_header
from r2s2r_tasks.belt_sort.session import belt_sort_env
from r2s2r_tasks.belt_sort.simulate import SimulatedShard, simulate
from r2s2r_tasks.belt_sort.stopwatch import Stopwatch

KEY = ShardKey("nominal", 0)


@dataclass(frozen=True)
class GenerateBench:
    """What one shard came to; times are of one process."""

    num_envs: int
    attempts: int
    successes: int
    filmed: int
    """Episodes whose filming was timed."""
    physics_s: float
    """Physics steps [s]."""
    rendering_s: float
    """Ray tracing of every success [s], as far as the timed ones tell."""
    other_s: float
    """Replay, arm controller, verdicts, recording, encoding, writing, putting together [s]."""

    @property
    def overhead(self) -> float:
        """What is neither physics nor rendering, as a share of these two."""
        return self.other_s / (self.physics_s + self.rendering_s)

    @property
    def episode_s(self) -> float:
        """Time of one process for a successful episode [s]."""
        return (self.physics_s + self.rendering_s + self.other_s) / self.successes


def bench_generate(
    folder: Path, num_envs: int, *, filmed: int, picture_size: int, seed: int, device: str = "cpu"
) -> GenerateBench:
    """Measure one shard of `num_envs` attempts of the operator's unchecked demonstrations, in the nominal world.

    Args:
        folder: empty one for the files.
        num_envs: environments.
        filmed: episodes that are filmed at most.
        picture_size: width and height of the pictures [px].
        seed: seed of all draws.
        device: `cpu` or a CUDA device.

    Raises:
        ConfigError: no environment, an unknown picture size, or a device that is not there.
        SimulationError: no attempt succeeded.
    """
    header = task_header(provenance({"bench": "generate"}, seed=seed), ("nominal",), seed)
    shards, films = ShardFolder(folder / "shards"), FilmFolder(folder / "films")
    with belt_sort_env(num_envs, seed=seed, device=device) as env:
        behavior = _behavior(env, seed)
        watch = Stopwatch(env)
        began = time.perf_counter()
        shard = _one_shard(env, behavior, seed)
        simulated_s = time.perf_counter() - began
    if not shard.episodes:
        raise SimulationError(f"bench generate: none of {num_envs} attempts succeeded")
    numbers = sorted(shard.episodes)[:filmed]
    began = time.perf_counter()
    shards.publish(KEY, header, shard.episodes, shard.attempts)
    published_s = time.perf_counter() - began
    with belt_sort_env(FILM_ENVS, seed=seed, device=device, picture_size=picture_size) as env:
        film = Film(env)
        began = time.perf_counter()
        with WritingThread(lambda item: films.add(*item, header)) as writing:
            for item in film.shoot(shards.load(KEY, numbers)):
                writing.put(item)
        assemble(
            folder / "dataset.hdf5",
            header,
            {f"demo_{i}": films.entry(number) for i, number in enumerate(numbers)},
            lambda name: films.load(numbers[int(name.removeprefix("demo_"))]),
        )
        filmed_s = time.perf_counter() - began
    scale = len(shard.episodes) / len(numbers)
    return GenerateBench(
        num_envs=num_envs,
        attempts=len(shard.attempts),
        successes=len(shard.episodes),
        filmed=len(numbers),
        physics_s=watch.spent_s,
        rendering_s=scale * film.rendering_s,
        other_s=simulated_s - watch.spent_s + published_s + scale * (filmed_s - film.rendering_s),
    )


def _behavior(env: ManagerBasedRLEnv, seed: int) -> Behavior:
    env.reset()
    planned = plan_demonstrations(env, OperatorModel(), seed)
    demos = {name: tuple(demo for _, demo in group) for name, group in zip(OBJECT_CLASSES, planned, strict=True)}
    return Behavior(GROUNDED, demos, {name: () for name in OBJECT_CLASSES})


def _one_shard(env: ManagerBasedRLEnv, behavior: Behavior, seed: int) -> SimulatedShard:
    shards = iter(range(1000))

    def claim() -> range:
        begin = next(shards) * env.num_envs
        return range(begin, begin + env.num_envs)

    return next(simulate(env, behavior, ReplayCfg(seed=seed), KEY.condition, claim, lambda: False))
