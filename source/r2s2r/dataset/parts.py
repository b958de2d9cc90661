"""A data set that is being written: one small file an episode in the folder `FILE.parts`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from r2s2r.contracts.episode import Episode
from r2s2r.dataset import handles
from r2s2r.dataset.episode_group import write_episode
from r2s2r.dataset.hdf5_file import new_image, open_for_reading
from r2s2r.dataset.schema import DatasetHeader, demo_number, read_header, write_header

PARTS_SUFFIX = ".parts"


def parts_folder(path: Path) -> Path:
    """Return the folder in which the data set `path` lies while it is being written."""
    return path.with_name(path.name + PARTS_SUFFIX)


def part_files(path: Path) -> dict[str, Path]:
    """Return the files of the finished episodes of the data set `path`, by episode name, unordered."""
    files = parts_folder(path).glob("demo_*.hdf5")
    return {file.stem: file for file in files if demo_number(file.stem) is not None}


@contextmanager
def open_part(path: Path, name: str) -> Iterator[tuple[handles.Group, DatasetHeader]]:
    """Yield the group of one finished episode and its header.

    Raises:
        DatasetError: the part is missing or damaged.
    """
    file_path = parts_folder(path) / f"{name}.hdf5"
    with open_for_reading(file_path) as file:
        yield file[f"data/{name}"], read_header(file["data"], str(file_path))


def part_image(name: str, episode: Episode, header: DatasetHeader, compress: bool) -> bytes:
    """Return the bytes of a data set that holds `episode` alone, as `stored_episode` gave it."""

    def fill(file: handles.File) -> None:
        data = file.create_group("data", track_order=False)
        write_header(data, header)
        data.attrs["total"] = len(episode)
        write_episode(data.create_group(name, track_order=False), episode, compress)

    return new_image(fill)
