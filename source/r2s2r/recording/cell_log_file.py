"""Cell logs on disk: HDF5 as docs/recording-format.md specifies it, written so that an interruption loses nothing."""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from r2s2r.contracts.cell import CAMERAS, STREAMS, CellInfo, Message, Picture
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.files import writable_folder
from r2s2r.recording.cell_log import CellLog
from r2s2r.recording.cell_log_hdf5 import FORMAT, check_segment_name, read_hdf5, recover_hdf5, write_hdf5
from r2s2r.recording.journal import JournalWriter, is_journal, read_journal
from r2s2r.recording.pictures import encode
from r2s2r.recording.stream_kinds import STREAM_KINDS

_LOG = logging.getLogger(__name__)


def partial_path(path: "str | os.PathLike[str]") -> Path:
    """Return the side file in which a recording to `path` collects until it is finished."""
    path = Path(path)
    return path.with_name(path.name + ".partial")


class CellLogWriter:
    """Records into a log; a context manager that finishes when its block succeeds.

    What is appended goes to the side file `NAME.partial` and has left the process when the call returns, so that
    whatever ends the process loses at most the message that was being written. :meth:`finish` makes `NAME` of it, which
    appears whole or not at all, and removes it. After an interruption :func:`recover_cell_log` reads it.

    Args:
        path: The log to write.
        info: Data sheets and settings of the cell.
        provenance: Where the recording comes from; plain JSON without clock time or host name.
        overwrite: Replace an existing log, and throw away what an interrupted recording left.

    Raises:
        RecordingError: the log exists, or an interrupted recording does.
        ConfigError: the folder cannot be written.
    """

    def __init__(
        self,
        path: "str | os.PathLike[str]",
        info: CellInfo,
        provenance: dict[str, Any] | None = None,
        *,
        overwrite: bool = False,
    ):
        self.path = Path(path)
        self._partial = partial_path(path)
        self._segment: str | None = None
        self._finished = False
        writable_folder(self.path.parent)
        if overwrite:
            self._partial.unlink(missing_ok=True)
        elif self.path.exists():
            raise RecordingError(f"{self.path}: exists; overwrite=True replaces it, or choose another name")
        elif self._partial.exists():
            raise RecordingError(f"{self._partial}: an interrupted recording is there; {_HOW_TO_RECOVER}, or remove it")
        self._journal = JournalWriter(self._partial, info, provenance or {})

    def __enter__(self) -> "CellLogWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
            return
        self._journal.close()
        _LOG.warning("%s: interrupted; what was recorded is in %s, %s", self.path, self._partial, _HOW_TO_RECOVER)

    def append(self, messages: Iterable[Message]) -> None:
        """Append messages, each stream in the order of its stamps.

        Raises:
            RecordingError: a stream is unknown, or a message has not its stream's number of values.
        """
        by_stream = sorted(messages, key=lambda message: message.stream)  # stable: keeps the order in a stream
        for stream, group in groupby(by_stream, key=lambda message: message.stream):
            if stream not in STREAM_KINDS:
                raise RecordingError(f"message of stream {stream!r}; allowed are {', '.join(STREAMS)}")
            several, width = list(group), STREAM_KINDS[stream].width
            shapes = {np.shape(message.value) for message in several} - {(width,)}
            if shapes:
                raise RecordingError(f"message of {stream}: value of shape {shapes.pop()}, allowed is ({width},)")
            self._journal.numbers(several)

    def append_picture(self, picture: Picture) -> None:
        """Append a picture, each camera in the order of its stamps.

        Raises:
            RecordingError: the camera is unknown, or the picture has another shape or type.
        """
        if picture.camera not in CAMERAS:
            raise RecordingError(f"picture of camera {picture.camera!r}; allowed are {', '.join(CAMERAS)}")
        self._journal.picture(picture.camera, picture.time_s, encode(picture.rgb))

    def begin_segment(self, name: str, time_s: float) -> None:
        """Begin a segment at the host time `time_s` [s].

        Raises:
            RecordingError: the one before has not ended, or the name is empty or too long.
        """
        if self._segment is not None:
            raise RecordingError(f"segment {name!r} begins before {self._segment!r} has ended; they follow one another")
        self._segment = check_segment_name(name)
        self._journal.begin(name, time_s)

    def end_segment(self, time_s: float) -> None:
        """End the segment that was begun last at the host time `time_s` [s].

        Raises:
            RecordingError: none was begun.
        """
        if self._segment is None:
            raise RecordingError("a segment ends that was not begun")
        self._segment = None
        self._journal.end(time_s)

    def finish(self) -> None:
        """Write the log and remove the side file. A second call does nothing.

        Raises:
            RecordingError: a segment has not ended, or the disk is full; what was recorded stays in the side file.
        """
        if self._finished:
            return
        self._journal.close()
        if self._segment is not None:
            raise RecordingError(
                f"{self.path}: segment {self._segment!r} has no end; what was recorded is in {self._partial}, "
                f"{_HOW_TO_RECOVER}"
            )
        write_cell_log(self.path, read_journal(self._partial).log, overwrite=True)
        self._partial.unlink()
        self._finished = True


@dataclass(frozen=True)
class RecoveredLog:
    """What could be read of an interrupted or damaged log."""

    log: CellLog
    """All that is whole."""
    notes: tuple[str, ...]
    """One line for each thing that is missing; empty for a finished log."""


def write_cell_log(path: "str | os.PathLike[str]", log: CellLog, *, overwrite: bool = False) -> None:
    """Write a log; it appears whole or not at all, and the same log gives the same bytes.

    Raises:
        RecordingError: the file exists, the disk is full, or the log holds an unknown stream or camera.
        ConfigError: the folder cannot be written.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise RecordingError(f"{path}: exists; overwrite=True replaces it, or choose another name")
    write_hdf5(path, log)


def read_cell_log(path: "str | os.PathLike[str]") -> CellLog:
    """Return the log at `path`; its pictures stay in the file until they are asked for.

    Raises:
        RecordingError: it is missing, cut off, not a cell log, of another version or convention, or its recording was
            interrupted; the message tells how much is there.
    """
    path = Path(path)
    interrupted = path if is_journal(path) else partial_path(path)
    if not path.exists() and not interrupted.exists():
        raise RecordingError(f"{path}: there is no such file")
    if is_journal(interrupted) and (interrupted == path or not path.exists()):
        raise RecordingError(f"{interrupted}: the recording was interrupted; {_extent(interrupted)}; {_HOW_TO_RECOVER}")
    with _named(path):
        return read_hdf5(path)


def recover_cell_log(path: "str | os.PathLike[str]") -> RecoveredLog:
    """Return what is whole of an interrupted recording (`NAME` or `NAME.partial`) or of a log that was cut off.

    Raises:
        RecordingError: nothing can be read.
    """
    path = Path(path)
    if not path.exists() and is_journal(partial_path(path)):
        path = partial_path(path)
    if is_journal(path):
        return _recovered_journal(path)
    if not path.exists():
        raise RecordingError(f"{path}: there is no such file, and no interrupted recording {partial_path(path).name}")
    with _named(path):
        log, notes = recover_hdf5(path)
    return RecoveredLog(log, tuple(notes))


def is_cell_log(path: "str | os.PathLike[str]") -> bool:
    """Return whether a file says that it is a cell log, finished, interrupted or cut off."""
    path = Path(path)
    if is_journal(path) or not path.exists():
        return is_journal(path) or is_journal(partial_path(path))
    try:
        with open(path, "rb") as file:
            # The format's name is an attribute of the root group, which lies at the front of a file.
            return FORMAT.encode() in file.read(1 << 20)
    except OSError:
        return False


_HOW_TO_RECOVER = "r2s2r inspect FILE --recover OUT saves it"


def _recovered_journal(path: Path) -> RecoveredLog:
    journal = read_journal(path)
    notes = [f"{path.name}: the recording was interrupted"]
    if journal.open_segment is not None:
        notes.append(
            f"segment {journal.open_segment.name!r}, begun at {journal.open_segment.start_s:.3f} s, has no end and is "
            "left out; its messages and pictures are there"
        )
    if journal.lost_bytes:
        notes.append(f"the last {journal.lost_bytes} bytes are no whole record and are lost")
    return RecoveredLog(journal.log, tuple(notes))


def _extent(path: Path) -> str:
    """Return in words what an interrupted recording holds."""
    log = read_journal(path).log
    pictures = sum(len(stream.png) for stream in log.pictures.values())
    return f"{log.duration_s:.1f} s, {len(log.segments)} whole segments and {pictures} pictures are there"


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the file's name before the message of what goes wrong inside."""
    try:
        yield
    except (RecordingError, ConfigError) as error:
        raise RecordingError(f"{path}: {error}") from error
