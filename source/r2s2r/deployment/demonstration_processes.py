"""Attempts in this process or in several, each with a cell of its own."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType

from r2s2r.contracts.cell import SortingCell
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import SimulationError
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import CellPoses
from r2s2r.deployment.demonstration_attempt import DemonstrationAttempt, DemonstrationMaker

Made = tuple[DemonstrationAttempt, Episode | None]
"""What an attempt comes to."""


class DemonstrationProcesses:
    """Makes attempts; a context manager. What an attempt comes to does not depend on the number of processes."""

    def __init__(self, open_cell: Callable[[], SortingCell], poses: CellPoses, pictures: bool, workers: int):
        """Begin; the cells are opened with the first attempts.

        Args:
            open_cell: makes a cell; with several workers it can be pickled.
            poses: bins and belt that attempts are planned and judged by.
            pictures: whether they are recorded.
            workers: processes; with 1 attempts are made in this one.
        """
        self.workers = workers
        self._begin = (open_cell, poses, pictures)
        self._maker: DemonstrationMaker | None = None
        self._pool = None
        if workers > 1:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=self._begin)

    def __enter__(self) -> "DemonstrationProcesses":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def submit(self, trial: Trial) -> "Future[Made]":
        """Have an attempt made; with one worker it is made now."""
        if self._pool is not None:
            return self._pool.submit(_make, trial)
        if self._maker is None:
            self._maker = DemonstrationMaker(*self._begin)
        done: Future[Made] = Future()
        done.set_result(self._maker.make(trial))
        return done

    def result(self, future: "Future[Made]") -> Made:
        """Wait for an attempt and return what it came to.

        Raises:
            SimulationError: a process died.
        """
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise SimulationError(
                "demonstrations: a process died; what was kept is safe, go on with --resume"
            ) from error


_maker: DemonstrationMaker | None = None
"""Of this process, where it is one of several."""


def _begin(open_cell: Callable[[], SortingCell], poses: CellPoses, pictures: bool) -> None:
    global _maker
    _maker = DemonstrationMaker(open_cell, poses, pictures)


def _make(trial: Trial) -> Made:
    if _maker is None:
        raise SimulationError("demonstrations: this process was not begun")
    return _maker.make(trial)
