"""How far a job is: rate, yield and time left."""

import time
from collections.abc import Callable, Mapping

from r2s2r.generation.films import FilmFolder
from r2s2r.generation.finish import chosen_numbers, count_attempts
from r2s2r.generation.job import GenerationJob
from r2s2r.generation.selection import select
from r2s2r.generation.shards import ShardFolder

EVERY_S = 15.0
"""Time between two lines [s]."""


class Progress:
    """Prints a line now and then."""

    def __init__(self, job: GenerationJob, shards: ShardFolder, films: FilmFolder, say: Callable[[str], None] = print):
        self._job, self._shards, self._films, self._say = job, shards, films, say
        self._began = self._last = time.monotonic()
        self._filmed_before = self._filmed()
        self._not_filming_s = 0.0  # of this run, until the first film: says nothing of their rate

    def __call__(self, done: Mapping[str, int]) -> None:
        """Tell how far the job is, unless it has just been told.

        Args:
            done: `attempts`, `successes` and `filmed` of this run's processes.
        """
        now = time.monotonic()
        if now >= self._last + EVERY_S:
            self._last = now
            self._say(self.line(now - self._began, done))

    def line(self, spent_s: float, done: Mapping[str, int]) -> str:
        """Return the line after `spent_s` of this run, in which its processes have `done` so much."""
        selection, wanted = select(self._job, self._shards), self._job.episodes
        filmed = len(chosen_numbers(selection)) - len(self._films.unfinished(chosen_numbers(selection)))
        parts = [f"{selection.episodes}/{wanted} simulated ({count_attempts(selection)})", f"{filmed}/{wanted} filmed"]
        if done.get("attempts"):
            parts.append(f"this run {done.get('successes', 0)} of {done['attempts']} attempts")
        new = filmed - self._filmed_before
        if new <= 0:
            self._not_filming_s = spent_s
        else:
            rate = new / (spent_s - self._not_filming_s)
            parts += [f"{60.0 * rate:.1f} a minute", f"{duration((wanted - filmed) / rate)} left"]
        return ", ".join(parts)

    def _filmed(self) -> int:
        numbers = chosen_numbers(select(self._job, self._shards))
        return len(numbers) - len(self._films.unfinished(numbers))


def duration(seconds: float) -> str:
    """Return a time for people: `45 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
