"""One process at work on a generation job: prepares it, simulates shards, films episodes.

Run by `r2s2r generate` as `python -m r2s2r_tasks.belt_sort.generation_worker FOLDER ROLE... --device DEVICE`. It tells
how far it is on its standard output, one JSON object a line.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from r2s2r.behavior.behavior import Behavior
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import R2S2RError
from r2s2r.dataset.lock import WriterLock
from r2s2r.evaluation.judging import Outcome
from r2s2r.generation.films import FilmFolder
from r2s2r.generation.job import GenerationJob
from r2s2r.generation.prepared import Prepared
from r2s2r.generation.selection import select
from r2s2r.generation.shards import ShardFolder, ShardKey
from r2s2r.generation.writing import WritingThread
from r2s2r_tasks.belt_sort.attempts import Attempt
from r2s2r_tasks.belt_sort.film import FILM_ENVS, Film
from r2s2r_tasks.belt_sort.generation_env import dataset_header, generation_env
from r2s2r_tasks.belt_sort.prepare import prepare
from r2s2r_tasks.belt_sort.simulate import SimulatedShard, simulate

POLL_S = 1.0
"""How often a process looks what the others have done [s]."""


class Orphaned(R2S2RError):
    """The command that started this process is gone."""


class Worker:
    """What every role needs."""

    def __init__(self, folder: Path, device: str):
        self.folder, self.device = folder, device
        self.job = GenerationJob.load(folder)
        self.shards, self.films = ShardFolder(folder / "shards"), FilmFolder(folder / "films")
        self._parent, self._looked = os.getppid(), 0.0
        self._told: dict[str, int] = {}

    def prepare(self) -> None:
        """Prepare the job, unless it is."""
        if not Prepared.exists(self.folder):
            prepare(self.folder, self.job, self.device)

    def simulate(self) -> None:
        """Simulate shards until every condition has its episodes."""
        for condition in self.job.conditions:
            if select(self.job, self.shards).missing[condition]:
                with generation_env(self.folder, self.job, condition, self.device, self.job.num_envs) as env:
                    self._simulate(env, condition)

    def film(self) -> None:
        """Film what is chosen, until everything is."""
        for condition in self.job.conditions:
            if self._filmed(condition):
                continue
            size = self.job.picture_size
            with generation_env(self.folder, self.job, condition, self.device, FILM_ENVS, size) as env:
                film = Film(env)
                while not self._filmed(condition):
                    if not self._film(film, condition):
                        self._check_parent()
                        time.sleep(POLL_S)

    def tell(self, **counts: int) -> None:
        """Add to what this process has done, and tell it."""
        for name, count in counts.items():
            self._told[name] = self._told.get(name, 0) + count
        print(json.dumps({"pid": os.getpid(), **self._told}), flush=True)

    def _simulate(self, env, condition: str) -> None:
        prepared, header = Prepared.load(self.folder), dataset_header(self.folder, self.job)
        behavior = Behavior.load(self.folder / "behavior")
        claims = _Claims(self.shards, self.job, condition)
        complete = self._poll(lambda: not select(self.job, self.shards).missing[condition])

        def publish(shard: SimulatedShard) -> None:
            self.shards.publish(claims.key(shard.numbers), header, shard.episodes, shard.attempts)
            claims.release(shard.numbers)

        def count(attempt: Attempt) -> None:
            self.tell(attempts=1, successes=int(attempt.outcome is Outcome.SUCCESS))

        try:
            with WritingThread(publish) as writing:
                for shard in simulate(env, behavior, prepared.replay, condition, claims.take, complete, count):
                    writing.put(shard)
        finally:
            claims.release_all()

    def _film(self, film: Film, condition: str) -> int:
        """Film what can be filmed now and what gets ready meanwhile, and return how many episodes that were."""
        header, filmed = dataset_header(self.folder, self.job), 0
        with _FilmClaims(self, condition) as claims, WritingThread(lambda x: self.films.add(*x, header)) as writing:
            for item in film.shoot(claims.take(), claims.take):
                self._check_parent()
                writing.put(item)
                self.tell(filmed=1)
                filmed += 1
        return filmed

    def _filmed(self, condition: str) -> bool:
        """Return whether nothing is left to film: all is there, or the data set is put together already."""
        if (self.folder / "dataset.hdf5").exists():
            return True
        selection = select(self.job, self.shards)
        numbers = [n for key, chosen in selection.chosen.items() if key.condition == condition for n in chosen]
        return not selection.missing[condition] and not self.films.unfinished(numbers)

    def _poll(self, question: Callable[[], bool]) -> Callable[[], bool]:
        """Return `question`, asked only now and then and answered with no in between."""

        def ask() -> bool:
            if time.monotonic() < self._looked + POLL_S:
                return False
            self._looked = time.monotonic()
            self._check_parent()
            return question()

        return ask

    def _check_parent(self) -> None:
        if os.getppid() != self._parent:
            raise Orphaned("the command that started this process is gone")


class _FilmClaims:
    """Shards of one condition that this process films, claimed until it has filmed all that it took."""

    def __init__(self, worker: Worker, condition: str):
        self._worker, self._condition = worker, condition
        self._locks: dict[ShardKey, WriterLock] = {}

    def __enter__(self) -> "_FilmClaims":
        return self

    def __exit__(self, *_: object) -> None:
        for lock in self._locks.values():
            lock.release()

    def take(self) -> list[tuple[int, Episode]]:
        """Claim the shards in which something is chosen and unfilmed, and return those episodes by attempt number."""
        films, shards = self._worker.films, self._worker.shards
        episodes = []
        for key, numbers in select(self._worker.job, shards).chosen.items():
            if key.condition != self._condition or key in self._locks or not films.unfinished(numbers):
                continue
            lock = films.try_claim(key)
            if lock is not None:
                self._locks[key] = lock
                episodes += shards.load(key, films.unfinished(numbers))
        return episodes


class _Claims:
    """Shards of one condition that this process works on, by the first number of their attempts."""

    def __init__(self, shards: ShardFolder, job: GenerationJob, condition: str):
        self._shards, self._job, self._condition = shards, job, condition
        self._held: dict[int, tuple[ShardKey, WriterLock]] = {}
        self._next = 0

    def take(self) -> range:
        """Claim the next free shard and return the numbers of its attempts."""
        while True:
            key = ShardKey(self._condition, self._next)
            self._next += 1
            lock = self._shards.try_claim(key)
            if lock is not None:
                numbers = self._job.numbers(key.condition, key.index)
                self._held[numbers.start] = (key, lock)
                return numbers

    def key(self, numbers: range) -> ShardKey:
        """Return which claimed shard has these numbers."""
        return self._held[numbers.start][0]

    def release(self, numbers: range) -> None:
        """Give the claim of a shard back."""
        self._held.pop(numbers.start)[1].release()

    def release_all(self) -> None:
        """Give all claims back: others may do what this process has not finished."""
        for _, lock in self._held.values():
            lock.release()
        self._held.clear()


def main() -> int:
    """Run the roles that the command line names, one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("roles", nargs="+", choices=("prepare", "simulate", "film"))
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    try:
        worker = Worker(arguments.folder, arguments.device)
        for role in arguments.roles:
            getattr(worker, role)()
    except R2S2RError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
