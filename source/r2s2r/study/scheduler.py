"""Runs the stages of a study: each when what it needs is done, as many at once as there are cores for."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import ConfigError, StudyError
from r2s2r.generation.progress import duration
from r2s2r.study.stage import Stage, State, begin, digest_of, finish, key_of, state_of
from r2s2r.study.stage_process import StageProcess

POLL_S = 0.2
"""Time between two looks at the processes [s]."""

TELL_S = 60.0
"""Longest time between two lines of progress [s]."""

SHOWN_LINES = 8
"""Last lines of a failed stage's log that are shown."""

LOGS = "logs"
"""Folder below the study's with a log for each stage."""


@dataclass
class Scheduler:
    """One run over the stages of a study.

    A stage that is done with the same command and inputs is skipped. A stage that fails keeps those that need it from
    running, and nothing else.

    Raises:
        ConfigError: a stage needs one that is not listed before it, or two have one name.
    """

    root: Path
    """The study's folder."""
    stages: Sequence[Stage]
    """In the order in which they are preferred, each behind those that it needs."""
    cores: int
    """Processor cores to use."""
    say: Callable[[str], None] = print
    """Is given each line of progress."""
    _digests: dict[str, str] = field(default_factory=dict)
    """Of the outputs of each stage that is done."""
    _failed: dict[str, str] = field(default_factory=dict)
    """Why each failed stage failed, in one line."""
    _running: dict[str, tuple[Stage, dict[str, Any], StageProcess]] = field(default_factory=dict)
    _paces: list[tuple[float, float]] = field(default_factory=list)
    """Time taken and time expected of each stage of this run [s]."""
    _told_s: float = field(default_factory=time.monotonic)

    def __post_init__(self):
        known: set[str] = set()
        for stage in self.stages:
            unknown = [name for name in stage.needs if name not in known]
            if unknown or stage.name in known:
                raise ConfigError(f"stage {stage.name}: listed twice, or before {', '.join(unknown)}, which it needs")
            known.add(stage.name)

    def run(self) -> None:
        """Run until nothing more can be done.

        Raises:
            StudyError: stages failed; the message names the first one, and the others that could run are done.
        """
        try:
            while self._start_what_can() or self._running:
                time.sleep(POLL_S)
                self._look()
        finally:
            for _, _, process in self._running.values():
                process.stop()
        if self._failed:
            name, why = next(iter(self._failed.items()))
            waiting = [stage.name for stage in self.stages if stage.name not in self._digests | self._failed]
            others = f"; also failed: {', '.join(list(self._failed)[1:])}" if len(self._failed) > 1 else ""
            kept = f"; not run for it: {', '.join(waiting)}" if waiting else ""
            raise StudyError(f"stage {name}: {why}{others}{kept}; the same command goes on from what is done")

    @property
    def done(self) -> frozenset[str]:
        """Names of the stages that are done."""
        return frozenset(self._digests)

    def time_left_s(self) -> float:
        """Return about how long the rest takes [s]: expected times at the pace seen so far, spread over the cores."""
        left_s = 0.0
        for stage in self.stages:
            if stage.name in self._digests or stage.name in self._failed:
                continue
            spent_s = self._running[stage.name][2].spent_s if stage.name in self._running else 0.0
            left_s += max(self._pace * stage.expected_s - spent_s, 0.0) * min(stage.cores, self.cores)
        return left_s / self.cores

    @property
    def _pace(self) -> float:
        taken, expected = (sum(pair[k] for pair in self._paces) for k in (0, 1))
        return taken / expected if expected else 1.0

    def _start_what_can(self) -> bool:
        """Start the stages that are ready as far as cores are free, skip what is done; return whether any was."""
        moved = False
        for stage in self.stages:
            if stage.name in self._digests | self._failed | self._running:
                continue
            if not all(name in self._digests for name in stage.needs):
                continue
            key = key_of(stage, self._digests)
            if state_of(stage, self.root, key) is State.DONE:
                self._digests[stage.name] = digest_of(stage, self.root)
                self.say(f"{stage.name}: done before")
                moved = True
            elif self._fits(stage):
                self._start(stage, key)
                moved = True
        return moved

    def _fits(self, stage: Stage) -> bool:
        busy = sum(other.cores for other, _, _ in self._running.values())
        return not self._running or busy + stage.cores <= self.cores

    def _start(self, stage: Stage, key: dict[str, Any]) -> None:
        log = self.root / LOGS / f"{stage.name.replace('/', '.')}.log"
        state = state_of(stage, self.root, key)
        arguments = begin(stage, self.root, key)
        cores = min(stage.cores, self.cores)
        self._running[stage.name] = (stage, key, StageProcess(self.root, arguments, log, cores))
        begun = {State.NEW: "begun", State.STALE: "begun anew, its command, inputs or code changed"}
        self._tell(f"{stage.name}: {begun.get(state, 'goes on' if stage.resume else 'begun again')}")

    def _look(self) -> None:
        """Take in the stages that have ended, and tell how far the run is now and then."""
        for name, (stage, key, process) in list(self._running.items()):
            if process.status is None:
                continue
            del self._running[name]
            process.stop()
            self._take_in(stage, key, process)
        if time.monotonic() > self._told_s + TELL_S:
            self._tell(f"at work: {', '.join(self._running) or 'nothing'}")

    def _take_in(self, stage: Stage, key: dict[str, Any], process: StageProcess) -> None:
        try:
            if process.status:
                raise StudyError(f"ended with status {process.status}: {(process.last_lines(1) or ['no message'])[0]}")
            self._digests[stage.name] = finish(stage, self.root, key)
        except StudyError as error:
            self._failed[stage.name] = f"{error} (log: {process.log})"
            self.say(f"{stage.name}: FAILED; the end of {process.log}:")
            for line in process.last_lines(SHOWN_LINES):
                self.say(f"    {line}")
            return
        self._paces.append((process.spent_s, stage.expected_s))
        self._tell(f"{stage.name}: done in {duration(process.spent_s)}")

    def _tell(self, line: str) -> None:
        self._told_s = time.monotonic()
        done, total = len(self._digests), len(self.stages)
        self.say(f"{line} [{done}/{total} stages, about {duration(self.time_left_s())} left]")
