"""What an HDF5 file says about its own size, and a cut-off one as if it were whole."""

import io

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of every HDF5 file."""

_END_OF_FILE_OFFSET = {0: 40, 1: 44, 2: 28, 3: 28}
"""Where each superblock version keeps the size of the file (HDF5 File Format Specification 3.0, II.A)."""


def stored_size(start: bytes) -> int | None:
    """Return the size [bytes] that a file had when it was written, from its first 64 bytes; None: not HDF5."""
    offset = _END_OF_FILE_OFFSET.get(start[8]) if len(start) > 8 else None
    if not start.startswith(SIGNATURE) or offset is None or len(start) < offset + 8:
        return None
    return int.from_bytes(start[offset : offset + 8], "little")


class PaddedFile(io.RawIOBase):
    """A file that reads as zeros between its end and `size`."""

    def __init__(self, raw: io.BufferedReader, size: int):
        self._raw = raw
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        count = max(0, min(len(buffer), self._size - self._position))
        self._raw.seek(self._position)
        found = self._raw.read(count)
        buffer[: len(found)] = found
        buffer[len(found) : count] = bytes(count - len(found))
        self._position += count
        return count
