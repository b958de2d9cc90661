"""`r2s2r study`: the paper's table on a virtual cell, every stage of it, as one resumable run."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError, StudyError, choose
from r2s2r.contracts.files import writable_folder

if TYPE_CHECKING:
    from r2s2r.study.plan import CellPlan
    from r2s2r.study.settings import StudyScale

LARGEST_SEEDS = 100
"""Most hidden worlds of one study."""


@dataclass(frozen=True)
class Study(Verb):
    """Calibrate, ground, demonstrate, simulate, train, try and analyse: one table of real-only and co-trained policies.

    Stages run in processes of their own, as many at once as there are cores. The same command goes on after an
    interruption of any kind and makes again only what is missing or was made from other inputs. Results: study.json,
    table.txt, figures/, report.html.
    """

    out: Annotated[Path, tyro.conf.Positional]
    """Folder of the study."""

    scale: str = "tiny"
    """tiny (half an hour on 2 cores), small (overnight on 2 cores), or paper (needs CUDA)."""

    seed: int = 0
    """Seed of the cell's hidden world and of everything that is drawn; 1 to 99 were used in development."""

    seeds: int = 1
    """Number of hidden worlds: seed, seed + 1, ... Each is a whole study, and their trials are pooled."""

    factors: bool = False
    """Also the worlds in which one factor alone is grounded, under both behaviors: eight more policies."""

    sets: tuple[str, ...] | None = None
    """Simulated data sets to co-train with, such as `fully_grounded` alone; None: all. Others can be added later."""

    demos: int | None = None
    """Demonstrations on the cell; None: the scale's."""

    episodes: int | None = None
    """Simulated episodes of each data set; None: the scale's."""

    num_envs: int | None = None
    """Environments at once in each simulating process; None: the scale's."""

    policy: str | None = None
    """Size of the policy: tiny, small, base or paper; None: the scale's."""

    round_steps: int | None = None
    """Training steps of a round; None: the scale's."""

    max_rounds: int | None = None
    """Rounds of training at most; None: the scale's."""

    trials: tuple[int, ...] | None = None
    """Trials of each policy: nominal, red light, fast belt, novel object, combined; None: the scale's."""

    validation_trials: tuple[int, ...] | None = None
    """The same after each round of training; None: the scale's."""

    device: str | None = None
    """cpu, or a CUDA device such as cuda:0; None: the scale's."""

    cores: int | None = None
    """Processor cores to use; None: all that this process may use."""

    def run(self) -> dict[str, Any]:
        """Make the study and return its results."""
        scale = self._scale()
        self.check_counts("seeds", *(["cores"] if self.cores is not None else []))
        self.check_seed(self.seed)
        if self.seeds > LARGEST_SEEDS:
            raise ConfigError(f"--seeds: received {self.seeds}, allowed are 1 to {LARGEST_SEEDS}")
        from r2s2r.dataset.lock import WriterLock
        from r2s2r.study.plan import plan_study
        from r2s2r.study.settings import simulated_sets

        sets = simulated_sets(self.factors, self.sets)
        cores = self.cores or len(os.sched_getaffinity(0))
        seeds = range(self.seed, self.seed + self.seeds)
        plans = plan_study(scale, sets, seeds, cores)
        lock = WriterLock(writable_folder(self.out) / "study.lock")
        try:
            return self._run(plans, cores)
        finally:
            lock.release()

    def _run(self, plans: "list[CellPlan]", cores: int) -> dict[str, Any]:
        from r2s2r.study.scheduler import Scheduler

        scheduler = Scheduler(self.out, [stage for plan in plans for stage in plan.stages()], cores, _say)
        try:
            scheduler.run()
        except StudyError:
            # A failed analysis keeps nobody from the table.
            if all(f"{plan.folder}/evaluation" in scheduler.done for plan in plans):
                self._publish(plans)
            raise
        return self._publish(plans)

    def _publish(self, plans: "list[CellPlan]") -> dict[str, Any]:
        """Write the results and return them."""
        from r2s2r.study.report import table_text, write_study
        from r2s2r.study.results import read_results

        results = read_results(self.out, plans, self._command())
        report = write_study(self.out, results)
        print(table_text(results))
        _say(f"report: {report}")
        return results.to_dict()

    def _scale(self) -> "StudyScale":
        from r2s2r.study.settings import SCALES

        scale = SCALES[choose("--scale", self.scale, tuple(SCALES))]
        return replace(scale, **{name: value for name, value in self._changes().items() if value is not None})

    def _changes(self) -> dict[str, Any]:
        names = ("demos", "episodes", "num_envs", "policy", "round_steps", "max_rounds", "trials", "validation_trials")
        return {name: getattr(self, name) for name in (*names, "device")}

    def _command(self) -> str:
        """Return the command that makes this study again."""
        parts = ["r2s2r study OUT", f"--scale {self.scale}", f"--seed {self.seed}", f"--seeds {self.seeds}"]
        parts += ["--factors"] if self.factors else []
        parts += [f"--sets {' '.join(self.sets)}"] if self.sets else []
        for name, value in self._changes().items():
            if value is not None:
                values = value if isinstance(value, tuple) else (value,)
                parts.append(f"--{name.replace('_', '-')} {' '.join(map(str, values))}")
        return " ".join(parts)


def _say(line: str) -> None:
    print(f"r2s2r study: {line}", flush=True)
