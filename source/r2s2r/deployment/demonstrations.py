"""Demonstrations of the task on a cell: teleoperated attempts until there are enough successful ones of each class.

::

    DEMOS.hdf5             the data set
    DEMOS.hdf5.parts/      its episodes while it is being recorded
    DEMOS.attempts.jsonl   settings, then a line for each attempt in the order of the numbers

Attempts are numbered; the numbers fix what is drawn. Kept are the successes with the lowest numbers of each class, so
that the data set does not depend on how many processes worked on it, nor on when it was interrupted.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path

from r2s2r.contracts.cell import SortingCell
from r2s2r.contracts.checks import set_count
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.provenance import provenance
from r2s2r.contracts.rejection import Rejection
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import OBJECT_CLASSES, CellPoses, nominal_poses
from r2s2r.dataset.assembly import WrittenDataset
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.dataset.writer import DatasetWriter
from r2s2r.deployment.attempt_log import AttemptLog
from r2s2r.deployment.demonstration_attempt import STATE_NAMES, DemonstrationAttempt
from r2s2r.deployment.demonstration_processes import DemonstrationProcesses

CONDITION = "nominal"
"""Demonstrations are recorded under no other, as on a physical cell."""

FIRST_NUMBER = 1_000_000
"""Number of the first attempt. Policies are tried with lower ones, so that none is tried on what it was shown, whatever
the seeds are. Even numbers are boxes, odd ones round objects."""

MAX_FAILURES_IN_A_ROW = 20
"""After so many the recording stops: even if only half of the attempts succeeded, that would be one in a million."""

ENV_TYPE = 2
"""robomimic's number for environments made by Gymnasium; a cell is none, and robomimic knows no other that fits."""


@dataclass(frozen=True)
class DemonstrationSettings:
    """What decides which demonstrations come about; how many processes work on them does not.

    Raises:
        ConfigError: a value is out of range.
    """

    cell: str
    """Kind and seed or address of the cell, for the files."""
    episodes: int
    """Successful demonstrations asked for, an equal share of each object class."""
    seed: int
    """Seed of the trials."""
    picture_size: int | None = None
    """Width and height of the pictures [px]; None: as the cameras give them."""
    pictures: bool = True
    """Whether there are any."""

    def __post_init__(self):
        if self.episodes < len(OBJECT_CLASSES):
            raise ConfigError(
                f"episodes: received {self.episodes}, allowed are {len(OBJECT_CLASSES)} and more: one of each class"
            )
        set_count(self, "seed", 0, 2**31 - 1)

    @property
    def quotas(self) -> Counter[str]:
        """Demonstrations of each class: equal, the first ones one more where it does not divide."""
        share, more = divmod(self.episodes, len(OBJECT_CLASSES))
        return Counter({name: share + (i < more) for i, name in enumerate(OBJECT_CLASSES)})

    def trial(self, number: int) -> Trial:
        """Return the trial of an attempt."""
        return Trial(CONDITION, number, self.seed)

    def header(self) -> DatasetHeader:
        """Return the header of the data set."""
        env_args = {"env_name": self.cell, "type": ENV_TYPE, "env_kwargs": {"condition": CONDITION}}
        record = provenance(asdict(self), seed=self.seed)
        return DatasetHeader(env_args, record, state_names=STATE_NAMES, split_seed=self.seed)


def record_demonstrations(
    open_cell: Callable[[], SortingCell],
    path: Path,
    settings: DemonstrationSettings,
    *,
    poses: CellPoses | None = None,
    workers: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    on_attempt: Callable[[DemonstrationAttempt, int], None] | None = None,
) -> tuple[WrittenDataset, list[DemonstrationAttempt]]:
    """Record demonstrations, and return the data set and all attempts that were needed for it.

    Args:
        open_cell: makes the cell, one for each process; with several workers it can be pickled.
        path: the data set.
        settings: what is recorded.
        poses: bins and belt that attempts are planned and judged by; None for the planned cell's.
        workers: processes that work on attempts. A physical cell has one.
        resume: go on with an interrupted recording.
        overwrite: replace a finished or interrupted one.
        on_attempt: called after each attempt that counts, with the number of demonstrations kept so far.

    Raises:
        DatasetError: the data set exists, or an interrupted recording does and `resume` is not set.
        ConfigError: the interrupted recording was made with other settings.
        RecordingError: too many attempts failed in a row, or the cell did; what was kept is safe.
        SimulationError: a process died; what was kept is safe.
    """
    interrupted = "discard" if overwrite else "resume" if resume else "refuse"
    with DatasetWriter(path, settings.header(), interrupted=interrupted, overwrite=overwrite) as writer:
        log = AttemptLog(path.with_name(f"{path.stem}.attempts.jsonl"), asdict(settings), interrupted)
        log.forget_unsaved(len(writer))
        for attempt in log.attempts:
            _reject_failure(writer, attempt)
        with DemonstrationProcesses(open_cell, poses or nominal_poses(), settings.pictures, workers) as processes:
            for attempt, episode in _wanted(settings, log, processes):
                # The line comes first: an attempt without its episode is made again, one without a line would be lost.
                log.add(attempt)
                _reject_failure(writer, attempt)
                if episode is not None:
                    writer.add(episode)
                if on_attempt:
                    on_attempt(attempt, len(writer))
                _check(log.attempts, path)
        return writer.finish(), log.attempts


def _wanted(
    settings: DemonstrationSettings, log: AttemptLog, processes: DemonstrationProcesses
) -> Iterator[tuple[DemonstrationAttempt, Episode | None]]:
    """Yield the attempts in the order of their numbers until every class has its share.

    An attempt is begun only while its class lacks more than are under way, so that none is made in vain and none
    depends on what was begun beside it.
    """
    left = settings.quotas - Counter(attempt.object_class for attempt in log.attempts if attempt.success)
    number = log.attempts[-1].number + 1 if log.attempts else FIRST_NUMBER
    pending: deque[tuple[str, Future]] = deque()
    while left.total():
        under_way = Counter(name for name, _ in pending)
        trial = settings.trial(number)
        # Classes whose share is complete are passed over; numbers alternate between the classes.
        lacking = left[trial.target_class] - under_way[trial.target_class]
        if left[trial.target_class] <= 0:
            number += 1
        elif lacking > 0 and len(pending) < processes.workers:
            pending.append((trial.target_class, processes.submit(trial)))
            number += 1
        else:
            name, future = pending.popleft()
            attempt, episode = processes.result(future)
            left[name] -= attempt.success
            yield attempt, episode


def _reject_failure(writer: DatasetWriter, attempt: DemonstrationAttempt) -> None:
    if not attempt.success:
        writer.reject(Rejection(attempt.outcome))


def _check(attempts: list[DemonstrationAttempt], path: Path) -> None:
    """Stop where nothing succeeds any more."""
    last = attempts[-MAX_FAILURES_IN_A_ROW:]
    if len(last) == MAX_FAILURES_IN_A_ROW and not any(attempt.success for attempt in last):
        reasons = Counter(attempt.outcome for attempt in last).most_common()
        kept = sum(attempt.success for attempt in attempts)
        raise RecordingError(
            f"{path}: the last {len(last)} attempts failed ({', '.join(f'{name} {n}' for name, n in reasons)}); "
            f"{kept} of {len(attempts)} succeeded and are safe. Is this the cell that was planned?"
        )
