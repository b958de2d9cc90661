"""`r2s2r evaluate`: policies x conditions x trials -> the table, its figure, and films of every failure."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.files import write_json
from r2s2r.contracts.provenance import provenance
from r2s2r.contracts.trials import SPLIT, Trial, split_trials

if TYPE_CHECKING:
    from r2s2r.contracts.cell import SortingCell
    from r2s2r.contracts.policy import Policy
    from r2s2r.deployment.policy_runner import RunnerCfg
    from r2s2r.evaluation.policy_table import PolicyTable
    from r2s2r.evaluation.trial_result import TrialResult

CELLS = ("virtual",)
"""What policies are tried in."""

TRIALS, TABLE, REPORT = "trials.jsonl", "table.json", "report.html"
"""Files in the folder for the results."""

_TOLD_EVERY_S = 20.0


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
    """Where they are tried: virtual."""

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
    """Processes; None: one for each core, at most 8."""

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
        from r2s2r.deployment.policy_runner import RunnerCfg

        delay_s = None if self.inference_delay < 0.0 else self.inference_delay
        evaluation = VirtualEvaluation(
            out=self.out,
            checkpoints=checkpoints,
            seed=self.seed,
            runner=RunnerCfg(execute=self.execute, inference_delay_s=delay_s),
            workers=workers,
            resume=self.resume,
        )
        return evaluation.run(trials)

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


@dataclass(frozen=True)
class VirtualEvaluation:
    """Policies tried in a virtual cell."""

    out: Path
    """Folder for the results."""
    checkpoints: dict[str, Path]
    """Checkpoint of each policy by its name, in the order of the table."""
    seed: int
    """Seed of the cell's hidden world."""
    runner: "RunnerCfg"
    """How answers are executed."""
    workers: int = 1
    """Processes."""
    resume: bool = False
    """Go on with an interrupted evaluation."""

    def run(self, trials: Sequence[Trial]) -> dict[str, Any]:
        """Make the trials that are missing, write table and report, and return the table.

        Raises:
            CheckpointError: a policy cannot be loaded.
            ConfigError: a policy is slower than its control period, or there is a log of other settings.
        """
        from r2s2r.contracts.world import nominal_poses
        from r2s2r.deployment.trial_log import TrialLog
        from r2s2r.deployment.trial_pool import Bench, make_trials
        from r2s2r.evaluation.judging import judging_cfg

        load = partial(load_policy, self.checkpoints)
        for name in self.checkpoints:
            self.runner.check(name, load(name).info["chunk"])
        # Judged as the cell was planned: a belt that stands a little off changes no verdict, and the bins do not.
        judging = judging_cfg(nominal_poses())
        bench = Bench(partial(open_virtual_cell, self.seed), load, judging, self.runner, self.out)
        settings = self._settings(trials) | {"judging": asdict(judging)}
        with TrialLog(self.out / TRIALS, settings, resume=self.resume) as log:
            pairs = [(name, trial) for trial in trials for name in self.checkpoints]
            wanted = [(name, t) for name, t in pairs if (name, t.condition, t.number, t.seed) not in log]
            progress = _Progress(len(pairs), len(pairs) - len(wanted))
            for result in make_trials(bench, wanted, self.workers):
                log.append(result)
                progress.tell(result)
            return _publish(self, trials, log.results, settings)

    def _settings(self, trials: Sequence[Trial]) -> dict[str, Any]:
        counts = {trial.condition: 0 for trial in trials}
        for trial in trials:
            counts[trial.condition] += 1
        return {
            "cell": "virtual",
            "seed": self.seed,
            "trial_seed": trials[0].seed,
            "trials": counts,
            "policies": {name: _checksum(path) for name, path in self.checkpoints.items()},
            "runner": asdict(self.runner),
        }


def open_virtual_cell(seed: int, picture_size: int) -> "SortingCell":
    """Return the virtual cell of a seed."""
    import warp as wp

    from r2s2r.cell.virtual_cell import VirtualCell

    wp.config.log_level = wp.LOG_WARNING
    return VirtualCell(seed, picture_size=picture_size)


def load_policy(checkpoints: dict[str, Path], name: str) -> "Policy":
    """Return a policy that computes on one thread.

    Raises:
        CheckpointError: the checkpoint is missing, damaged, or of another task or version.
    """
    from r2s2r_policies.runtime import FlowPolicy

    return FlowPolicy.load(checkpoints[name], device="cpu", threads=1)


def _checksum(path: Path) -> str:
    from r2s2r.contracts.files import file_sha256
    from r2s2r_policies.checkpoint import CONFIG, read_checkpoint

    return file_sha256(read_checkpoint(path).folder / CONFIG)  # which holds the checksums of all else


def _publish(
    evaluation: VirtualEvaluation, trials: Sequence[Trial], results: "list[TrialResult]", settings: dict[str, Any]
) -> dict[str, Any]:
    """Write table and report, and return the table."""
    from r2s2r.evaluation.policy_report import PolicyReport
    from r2s2r.evaluation.policy_table import PolicyTable

    conditions = tuple(dict.fromkeys(trial.condition for trial in trials))
    table = PolicyTable.of(tuple(evaluation.checkpoints), conditions, results)
    source = provenance(settings, seed=evaluation.seed)
    content = table.to_dict() | {"settings": settings, "provenance": source}
    write_json(evaluation.out / TABLE, content)
    report = PolicyReport(f"virtual cell {evaluation.seed}", table, evaluation.out, settings, source)
    report.write(evaluation.out / REPORT)
    _print(table, evaluation.out)
    return content


def _print(table: "PolicyTable", out: Path) -> None:
    print(table.text())
    for pair in table.comparisons():
        low, high = (100 * end for end in pair.interval())
        print(
            f"{pair.first} / {pair.second}: {100 * pair.difference:+.0f} points ({low:+.0f} to {high:+.0f}), "
            f"p = {pair.p_value():.3f}, {pair.verdict()}"
        )
    for name in table.policies:
        held = sum(result.held_steps for result in table.results if result.policy == name)
        if held:
            print(f"{name} was slower than its control period: the robot held still in {held} steps")
    print(f"report: {out / REPORT}")


class _Progress:
    """Tells now and then how far the trials are."""

    def __init__(self, total: int, there: int):
        self._total, self._done, self._won = total, there, 0
        self._begin_s = self._told_s = time.monotonic()
        self._there = there
        print(f"r2s2r evaluate: {total} trials, {there} of them there", flush=True)

    def tell(self, result: "TrialResult") -> None:
        """Count a trial that has ended."""
        self._done += 1
        self._won += result.success
        now_s = time.monotonic()
        if now_s - self._told_s >= _TOLD_EVERY_S or self._done == self._total:
            self._told_s = now_s
            made = self._done - self._there
            each_s = (now_s - self._begin_s) / made
            line = f"{self._done} of {self._total} trials, {self._won} of {made} succeeded, {each_s:.1f} s each"
            print(f"r2s2r evaluate: {line}", flush=True)
