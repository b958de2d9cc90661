"""What `r2s2r generate` does with a job: prepare, work, put together, report."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.files import write_json
from r2s2r.contracts.trials import TRIAL_S
from r2s2r.dataset.lock import WriterLock
from r2s2r.dataset.space import StorageEstimate, check_free_space
from r2s2r.evaluation.human_likeness import HumanLikeness
from r2s2r.generation.begin import begin, is_complete, mend, share_behavior
from r2s2r.generation.films import FilmFolder
from r2s2r.generation.finish import finish
from r2s2r.generation.job import GenerationJob
from r2s2r.generation.prepared import Prepared
from r2s2r.generation.processes import roles_of, run_processes
from r2s2r.generation.progress import Progress, duration
from r2s2r.generation.report import measure_likeness, summarize_job, write_comparison, write_generation_report
from r2s2r.generation.selection import select
from r2s2r.generation.shards import ShardFolder

WAIT_S = 1.0
"""How often a process looks whether another one has done what only one should do [s]."""


@contextmanager
def only_one(lock_path: Path, done: Callable[[], bool]) -> Iterator[bool]:
    """Let one of all processes do something; yields True to that one, and False to the others once it is done."""
    lock = None
    while lock is None and not done():
        try:
            lock = WriterLock(lock_path)
        except DatasetError:  # somebody else is at it, and perhaps fails
            time.sleep(WAIT_S)
    try:
        yield lock is not None and not done()
    finally:
        if lock is not None:
            lock.release()


@dataclass
class GenerationRun:
    """One run of the command, over one or several jobs."""

    workers: int
    device: str
    resume: bool
    say: Callable[[str], None]
    _behaviors: dict[tuple[str, int], Path] = field(default_factory=dict)
    """Where a behavior was made first, by its kind and seed."""
    _made: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Summaries of the data sets that are finished, by the name of their folders."""
    _likeness: dict[str, HumanLikeness] = field(default_factory=dict)
    """How human-like each of them moves."""

    def begin(self, folder: Path, **settings: Any) -> GenerationJob:
        """Begin a job or take it up again; see :func:`r2s2r.generation.begin.begin`.

        Raises:
            DatasetError: the disk has too little space.
        """
        size = (settings["picture_size"],) * 2
        estimate = StorageEstimate(settings["episodes"], TRIAL_S, {"head": size, "wrist": size})
        check_free_space(estimate, folder.parent)
        return begin(folder, resume=self.resume, **settings)

    def make(self, folder: Path, job: GenerationJob) -> dict[str, Any]:
        """Work on a job until its data set is there, and return its summary.

        Raises:
            SimulationError: a process failed.
            DatasetError: something on disk is damaged, or the disk is full; what is finished is safe.
        """
        began = time.perf_counter()
        path = folder / "dataset.hdf5"
        if not path.exists():
            for trouble in mend(folder):
                self.say(f"{trouble}; it is made again")
            self._prepare(folder, job)
            self._work(folder, job)
            self._finish(path, folder, job)
        return self._report(folder, job, time.perf_counter() - began)

    def compare(self, folder: Path) -> Path:
        """Write the report that compares the data sets of this run, and return its path."""
        path = write_comparison(folder / "report.html", self._made, self._likeness)
        self.say(f"report of all data sets: {path}")
        return path

    def _prepare(self, folder: Path, job: GenerationJob) -> None:
        with only_one(folder / "prepare.lock", lambda: Prepared.exists(folder)) as mine:
            if not mine:
                return
            self._borrow_behavior(folder, job)
            self.say(f"{folder}: preparing behavior and world")
            run_processes(folder, self.device, [["prepare"]])
        for name, count in Prepared.load(folder).demonstrations.items():
            self.say(f"demonstrations, {name}: " + ", ".join(f"{n} of class {c}" for c, n in count.items()))

    def _borrow_behavior(self, folder: Path, job: GenerationJob) -> None:
        """Take the behavior of another data set of this run: the same kind and seed give the same one."""
        made = self._behaviors.setdefault((job.behavior, job.seed), folder)
        if made != folder and (made / "behavior").exists():
            share_behavior(made, folder)

    def _work(self, folder: Path, job: GenerationJob) -> None:
        shards, films = ShardFolder(folder / "shards"), FilmFolder(folder / "films")
        progress = Progress(job, shards, films, lambda line: self.say(f"{folder.name}: {line}"))
        while not (folder / "dataset.hdf5").exists() and not is_complete(folder, job):
            run_processes(folder, self.device, roles_of(self.workers), progress)

    def _finish(self, path: Path, folder: Path, job: GenerationJob) -> None:
        """Put the data set together, unless another process on the same job does it."""
        with only_one(folder / "finish.lock", path.exists) as mine:
            if not mine:
                return
            self.say("putting the data set together")
            films = FilmFolder(folder / "films")
            written = finish(path, select(job, ShardFolder(folder / "shards")), films)
            self.say(f"{path}: {written.episodes} episodes, {written.size_bytes / 1e6:.0f} MB")
            films.remove()

    def _report(self, folder: Path, job: GenerationJob, wall_s: float) -> dict[str, Any]:
        likeness = measure_likeness(folder / "dataset.hdf5", folder)
        summary = summarize_job(folder, job, likeness) | {"wall_s": wall_s}
        summary["report"] = str(write_generation_report(folder, summary, likeness))
        write_json(folder / "summary.json", summary)
        self._made[folder.name] = summary
        if likeness is not None:
            self._likeness[folder.name] = likeness
        self.say(f"report: {summary['report']} ({duration(wall_s)})")
        return summary
