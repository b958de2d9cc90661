"""`r2s2r generate`: world x behavior -> a data set of successful episodes, in many environments and processes."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.world import FACTORS

FOUR_SETS = {
    "fully_grounded": ("all", "grounded"),
    "world_grounded": ("all", "ungrounded"),
    "behavior_grounded": ("none", "grounded"),
    "ungrounded": ("none", "ungrounded"),
}
"""The paper's data sets: factors that are grounded, and behavior."""


@dataclass(frozen=True)
class Generate(Verb):
    """Make a data set: dataset.hdf5 with pictures, report.html, summary.json.

    Attempts run in parallel, successful ones are kept and filmed. An interrupted run goes on with --resume and comes to
    the same data set, byte for byte; several processes or machines may work on one folder at the same time.
    """

    out: Annotated[Path, tyro.conf.Positional]
    """Folder of the job; with --sets one folder below it for each data set."""

    episodes: int = 1500
    """Successful episodes, an equal share of each object class and condition."""

    world: str = "nominal"
    """nominal, or a world.yaml of `r2s2r ground`."""

    factors: str = "all"
    """Which factors are taken from the world, the others are nominal: all, none, or names joined by +."""

    behavior: str = "grounded"
    """grounded (human motion), ungrounded (a script), a behavior's folder, or a data set whose demonstrations are
    taken."""

    sets: tuple[str, ...] = ()
    """Several data sets at once: four (world x behavior), or any of FACTORS:BEHAVIOR such as arm+hand:grounded."""

    conditions: tuple[str, ...] = ("nominal",)
    """nominal, red_light, fast_belt, novel_object or combined."""

    num_envs: int = 128
    """Environments at once in each simulating process, which are also the attempts of a shard."""

    picture_size: int = 64
    """Width and height of the pictures [px]: 64, 128 or 256."""

    push_share: float = 0.1
    """Share of the attempts in which the wrist is pushed away once and has to come back."""

    seed: int = 0
    """Seed of everything that is drawn."""

    workers: int | None = None
    """Processes; half of them simulate, half of them film. None: one for each core, at most 8."""

    device: str = "cpu"
    """cpu, or a CUDA device such as cuda:0."""

    resume: bool = False
    """Go on with an interrupted run, or join one that other processes work on."""

    def run(self) -> dict[str, Any]:
        """Make the data sets and return their summaries."""
        workers = min(8, len(os.sched_getaffinity(0))) if self.workers is None else self.workers
        if not 1 <= workers <= 64:
            raise ConfigError(f"--workers: received {workers}, allowed are 1 to 64")
        sets = self._sets()
        # Loaded here, so that `--help` does not wait.
        from r2s2r.contracts.conditions import condition
        from r2s2r.generation.command import GenerationRun
        from r2s2r_tasks.belt_sort.picture_size import check_picture_size

        check_picture_size(self.picture_size)
        for name in self.conditions:
            condition(name)
        run = GenerationRun(workers=workers, device=self.device, resume=self.resume, say=_say)
        begun = {name: run.begin(self.out / name, **self._settings(*chosen)) for name, chosen in sets.items()}
        summaries = {name: run.make(self.out / name, job) for name, job in begun.items()}
        if "" in summaries:
            return summaries[""]
        return {"sets": summaries, "report": str(run.compare(self.out))}

    def _sets(self) -> dict[str, tuple[str, str]]:
        """Return factors and behavior of each data set by the name of its folder."""
        if not self.sets:
            return {"": (self.factors, self.behavior)}
        if self.sets == ("four",):
            return dict(FOUR_SETS)
        chosen = {}
        for text in self.sets:
            factors, colon, behavior = text.partition(":")
            if not colon or not factors or not behavior:
                raise ConfigError(
                    f"--sets: received {text!r}, allowed are four or FACTORS:BEHAVIOR such as arm:grounded"
                )
            chosen[f"{factors}-{Path(behavior).stem}"] = (factors, behavior)
        return chosen

    def _settings(self, factors: str, behavior: str) -> dict[str, Any]:
        return {
            "world": _world(self.world, factors),
            "behavior": behavior,
            "episodes": self.episodes,
            "conditions": self.conditions,
            "num_envs": self.num_envs,
            "seed": self.seed,
            "picture_size": self.picture_size,
            "push_share": self.push_share,
        }


def _world(path: str, factors: str) -> Any:
    """Return the nominal world with the chosen factors of the world in the file `path`."""
    from r2s2r.contracts.world import World
    from r2s2r.world.world_file import read_world

    nominal = World.nominal()
    if path == "nominal":
        return nominal
    grounded = read_world(Path(path))
    if factors == "all":
        return grounded
    return nominal.combine(grounded, () if factors == "none" else _factors(factors))


def _factors(text: str) -> tuple[str, ...]:
    names = tuple(text.split("+"))
    unknown = [name for name in names if name not in FACTORS]
    if unknown:
        raise ConfigError(f"factors: received {unknown[0]!r}, allowed are all, none, or {' + '.join(FACTORS)}")
    return names


def _say(line: str) -> None:
    print(f"r2s2r generate: {line}", flush=True)
