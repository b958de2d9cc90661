"""Saving the intact episodes of a damaged or unfinished data set."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset import handles
from r2s2r.dataset.assembly import WrittenDataset, assemble
from r2s2r.dataset.episode_group import EpisodeEntry, check_content, read_episode
from r2s2r.dataset.hdf5_file import open_damaged
from r2s2r.dataset.parts import open_part, part_files
from r2s2r.dataset.schema import DatasetHeader, natural_order, read_header

_DAMAGE = (OSError, KeyError, ValueError, RuntimeError)
"""Damaged bytes surface as whatever they break: a chunk, a name, a length, a table."""


@dataclass(frozen=True)
class Recovery:
    """Which episodes were saved and which are lost, with the reason."""

    kept: list[str]
    lost: dict[str, str]
    written: WrittenDataset


def recover(path: Path, out: Path) -> Recovery:
    """Write the episodes of `path` whose content equals their checksum to `out`; they keep their numbers.

    `path` may be cut off, or unfinished: then the parts that its writer left are taken. It is only read.

    Raises:
        DatasetError: nothing can be recovered, or `out` exists.
    """
    if out.exists():
        raise DatasetError(f"{out}: exists; recovery never replaces a file, choose another name")
    with _source(path) as (names, header, load):
        entries: dict[str, EpisodeEntry] = {}
        lost: dict[str, str] = {}
        for name in names:
            try:
                episode = load(name)
            except (*_DAMAGE, DatasetError) as error:
                lost[name] = _one_line(error)
            else:
                entries[name] = EpisodeEntry(len(episode), episode.source_demo, episode.attributes)
        if not entries:
            raise DatasetError(f"{path}: none of its {len(lost)} episodes is intact; nothing was written")
        return Recovery(list(entries), lost, assemble(out, header, entries, load))


@contextmanager
def _source(path: Path) -> Iterator[tuple[list[str], DatasetHeader, Callable[[str], Episode]]]:
    parts = {} if path.exists() else part_files(path)
    if parts:
        names = natural_order(parts)
        yield names, _first_header(path, names), lambda name: _load_part(path, name)
        return
    with open_damaged(path) as file:
        try:
            data = file["data"]
            header = read_header(data, str(path))
            names = natural_order(data)
        except _DAMAGE as error:
            reason = f"{path}: its table of contents is lost or foreign ({_one_line(error)}); nothing can be recovered"
            raise DatasetError(reason) from error
        yield names, header, lambda name: _load_checked(data[name], header)


def _first_header(path: Path, names: list[str]) -> DatasetHeader:
    errors = []
    for name in names:
        try:
            with open_part(path, name) as (_, header):
                return header
        except (DatasetError, KeyError) as error:
            errors.append(str(error))
    raise DatasetError(f"{path}: none of its {len(names)} parts can be read: {errors[0]}")


def _load_part(path: Path, name: str) -> Episode:
    with open_part(path, name) as (group, header):
        return _load_checked(group, header)


def _load_checked(group: handles.Group, header: DatasetHeader) -> Episode:
    episode = read_episode(group, header)
    check_content(group, episode)
    return episode


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
