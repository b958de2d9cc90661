"""The side file of a recording in progress: records that are only ever appended, each with its checksum.

A process that is killed loses at most the record it was writing; everything before is read back. It is a working file
of this program, not a format for others: :mod:`r2s2r.recording.cell_log_file` turns it into the documented one.
"""

import io
import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.cell import CAMERAS, STREAMS, CellInfo, Message
from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_info import info_from_json, info_to_json
from r2s2r.recording.cell_log import CellLog, PictureStream, Segment, Stream
from r2s2r.recording.pictures import StoredPictures
from r2s2r.recording.stream_kinds import STREAM_KINDS

MAGIC = b"R2S2RJ01"
"""First bytes of the file; the digits are its version."""

_HEAD = struct.Struct("<cII")
"""Before each record: its kind, the size of its content [bytes], CRC-32 of kind and content."""

_INFO, _NUMBERS, _PICTURE, _BEGIN, _END = b"I", b"N", b"P", b"B", b"E"


class JournalWriter:
    """Appends records; each is handed to the operating system before the call returns.

    Raises:
        RecordingError: the file exists or cannot be written.
    """

    def __init__(self, path: Path, info: CellInfo, provenance: dict[str, Any]):
        try:
            self._file = open(path, "xb")  # noqa: SIM115 - lives as long as the recording
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error
        self._file.write(MAGIC)
        self._append(_INFO, json.dumps([info_to_json(info), provenance], sort_keys=True).encode())

    def numbers(self, messages: list[Message]) -> None:
        """Append messages of one stream, whose values have the stream's length."""
        rows = np.array([[message.time_s, *message.value] for message in messages], dtype="<f8")
        self._append(_NUMBERS, bytes([STREAMS.index(messages[0].stream)]) + rows.tobytes())

    def picture(self, camera: str, time_s: float, png: bytes) -> None:
        """Append an encoded picture."""
        self._append(_PICTURE, bytes([CAMERAS.index(camera)]) + struct.pack("<d", time_s) + png)

    def begin(self, name: str, time_s: float) -> None:
        """Append the begin of a segment."""
        self._append(_BEGIN, struct.pack("<d", time_s) + name.encode())

    def end(self, time_s: float) -> None:
        """Append the end of the segment that was begun last, and have all records so far written to the disk itself."""
        self._append(_END, struct.pack("<d", time_s))
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, kind: bytes, content: bytes) -> None:
        self._file.write(_HEAD.pack(kind, len(content), zlib.crc32(kind + content)) + content)
        self._file.flush()


@dataclass
class Journal:
    """What a journal holds."""

    log: CellLog
    """All whole records, finished segments only."""
    open_segment: Segment | None
    """The segment that was begun and not ended; it ends in NaN."""
    lost_bytes: int
    """What follows the last whole record: the one that was being written."""


@dataclass
class _Content:
    info: CellInfo | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, list[np.ndarray]] = field(default_factory=dict)
    picture_times: dict[str, list[float]] = field(default_factory=dict)
    picture_spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)
    begun: Segment | None = None


def is_journal(path: Path) -> bool:
    """Return whether `path` is a file that begins like a journal."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_journal(path: Path) -> Journal:
    """Return all whole records of the journal at `path`; pictures stay in the file.

    Raises:
        RecordingError: it is missing, no journal, or breaks off before the cell's description.
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if file.read(len(MAGIC)) != MAGIC:
                raise RecordingError(f"{path}: no recording in progress of this version")
            content, end = _Content(), len(MAGIC)
            for kind, start, record in _records(file):
                _take(content, kind, start, record)
                end = start + len(record)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
    if content.info is None:
        raise RecordingError(f"{path}: breaks off after {size} bytes, before the cell's description; nothing is there")
    streams = {name: _stream(rows) for name, rows in content.rows.items()}
    pictures = {
        camera: PictureStream(np.array(times), StoredPictures(path, np.array(content.picture_spans[camera])))
        for camera, times in content.picture_times.items()
    }
    log = CellLog(content.info, _ordered(streams, STREAMS), _ordered(pictures, CAMERAS), tuple(content.segments))
    log.provenance.update(content.provenance)
    return Journal(log, content.begun, size - end)


def _records(file: io.BufferedReader) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield kind, place and content of each record up to the first that is not whole."""
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        kind, size, checksum = _HEAD.unpack(head)
        start = file.tell()
        record = file.read(size)
        if len(record) < size or zlib.crc32(kind + record) != checksum:
            return
        yield kind, start, record


def _take(content: _Content, kind: bytes, start: int, record: bytes) -> None:
    if kind == _INFO:
        info, content.provenance = json.loads(record)
        content.info = info_from_json(info)
    elif kind == _NUMBERS:
        stream = STREAMS[record[0]]
        rows = np.frombuffer(record, dtype="<f8", offset=1).reshape(-1, 1 + STREAM_KINDS[stream].width)
        content.rows.setdefault(stream, []).append(rows)
    elif kind == _PICTURE:
        camera, head = CAMERAS[record[0]], 1 + 8
        content.picture_times.setdefault(camera, []).append(struct.unpack_from("<d", record, 1)[0])
        content.picture_spans.setdefault(camera, []).append((start + head, len(record) - head))
    elif kind == _BEGIN:
        content.begun = Segment(record[8:].decode(), struct.unpack_from("<d", record)[0], float("nan"))
    elif kind == _END and content.begun is not None:
        begun, content.begun = content.begun, None
        content.segments.append(Segment(begun.name, begun.start_s, struct.unpack("<d", record)[0]))


def _stream(rows: list[np.ndarray]) -> Stream:
    table = np.concatenate(rows)
    return Stream(table[:, 0].copy(), table[:, 1:].copy())


def _ordered(found: dict[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    return {name: found[name] for name in order if name in found}
