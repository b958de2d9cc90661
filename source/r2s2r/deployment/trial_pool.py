"""Makes the trials of several policies, in one process or more: what each comes to does not depend on how many."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from r2s2r.contracts.cell import SortingCell
from r2s2r.contracts.errors import SimulationError
from r2s2r.contracts.policy import Policy
from r2s2r.contracts.trials import Trial
from r2s2r.deployment.control_stack import ControlStack
from r2s2r.deployment.policy_runner import RunnerCfg
from r2s2r.deployment.trial_runner import run_trial
from r2s2r.evaluation.judging import JudgingCfg
from r2s2r.evaluation.rollout import rollout_path, write_rollout
from r2s2r.evaluation.trial_result import TrialResult


@dataclass(frozen=True)
class Bench:
    """What a process needs to make trials; it is handed to others, so that all of it can be pickled."""

    open_cell: Callable[[int], SortingCell]
    """Makes the cell; is given the size of its pictures [px]."""
    load_policy: Callable[[str], Policy]
    """Makes a policy by its name."""
    judging: JudgingCfg
    """Geometry and limits of the verdict."""
    runner: RunnerCfg
    """How answers are executed."""
    folder: Path
    """Rollouts go to files below it."""


class TrialMaker:
    """Makes trials in one process. Cells and policies are made when they are first needed, and kept."""

    def __init__(self, bench: Bench):
        self._bench = bench
        self._cells: dict[int, tuple[SortingCell, ControlStack]] = {}
        self._policies: dict[str, Policy] = {}

    def make(self, name: str, trial: Trial) -> TrialResult:
        """Make one trial of a policy and write its rollout.

        Raises:
            R2S2RError: the policy cannot be loaded or run.
        """
        bench = self._bench
        if name not in self._policies:
            self._policies[name] = bench.load_policy(name)
        policy = self._policies[name]
        cell, stack = self._cell(int(policy.info["picture_size"]))
        result, rollout = run_trial(cell, policy, trial, bench.judging, bench.runner, name=name, stack=stack)
        write_rollout(rollout_path(bench.folder, name, trial), rollout)
        return result

    def _cell(self, picture_size: int) -> tuple[SortingCell, ControlStack]:
        if picture_size not in self._cells:
            cell = self._bench.open_cell(picture_size)
            self._cells[picture_size] = cell, ControlStack(cell.info)
        return self._cells[picture_size]


def make_trials(bench: Bench, wanted: Sequence[tuple[str, Trial]], workers: int = 1) -> Iterator[TrialResult]:
    """Yield the results of trials (policy's name, trial) as they end.

    Args:
        bench: what is needed to make them.
        wanted: which; begun in this order.
        workers: processes. Threads of one process do not help: a cell has one clock.

    Raises:
        R2S2RError: a policy cannot be loaded or run; trials under way are lost.
        SimulationError: a process died.
    """
    if workers == 1 or len(wanted) < 2:
        maker = TrialMaker(bench)
        for name, trial in wanted:
            yield maker.make(name, trial)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(wanted)), context, initializer=_begin, initargs=(bench,)) as pool:
        pending = [pool.submit(_make, name, trial) for name, trial in wanted]
        try:
            for future in as_completed(pending):
                yield future.result()
        except BrokenProcessPool as error:
            raise SimulationError(
                "evaluation: a process died, for lack of memory perhaps; what ended is kept"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_maker: TrialMaker | None = None
"""Of this process, where it is one of several."""


def _begin(bench: Bench) -> None:
    global _maker
    _maker = TrialMaker(bench)


def _make(name: str, trial: Trial) -> TrialResult:
    if _maker is None:
        raise SimulationError("evaluation: this process was not begun")
    return _maker.make(name, trial)
