"""`r2s2r evaluate`: policies x conditions x trials -> the table, its figure, and films of every failure."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.trials import SPLIT, split_trials

CELLS = ("virtual", "isaaclab")
"""What policies are tried in."""


@dataclass(frozen=True)
class Evaluate(Verb):
    """Try policies from the same starts: trials.jsonl, table.json, report.html, rollouts/, videos/.

    Every trial is on the disk as soon as it ends; an interrupted run goes on with --resume. The same seeds give the
    same outcomes, whatever the number of workers.
    """

    out: Annotated[Path, tyro.conf.Positional]
    """Folder for the results."""

    policies: tuple[str, ...]
    """NAME=CHECKPOINT of each policy: the folder of a training run (its newest checkpoint) or of a checkpoint."""

    cell: str = "virtual"
    """Where they are tried: virtual, or isaaclab for the simulated task, all trials of a condition at once."""

    world: str = "nominal"
    """World of the simulated task: nominal, or a world.yaml of `r2s2r ground`."""

    seed: int = 0
    """Seed of the virtual cell's hidden world."""

    trial_seed: int = 0
    """Seed of what is placed on the belt."""

    trials: tuple[int, ...] = tuple(SPLIT.values())
    """Trials of each policy under nominal, red_light, fast_belt, novel_object and combined."""

    execute: int = 8
    """Actions of an answer that are executed before the next one takes over."""

    inference_delay: float = 0.05
    """Time from an observation to its answer, on the cell's clock [s]; negative: as long as the policy takes here."""

    workers: int | None = None
    """Processes in which the virtual cell runs; None: one for each core, at most 8."""

    device: str = "cpu"
    """Of the simulated task: cpu, or a CUDA device such as cuda:0."""

    resume: bool = False
    """Go on with an interrupted evaluation."""

    def run(self) -> dict[str, Any]:
        """Make the trials and return the table."""
        choose("--cell", self.cell, CELLS)
        self.check_seed(self.seed)
        self.check_seed(self.trial_seed)
        workers = min(8, len(os.sched_getaffinity(0))) if self.workers is None else self.workers
        if not 1 <= workers <= 64:
            raise ConfigError(f"--workers: received {workers}, allowed are 1 to 64")
        checkpoints, trials = named_checkpoints(self.policies), split_trials(self.trial_seed, self._counts())
        # Loaded here, so that `--help` does not wait.
        from r2s2r.cli.evaluate_run import TaskEvaluation, VirtualEvaluation
        from r2s2r.deployment.policy_runner import RunnerCfg

        delay_s = None if self.inference_delay < 0.0 else self.inference_delay
        runner = RunnerCfg(execute=self.execute, inference_delay_s=delay_s)
        common = self.out, checkpoints, runner, self.resume
        if self.cell == "isaaclab":
            return TaskEvaluation(*common, world=self.world, device=self.device).run(trials)
        return VirtualEvaluation(*common, seed=self.seed, workers=workers).run(trials)

    def _counts(self) -> dict[str, int]:
        if len(self.trials) != len(SPLIT) or min(self.trials) < 0 or sum(self.trials) == 0:
            raise ConfigError(
                f"--trials: received {' '.join(map(str, self.trials))}, allowed are {len(SPLIT)} numbers from 0 "
                f"({', '.join(SPLIT)}), one of them above 0"
            )
        return dict(zip(SPLIT, self.trials, strict=True))


def named_checkpoints(texts: Sequence[str]) -> dict[str, Path]:
    """Return the checkpoint of each policy by its name.

    Raises:
        ConfigError: there is none, a text is not NAME=CHECKPOINT, or a name cannot be a folder's or comes twice.
    """
    found: dict[str, Path] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not path or not name.replace("_", "").replace("-", "").isalnum():
            raise ConfigError(f"--policies: received {text!r}, allowed is NAME=CHECKPOINT, letters, digits, _ and -")
        if name in found:
            raise ConfigError(f"--policies: {name!r} comes twice; each policy has a name of its own")
        found[name] = Path(path)
    if not found:
        raise ConfigError("--policies: received none, at least one NAME=CHECKPOINT is needed")
    return found
