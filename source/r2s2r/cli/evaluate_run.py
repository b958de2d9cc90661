"""An evaluation from its trials to the report, in the virtual cell or in the simulated task."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from r2s2r.contracts.cell import SortingCell
from r2s2r.contracts.files import file_sha256, write_json
from r2s2r.contracts.policy import Policy
from r2s2r.contracts.provenance import provenance
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import World, nominal_poses
from r2s2r.deployment.policy_runner import RunnerCfg
from r2s2r.deployment.trial_log import TrialLog
from r2s2r.deployment.trial_pool import Bench, make_trials
from r2s2r.evaluation.judging import judging_cfg
from r2s2r.evaluation.policy_report import PolicyReport
from r2s2r.evaluation.policy_table import PolicyTable
from r2s2r.evaluation.rollout import rollout_path, write_rollout
from r2s2r.evaluation.trial_result import TrialResult

TRIALS, TABLE, REPORT = "trials.jsonl", "table.json", "report.html"
"""Files in the folder for the results."""

_TOLD_EVERY_S = 20.0


@dataclass(frozen=True)
class Evaluation(ABC):
    """Policies that are tried from the same starts."""

    out: Path
    """Folder for the results."""
    checkpoints: dict[str, Path]
    """Checkpoint of each policy by its name, in the order of the table."""
    runner: RunnerCfg
    """How answers are executed."""
    resume: bool
    """Go on with an interrupted evaluation."""

    def run(self, trials: Sequence[Trial]) -> dict[str, Any]:
        """Make the trials that are missing, write table and report, and return the table.

        Raises:
            CheckpointError: a policy cannot be loaded.
            ConfigError: a policy is slower than its control period, or there is a log of other settings.
        """
        for name in self.checkpoints:
            self.runner.check(name, load_policy(self.checkpoints, name).info["chunk"])
        settings = self._settings(trials)
        with TrialLog(self.out / TRIALS, settings, resume=self.resume) as log:
            pairs = [(name, trial) for trial in trials for name in self.checkpoints]
            wanted = [(name, t) for name, t in pairs if (name, t.condition, t.number, t.seed) not in log]
            progress = _Progress(len(pairs), len(pairs) - len(wanted))
            for result in self.make(wanted, trials):
                log.append(result)
                progress.tell(result)
            return self._publish(trials, log.results, settings)

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the policies are tried, in words."""

    @abstractmethod
    def make(self, wanted: Sequence[tuple[str, Trial]], trials: Sequence[Trial]) -> Iterator[TrialResult]:
        """Yield the results of the `wanted` trials (policy's name, trial) of all `trials` as they end."""

    @abstractmethod
    def place_settings(self) -> dict[str, Any]:
        """Return what the results depend on beside policies, trials and runner, as JSON-able values."""

    def _settings(self, trials: Sequence[Trial]) -> dict[str, Any]:
        conditions = [trial.condition for trial in trials]
        return {
            "trial_seed": trials[0].seed,
            "trials": {name: conditions.count(name) for name in dict.fromkeys(conditions)},
            "policies": {name: _checksum(path) for name, path in self.checkpoints.items()},
            "runner": asdict(self.runner),
            **self.place_settings(),
        }

    def _publish(self, trials: Sequence[Trial], results: list[TrialResult], settings: dict[str, Any]) -> dict[str, Any]:
        """Write table and report, and return the table."""
        conditions = tuple(dict.fromkeys(trial.condition for trial in trials))
        table = PolicyTable.of(tuple(self.checkpoints), conditions, results)
        source = provenance(settings, seed=trials[0].seed)
        content = table.to_dict() | {"settings": settings, "provenance": source}
        write_json(self.out / TABLE, content)
        PolicyReport(self.place, table, self.out, settings, source).write(self.out / REPORT)
        _print(table, self.out)
        return content


@dataclass(frozen=True)
class VirtualEvaluation(Evaluation):
    """Policies tried in a virtual cell.

    Judged as the cell was planned: a belt that stands a little off changes no verdict, and the bins do not stand off.
    """

    seed: int
    """Seed of the cell's hidden world."""
    workers: int = 1
    """Processes."""

    @property
    def place(self) -> str:
        """Where the policies are tried, in words."""
        return f"virtual cell {self.seed}"

    def place_settings(self) -> dict[str, Any]:
        """Return cell, seed and limits of the verdict."""
        return {"cell": "virtual", "seed": self.seed, "judging": asdict(judging_cfg(nominal_poses()))}

    def make(self, wanted: Sequence[tuple[str, Trial]], trials: Sequence[Trial]) -> Iterator[TrialResult]:
        """Yield the results of the `wanted` trials as they end."""
        judging = judging_cfg(nominal_poses())
        load = partial(load_policy, self.checkpoints)
        bench = Bench(partial(open_virtual_cell, self.seed), load, judging, self.runner, self.out)
        yield from make_trials(bench, wanted, self.workers)


@dataclass(frozen=True)
class TaskEvaluation(Evaluation):
    """Policies tried in the simulated task, all trials of a condition at once."""

    world: str
    """nominal, or the path of a world.yaml."""
    device: str = "cpu"
    """Of the simulation."""

    @property
    def place(self) -> str:
        """Where the policies are tried, in words."""
        return "the simulated task"

    def place_settings(self) -> dict[str, Any]:
        """Return task, world and device."""
        world = None if self._world() is None else file_sha256(self.world)
        return {"cell": "isaaclab", "world": world, "device": self.device}

    def make(self, wanted: Sequence[tuple[str, Trial]], trials: Sequence[Trial]) -> Iterator[TrialResult]:
        """Yield the results of the `wanted` trials; of a condition all are made, or none."""
        missing = dict.fromkeys((name, trial.condition) for name, trial in wanted)
        for name, condition in missing:
            count = sum(trial.condition == condition for trial in trials)
            for result in self._batch(name, condition, count, trials[0].seed):
                if (name, result.trial) in wanted:
                    yield result

    def _world(self) -> World | None:
        """Return the world in the file; None for the nominal one.

        Raises:
            ConfigError: the file is missing or damaged.
        """
        from r2s2r.world.world_file import read_world

        return None if self.world == "nominal" else read_world(Path(self.world))

    def _batch(self, name: str, condition: str, count: int, seed: int) -> Iterator[TrialResult]:
        """Yield the results of all trials of a policy under a condition."""
        from r2s2r_tasks.belt_sort.evaluate import evaluate_in_task
        from r2s2r_tasks.belt_sort.session import belt_sort_env

        policies = [load_policy(self.checkpoints, name) for _ in range(count)]
        size = int(policies[0].info["picture_size"])
        with belt_sort_env(
            count, seed=seed, device=self.device, condition=condition, picture_size=size, world=self._world()
        ) as env:
            for result, rollout in evaluate_in_task(env, policies, name, condition, self.runner):
                write_rollout(rollout_path(self.out, name, result.trial), rollout)
                yield result


def open_virtual_cell(seed: int, picture_size: int) -> SortingCell:
    """Return the virtual cell of a seed."""
    import warp as wp

    from r2s2r.cell.virtual_cell import VirtualCell

    wp.config.log_level = wp.LOG_WARNING
    return VirtualCell(seed, picture_size=picture_size)


def load_policy(checkpoints: dict[str, Path], name: str) -> Policy:
    """Return a policy that computes on one thread.

    Raises:
        CheckpointError: the checkpoint is missing, damaged, or of another task or version.
    """
    from r2s2r_policies.runtime import FlowPolicy

    return FlowPolicy.load(checkpoints[name], device="cpu", threads=1)


def _checksum(path: Path) -> str:
    from r2s2r_policies.checkpoint import CONFIG, read_checkpoint

    return file_sha256(read_checkpoint(path).folder / CONFIG)  # which holds the checksums of all else


def _print(table: PolicyTable, out: Path) -> None:
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

    def tell(self, result: TrialResult) -> None:
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
