"""Writing a data set so that a finished episode survives whatever comes later."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import ConfigError, DatasetError, choose
from r2s2r.contracts.files import whole_file, writable_folder
from r2s2r.contracts.rejection import Rejection
from r2s2r.dataset.assembly import WrittenDataset, assemble
from r2s2r.dataset.attempts import Attempts
from r2s2r.dataset.episode_group import EpisodeEntry, read_episode, signature, stored_episode
from r2s2r.dataset.lock import WriterLock
from r2s2r.dataset.parts import open_part, part_files, part_image, parts_folder
from r2s2r.dataset.schema import DatasetHeader, demo_number, natural_order
from r2s2r.dataset.space import StorageEstimate, check_free_space

LOCK_NAME = "writer.lock"


class DatasetWriter:
    """Collects episodes and publishes them as one file; a context manager that finishes when its block succeeds.

    Each episode is written whole, as a small data set of its own, into the folder `FILE.parts` and synced to disk;
    :meth:`finish` puts the parts together, renames the result to `FILE` and removes them. After a crash, an error or a
    full disk the parts are still there: `r2s2r validate FILE --recover OUT` makes a data set of them, and
    `interrupted="resume"` continues.

    Args:
        path: The file to publish.
        header: What holds for the whole data set; its `state_names` are taken from the first episode.
        interrupted: What to do with the episodes of an earlier, interrupted writer: `refuse`, `resume` or `discard`.
        overwrite: Replace an existing file, which stays until the new one is complete.
        estimate: Expected size, compared with the free space before anything is written.

    Raises:
        DatasetError: the file exists, another writer is at work or left episodes behind, or the disk is too small.
        ConfigError: the folder cannot be written, or `interrupted` is unknown.
    """

    def __init__(
        self,
        path: "str | os.PathLike[str]",
        header: DatasetHeader,
        *,
        interrupted: str = "refuse",
        overwrite: bool = False,
        estimate: StorageEstimate | None = None,
    ):
        choose("interrupted", interrupted, ("refuse", "resume", "discard"))
        self.path = Path(path)
        self.attempts = Attempts()
        """Attempts of this writer; those of an interrupted one that is resumed count as kept only."""
        self._header = header
        self._signature: dict[str, tuple[str, tuple[int, ...]]] | None = None
        self._entries: dict[str, EpisodeEntry] = {}
        self._finished: WrittenDataset | None = None
        self._closed = False
        if self.path.exists() and not overwrite:
            raise DatasetError(f"{self.path}: exists; overwrite=True replaces it, or choose another name")
        if estimate is not None:
            check_free_space(estimate, self.path.parent)
        self._folder = writable_folder(parts_folder(self.path))
        self._lock = WriterLock(self._folder / LOCK_NAME)
        try:
            self._take_over(interrupted)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> "DatasetWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def names(self) -> list[str]:
        """Names of the episodes that are safe on disk, in natural order."""
        return natural_order(self._entries)

    def add(self, episode: Episode) -> str:
        """Write one episode, safe on disk when this returns, and return its name.

        Raises:
            DatasetError: it breaks a rule of the schema, differs in kind from the episodes before, the disk is full, or
                the writer is closed.
        """
        self._check_open()
        name = f"demo_{max((demo_number(n) or 0 for n in self._entries), default=-1) + 1}"
        stored = stored_episode(episode, name, self._header.rate_hz)
        self._check_kind(name, stored)
        image = part_image(name, stored, self._header, compress=False)
        try:
            with whole_file(self._folder / f"{name}.hdf5") as aside:
                aside.write_bytes(image)
        except (OSError, ConfigError) as error:
            raise DatasetError(
                f"{self.path}: {name} cannot be written ({error}); the {len(self)} episodes before it are safe "
                f"in {self._folder}"
            ) from error
        self._entries[name] = EpisodeEntry(len(stored), stored.source_demo, stored.attributes)
        self.attempts.kept += 1
        return name

    def reject(self, rejection: Rejection) -> None:
        """Count an attempt that is not kept."""
        self.attempts.reject(rejection)

    def finish(self) -> WrittenDataset:
        """Publish the file and remove the parts; calling it again returns the same.

        Raises:
            DatasetError: no episode was kept (the message tells the reasons), or the disk is full.
        """
        if self._finished is None:
            self._check_open()
            if not self._entries:
                told = "; ".join(self.attempts.examples) or "no attempt was made"
                raise DatasetError(f"{self.path}: nothing to publish, {self.attempts}: {told}")
            counts = self.attempts.to_dict()
            self._finished = assemble(self.path, self._header, self._entries, self._load, counts)
            for file in part_files(self.path).values():
                file.unlink()
            self.close()
        return self._finished

    def close(self) -> None:
        """Let another writer in; episodes that are not published stay in the parts folder."""
        self._closed = True
        self._lock.release()
        # Fails while there are episodes, as it should.
        with suppress(OSError):
            self._folder.rmdir()

    def _take_over(self, interrupted: str) -> None:
        for file in self._folder.glob(".demo_*.hdf5*"):  # an episode that was being written when its writer died
            file.unlink()
        parts = part_files(self.path)
        if parts and interrupted == "refuse":
            raise DatasetError(
                f"{self.path}: an interrupted writer left {len(parts)} episodes in {self._folder}; save them with "
                f"`r2s2r validate {self.path} --recover OUT` or remove the folder"
            )
        for name in natural_order(parts):
            if interrupted == "discard":
                parts[name].unlink()
            else:
                self._resume(name)

    def _resume(self, name: str) -> None:
        with open_part(self.path, name) as (group, header):
            episode = read_episode(group, header)
        if header != replace(self._header, state_names=header.state_names):
            raise DatasetError(
                f"{self.path}: {name} of the interrupted writer was made with another header (configuration, revision "
                "or seed); resume with the same, or discard it"
            )
        self._check_kind(name, episode)
        self._entries[name] = EpisodeEntry(len(episode), episode.source_demo, episode.attributes)
        self.attempts.kept += 1

    def _check_open(self) -> None:
        if self._closed:
            raise DatasetError(f"{self.path}: this writer is closed; make another one to write more")

    def _check_kind(self, name: str, episode: Episode) -> None:
        received = signature(episode)
        if self._signature is None:
            self._signature = received
            self._header = replace(self._header, state_names=tuple(episode.state_names))
        if received != self._signature:
            key = min(key for key, _ in received.items() ^ self._signature.items())
            raise DatasetError(
                f"{name}/{key}: {received.get(key, 'missing')}, but the episodes before have "
                f"{self._signature.get(key, 'none')}; all episodes of a data set are of one kind"
            )
        if tuple(episode.state_names) != self._header.state_names:
            raise DatasetError(f"{name}: state_names {episode.state_names}, before {self._header.state_names}")

    def _load(self, name: str) -> Episode:
        with open_part(self.path, name) as (group, header):
            return read_episode(group, header)
