"""Reading tables of FlatBuffers, the few kinds that recordings use; every step stays inside the buffer.

The format: https://flatbuffers.dev/internals/. A table begins with a signed offset back to its vtable, which lists
where in the table each field is; a field that is absent has the offset 0 or lies beyond the vtable's end.
"""

import struct

import numpy as np


class Table:
    """A table in a buffer."""

    def __init__(self, buffer: bytes, pos: int) -> None:
        """Read the table's vtable.

        Raises:
            ValueError: it leads out of the buffer.
        """
        self._buffer, self._pos = buffer, pos
        self._vtable = pos - int(self._number("<i", pos))
        self._vtable_size, self._size = int(self._number("<H", self._vtable)), int(self._number("<H", self._vtable + 2))

    @staticmethod
    def root(buffer: bytes) -> "Table":
        """Return the buffer's root table."""
        if len(buffer) < 4:
            raise ValueError(f"{len(buffer)} bytes are no FlatBuffer")
        return Table(buffer, int(struct.unpack_from("<I", buffer, 0)[0]))

    def table(self, index: int) -> "Table | None":
        """Return the table that field `index` refers to; None where it is absent."""
        at = self._field(index, 4)
        return None if at is None else Table(self._buffer, at + int(self._number("<I", at)))

    def structs(self, index: int, dtype: np.dtype, count: int) -> np.ndarray | None:
        """Return the structs (count,) that field `index` holds in the table itself; None where it is absent."""
        at = self._field(index, dtype.itemsize * count)
        return None if at is None else np.frombuffer(self._buffer, dtype, count, at)

    def _field(self, index: int, size: int) -> int | None:
        """Return where the `size` bytes of field `index` lie."""
        entry = 4 + 2 * index
        if entry + 2 > self._vtable_size:
            return None
        offset = int(self._number("<H", self._vtable + entry))
        if not offset:
            return None
        if offset + size > self._size or self._pos + offset + size > len(self._buffer):
            raise ValueError(f"field {index} of {size} bytes leads out of its table of {self._size} bytes")
        return self._pos + offset

    def _number(self, code: str, at: int) -> int | float:
        if not 0 <= at <= len(self._buffer) - struct.calcsize(code):
            raise ValueError(f"offset {at} leads out of a buffer of {len(self._buffer)} bytes")
        return struct.unpack_from(code, self._buffer, at)[0]
