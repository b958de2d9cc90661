"""Shards of a job on disk: who works on which, what is finished, what is damaged."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.files import file_sha256, writable_folder, write_json
from r2s2r.contracts.rejection import Rejection
from r2s2r.dataset.assembly import assemble
from r2s2r.dataset.episode_group import EpisodeEntry, read_episode, stored_episode
from r2s2r.dataset.hdf5_file import open_for_reading
from r2s2r.dataset.lock import WriterLock
from r2s2r.dataset.schema import DatasetHeader, read_header


@dataclass(frozen=True)
class AttemptRecord:
    """What became of one attempt."""

    number: int
    object_class: str
    shape: str
    steps: int
    """Control steps that it took."""
    rejection: Rejection | None = None
    """Why it was not kept; None for a success."""

    @property
    def success(self) -> bool:
        """Whether it was kept."""
        return self.rejection is None

    @classmethod
    def from_dict(cls, row: dict) -> "AttemptRecord":
        """Return the record that `dataclasses.asdict` gave."""
        rejection = row["rejection"] and Rejection(**row["rejection"])
        return cls(**{**row, "rejection": rejection})


@dataclass(frozen=True)
class ShardKey:
    """Which shard of a job."""

    condition: str
    index: int

    def __str__(self) -> str:
        return f"{self.condition}_{self.index:05d}"


class ShardFolder:
    """Finished shards, and the claims on unfinished ones.

    A shard is published by its JSON file, which is written last and names the checksum of the episodes' file. A claim
    is a lock that dies with its process, so that nothing is left to clean up after a crash.
    """

    def __init__(self, folder: Path):
        self.folder = writable_folder(folder)
        self._seen: dict[str, list[AttemptRecord]] = {}

    def finished(self, key: ShardKey) -> bool:
        """Return whether the shard is published."""
        return str(key) in self._seen or self._table(key).exists()

    def records(self, key: ShardKey) -> list[AttemptRecord]:
        """Return what became of the attempts of a published shard, in the order of their numbers.

        Raises:
            DatasetError: it is damaged.
        """
        name = str(key)
        if name not in self._seen:
            table = self._read_table(key)
            self._seen[name] = [AttemptRecord.from_dict(row) for row in table["attempts"]]
        return self._seen[name]

    def try_claim(self, key: ShardKey) -> WriterLock | None:
        """Return the lock on an unfinished shard, None if it is finished or someone else's."""
        if self.finished(key):
            return None
        try:
            lock = WriterLock(self.folder / f"{key}.lock")
        except DatasetError:
            return None
        if self.finished(key):  # in the meantime
            lock.release()
            return None
        return lock

    def publish(
        self, key: ShardKey, header: DatasetHeader, episodes: Mapping[int, Episode], attempts: Sequence[AttemptRecord]
    ) -> None:
        """Write a whole shard.

        Args:
            key: which shard.
            header: of the data set.
            episodes: kept ones by attempt number.
            attempts: what became of every attempt.

        Raises:
            DatasetError: an episode breaks a rule of the schema, or the disk refuses.
        """
        stored = {
            f"demo_{number}": stored_episode(episode, f"attempt {number}") for number, episode in episodes.items()
        }
        sha256 = None
        if stored:
            entries = {
                name: EpisodeEntry(len(item), item.source_demo, item.attributes) for name, item in stored.items()
            }
            sha256 = assemble(self._episodes(key), header, entries, stored.__getitem__).sha256
        ordered = sorted(attempts, key=lambda attempt: attempt.number)
        try:
            write_json(self._table(key), {"episodes_sha256": sha256, "attempts": [asdict(row) for row in ordered]})
        except (OSError, ConfigError) as error:
            raise DatasetError(
                f"{self._table(key)}: cannot be written ({error}); the shards before are safe"
            ) from error

    def load(self, key: ShardKey, numbers: Sequence[int]) -> Iterator[tuple[int, Episode]]:
        """Yield the episodes of some attempts of a published shard.

        Raises:
            DatasetError: the shard is damaged or lacks one.
        """
        if not numbers:
            return
        path = self._episodes(key)
        with open_for_reading(path) as file:
            header = read_header(file["data"], str(path))
            for number in numbers:
                if f"demo_{number}" not in file["data"]:
                    raise DatasetError(f"{path}: no episode of attempt {number}")
                yield number, read_episode(file["data"][f"demo_{number}"], header)

    def damage(self, keys: Sequence[ShardKey]) -> list[str]:
        """Return what is wrong with published shards, and take the damaged ones out, so that they are made again.

        A shard that is damaged on disk costs its own time again and nothing else. Its files stay under another name.
        """
        found = []
        for key in keys:
            if not self.finished(key):
                continue
            try:
                expected = self._read_table(key)["episodes_sha256"]
                if expected is not None and file_sha256(self._episodes(key)) != expected:
                    raise DatasetError(
                        f"{self._episodes(key)}: damaged, its checksum is not the one it was written with"
                    )
            except (DatasetError, OSError) as error:
                found.append(str(error))
                self._set_aside(key)
        return found

    def _set_aside(self, key: ShardKey) -> None:
        self._seen.pop(str(key), None)
        for path in (self._table(key), self._episodes(key)):
            if path.exists():
                path.replace(path.with_name(f"{path.name}.damaged"))

    def _read_table(self, key: ShardKey) -> dict:
        path = self._table(key)
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
            if not {"episodes_sha256", "attempts"} <= set(table):
                raise ValueError("entries are missing")
            return table
        except (OSError, ValueError, TypeError) as error:
            raise DatasetError(f"{path}: damaged ({error})") from error

    def _episodes(self, key: ShardKey) -> Path:
        return self.folder / f"{key}.hdf5"

    def _table(self, key: ShardKey) -> Path:
        return self.folder / f"{key}.json"
