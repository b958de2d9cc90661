"""Filmed episodes on disk, each a file of its own until the data set is put together."""

from collections.abc import Sequence
from pathlib import Path

from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.files import whole_file, writable_folder
from r2s2r.dataset.episode_group import EpisodeEntry, check_content, read_entry, read_episode, stored_episode
from r2s2r.dataset.hdf5_file import open_for_reading
from r2s2r.dataset.lock import WriterLock
from r2s2r.dataset.parts import part_image
from r2s2r.dataset.schema import DatasetHeader, read_header
from r2s2r.generation.shards import ShardKey


class FilmFolder:
    """Episodes with their pictures by attempt number; whoever films a shard holds a claim on it."""

    def __init__(self, folder: Path):
        self.folder = writable_folder(folder)

    def finished(self, number: int) -> bool:
        """Return whether the episode of that attempt is here."""
        return self._path(number).exists()

    def unfinished(self, numbers: Sequence[int]) -> list[int]:
        """Return which of these attempts are not here yet."""
        return [number for number in numbers if not self.finished(number)]

    def try_claim(self, key: ShardKey) -> WriterLock | None:
        """Return the lock on filming a shard, None if it is someone else's."""
        try:
            return WriterLock(self.folder / f"{key}.lock")
        except DatasetError:
            return None

    def add(self, number: int, episode: Episode, header: DatasetHeader) -> None:
        """Write one episode, safe on disk when this returns.

        Raises:
            DatasetError: it breaks a rule of the schema, or the disk refuses.
        """
        name = f"demo_{number}"
        image = part_image(name, stored_episode(episode, name), header, compress=True)
        try:
            with whole_file(self._path(number)) as aside:
                aside.write_bytes(image)
        except (OSError, ConfigError) as error:
            raise DatasetError(
                f"{self.folder}: the episode of attempt {number} cannot be written ({error}); "
                "what is finished is safe, resume when there is room"
            ) from error

    def header(self, number: int) -> DatasetHeader:
        """Return the header that an episode was written with.

        Raises:
            DatasetError: it is missing or damaged.
        """
        path = self._path(number)
        with open_for_reading(path) as file:
            return read_header(file["data"], str(path))

    def entry(self, number: int) -> EpisodeEntry:
        """Return what the tables of a data set need to know of an episode.

        Raises:
            DatasetError: it is missing or damaged.
        """
        with open_for_reading(self._path(number)) as file:
            return read_entry(file[f"data/demo_{number}"])

    def load(self, number: int) -> Episode:
        """Return an episode with its pictures.

        Raises:
            DatasetError: it is missing or damaged.
        """
        path = self._path(number)
        try:
            with open_for_reading(path) as file:
                group = file[f"data/demo_{number}"]
                episode = read_episode(group, read_header(file["data"], str(path)))
                check_content(group, episode)
                return episode
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise DatasetError(f"{path}: damaged ({str(error).splitlines()[0]})") from error

    def set_aside(self, number: int) -> None:
        """Take a damaged episode out, so that it is filmed again; its file stays under another name."""
        path = self._path(number)
        path.replace(path.with_name(f"{path.name}.damaged"))

    def remove(self) -> None:
        """Remove everything, once the data set is whole."""
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()

    def _path(self, number: int) -> Path:
        return self.folder / f"demo_{number}.hdf5"
