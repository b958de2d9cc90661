"""Pictures straight from where they lie in an HDF5 file.

HDF5 inflates one picture at a time under one lock. The places of all pictures are therefore looked up once; then any
number of threads read the bytes and inflate them, for which zlib lets go of Python's lock. Pictures that are stored
otherwise (several to a chunk, other filters) are read by HDF5.
"""

import os
import threading
import zlib
from pathlib import Path

import h5py
import numpy as np

from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset import handles
from r2s2r.dataset.images import stored_image_problem

RAW, DEFLATED, OTHER = range(3)
"""How a picture is stored: its bytes, its bytes in zlib's format, in any other way."""

_NO_FILTER = 1
"""Bit 0 of a chunk's filter mask: the first filter was left out, which HDF5 does where it does not help."""


class PictureTable:
    """The pictures of one observation key, by row of a table in which episodes lie one behind the other.

    Safe to read from several threads. Takes 13 bytes of memory a picture.

    Args:
        path: The file.
        arrays: Pictures of each episode, from the file opened with h5py; it must stay open where :attr:`keeps_hdf5`.
        rows: Which rows of each episode belong to the table.

    Raises:
        DatasetError: pictures that are not uint8 (T, H, W, 3), or of several sizes.
    """

    def __init__(self, path: Path, arrays: list[handles.Array], rows: list[slice]):
        self.path = path
        self.shape = _common_shape(path, arrays)
        """Of a picture: (H, W, 3)."""
        self._nbytes = int(np.prod(self.shape))
        places = [_places(array, self._nbytes) for array in arrays]
        self._offset, self._size, self._storage = (
            np.concatenate([place[part][kept] for place, kept in zip(places, rows, strict=True)]) for part in range(3)
        )
        steps = [np.arange(len(array))[kept] for array, kept in zip(arrays, rows, strict=True)]
        self._episode = np.repeat(np.arange(len(arrays)), [len(kept) for kept in steps])
        self._step = np.concatenate(steps)
        self._names = [array.name for array in arrays]
        self.keeps_hdf5 = bool((self._storage == OTHER).any())
        """Whether some pictures are read by HDF5, one thread at a time."""
        self._arrays = arrays if self.keeps_hdf5 else []
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDONLY)

    def close(self) -> None:
        """Close the file; reading afterwards fails."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def read(self, row: int, out: np.ndarray) -> None:
        """Write the picture of `row` into `out` (H, W, 3), which must be contiguous.

        Raises:
            DatasetError: its bytes are damaged.
        """
        storage, size = self._storage[row], int(self._size[row])
        if storage == OTHER:
            with self._lock:
                self._arrays[self._episode[row]].read_direct(out, np.s_[int(self._step[row])])
            return
        stored = os.pread(self._file, size, int(self._offset[row]))
        try:
            pixels = zlib.decompress(stored, bufsize=self._nbytes) if storage == DEFLATED else stored
            out[...] = np.frombuffer(pixels, np.uint8).reshape(self.shape)
        except (zlib.error, ValueError) as error:
            where = f"{self._names[self._episode[row]]} row {int(self._step[row])}"
            raise DatasetError(
                f"{self.path}: picture {where} is damaged ({error}); r2s2r validate finds out what is left"
            ) from error


def _common_shape(path: Path, arrays: list[handles.Array]) -> tuple[int, int, int]:
    for array in arrays:
        problem = stored_image_problem(array, f"{path}: {array.name}")
        if problem is not None:
            raise DatasetError(str(problem))
    shapes = {array.shape[1:] for array in arrays}
    if len(shapes) != 1:
        raise DatasetError(f"{path}: pictures of several sizes: {', '.join(map(str, sorted(shapes)))}; one is allowed")
    return shapes.pop()


def _places(array: handles.Array, nbytes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return offset, size [bytes] and storage of each of the T pictures of an episode, (T,) each."""
    count = len(array)
    offset, size = np.zeros(count, np.int64), np.full(count, nbytes, np.int32)
    storage = np.full(count, OTHER, np.uint8)
    if array.is_virtual or array.external or array.file.userblock_size:
        return offset, size, storage
    if array.chunks is None:
        start = array.id.get_offset()
        if start is not None:
            offset[:], storage[:] = start + nbytes * np.arange(count), RAW
        return offset, size, storage
    pipeline = array.id.get_create_plist()
    filters = [pipeline.get_filter(i)[0] for i in range(pipeline.get_nfilters())]
    if array.chunks != (1, *array.shape[1:]) or filters not in ([], [h5py.h5z.FILTER_DEFLATE]):
        return offset, size, storage

    def note(chunk: h5py.h5d.StoreInfo) -> None:
        step = chunk.chunk_offset[0]
        offset[step], size[step] = chunk.byte_offset, chunk.size
        storage[step] = DEFLATED if filters and not chunk.filter_mask & _NO_FILTER else RAW

    array.id.chunk_iter(note)  # pictures that were never written stay with HDF5, which knows their fill value
    return offset, size, storage
