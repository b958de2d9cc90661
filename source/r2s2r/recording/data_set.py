"""One set of recorded files: source, licence and checksums, and whether a copy is whole."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from r2s2r.contracts.files import file_sha256


class FileState(StrEnum):
    """What was found where a file should be."""

    PRESENT = "present"
    MISSING = "missing"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class DataSet:
    """Files of one source. Paths are relative to the data folder."""

    name: str
    """Short name, also the stem of the main file where there is one file."""

    summary: str
    """What was recorded."""

    repository: str
    """GitHub owner and repository."""

    commit: str
    """Full commit that the files were taken from."""

    licence: str
    """SPDX identifier and copyright line."""

    sha256: dict[str, str]
    """SHA-256 of every file, licence texts included, by its path."""

    @property
    def url(self) -> str:
        """Address of the source at the very commit."""
        return f"https://github.com/{self.repository}/tree/{self.commit}"

    def verify(self, folder: Path, *, checksums: bool = True) -> dict[str, FileState]:
        """Return the state of each file below `folder`, by its path.

        Without `checksums` a file that exists counts as present; with them its bytes are compared.
        """
        return {path: _file_state(folder / path, digest if checksums else None) for path, digest in self.sha256.items()}


def worst(states: Iterable[FileState]) -> FileState:
    """Return damaged before missing before present: the state of a set by those of its files."""
    order = list(FileState)
    return max(states, key=order.index, default=FileState.PRESENT)


def _file_state(file: Path, digest: str | None) -> FileState:
    if not file.is_file():
        return FileState.MISSING
    if digest is not None and file_sha256(file) != digest:
        return FileState.DAMAGED
    return FileState.PRESENT
