"""Opening HDF5 files: one pinned format for writing, no locks for reading, clear errors, and damaged files."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.hdf5 import PaddedFile, stored_size
from r2s2r.dataset import handles

LIBVER = ("v110", "v110")
"""Bounds of the file format: the oldest with virtual data sets, fixed so that a newer library writes the same bytes."""


@contextmanager
def new_file(path: Path) -> Iterator[tuple[handles.File, Callable[[], None]]]:
    """Yield a new file at `path`, replacing what is there, and a function that raises if the disk has refused a write.

    HDF5 cannot close a file that it failed to write to, and would hold it, and its space, until the process ends; so
    a refusal is kept from it and raised by that function, at the latest when the file is closed.

    Raises:
        OSError: the disk refuses.
    """
    with open(path, "w+b", buffering=0) as raw, _RefusalKeeper(raw) as keeper:
        try:
            with h5py.File(keeper, "w", libver=LIBVER, track_order=False) as file:
                yield file, keeper.raise_refusal
        finally:
            keeper.raise_refusal()


def new_image(fill: Callable[[handles.File], None]) -> bytes:
    """Return the bytes of a new file that `fill` has written to, without touching the disk."""
    with io.BytesIO() as memory:
        with h5py.File(memory, "w", libver=LIBVER, track_order=False) as file:
            fill(file)
        return memory.getvalue()


@contextmanager
def open_for_reading(path: Path) -> Iterator[handles.File]:
    """Yield the open file.

    Raises:
        DatasetError: it is missing, not HDF5, or cut off.
    """
    check_complete(path)
    try:
        # Files appear whole, so that nothing is gained by a lock, which network disks may not have.
        file = h5py.File(path, "r", locking=False)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be opened as HDF5 ({_first_line(error)})") from error
    with file:
        yield file


@contextmanager
def open_damaged(path: Path) -> Iterator[handles.File]:
    """Yield the open file, a cut-off one as if the missing bytes were zeros; the file itself is not touched.

    Raises:
        DatasetError: it is missing, not HDF5, or its table of contents is lost.
    """
    present, stored = file_sizes(path)
    if present >= stored:
        with open_for_reading(path) as file:
            yield file
        return
    with open(path, "rb") as raw, PaddedFile(raw, stored) as padded:
        try:
            file = h5py.File(padded, "r")
        except OSError as error:
            raise DatasetError(
                f"{path}: cut off at {present} of {stored} bytes, and its table of contents is lost "
                f"({_first_line(error)}); no episode can be recovered"
            ) from error
        with file:
            yield file


def check_complete(path: Path) -> None:
    """Refuse a file that is missing, not HDF5 or cut off.

    Raises:
        DatasetError: with the reason.
    """
    present, stored = file_sizes(path)
    if present < stored:
        raise DatasetError(
            f"{path}: cut off at {present} of {stored} bytes; "
            f"save its intact episodes with: r2s2r validate {path} --recover OUT"
        )


def file_sizes(path: Path) -> tuple[int, int]:
    """Return how many bytes the file has, and how many it had when it was written.

    Raises:
        DatasetError: it is missing or not HDF5.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(64)
            present = os.fstat(file.fileno()).st_size
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: no such file; give the path of a data set") from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    stored = stored_size(start)
    if stored is None:
        raise DatasetError(f"{path}: not an HDF5 file ({present} bytes); give the path of a data set")
    return present, stored


class _RefusalKeeper(io.RawIOBase):
    """A file that remembers the first error of writing instead of raising it."""

    def __init__(self, raw: io.FileIO):
        self._raw = raw
        self._refusal: OSError | None = None

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def readinto(self, buffer: "bytearray | memoryview") -> int | None:  # type: ignore[override]
        return self._raw.readinto(buffer)

    def truncate(self, size: int | None = None) -> int:
        return self._attempt(lambda: self._raw.truncate(size), size or 0)

    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]
        return self._attempt(lambda: self._write_all(memoryview(data)), len(data))

    def raise_refusal(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    def _write_all(self, data: memoryview) -> int:
        written = 0
        # The system may take a part only, and says why with the next attempt.
        while written < len(data):
            written += self._raw.write(data[written:])
        return written

    def _attempt(self, change: Callable[[], int], count: int) -> int:
        try:
            return change() if self._refusal is None else count
        except OSError as error:
            self._refusal = error
            return count


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
