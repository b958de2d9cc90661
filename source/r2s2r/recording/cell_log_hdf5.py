"""The layout of a cell log in HDF5; docs/recording-format.md is its specification."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import R2S2RError, RecordingError
from r2s2r.contracts.files import whole_file
from r2s2r.contracts.hdf5 import PaddedFile, stored_size
from r2s2r.contracts.joints import JointSet
from r2s2r.recording.cell_info import info_from_json, info_to_json
from r2s2r.recording.cell_log import CellLog, PictureStream, Segment, Stream
from r2s2r.recording.pictures import StoredPictures, is_whole
from r2s2r.recording.stream_kinds import STREAM_KINDS

FORMAT = "r2s2r_cell_log"
"""Attribute `format` of every log."""

FORMAT_VERSION = 1
"""Attribute `format_version`; a reader knows exactly this one."""

CLOCK = "host_monotonic"
"""Attribute `clock`: all stamps are seconds on the recording host's monotonic clock."""

LOGGED = "logged_s"
"""Array that a stream or camera has where the recorder tells when it logged each row."""

MAX_NAME_BYTES = 64
"""Longest name of a segment in UTF-8 [bytes]."""

_RADIANS = {"rad": 1.0, "deg": np.pi / 180.0}
_FACTORS = {"rad": _RADIANS, "m/s": {"m/s": 1.0}}
"""By unit of a stream: the units that a file may have it in, and what turns them into ours."""

_SPARE_BYTES = 1 << 20
"""Added to the size of the numbers and pictures when the free space is looked at [bytes]."""


def write_hdf5(path: Path, log: CellLog) -> None:
    """Write `log` to `path`, whole or not at all.

    Raises:
        RecordingError: the disk is full, or the log holds an unknown stream or camera or damaged pictures.
        ConfigError: the folder cannot be written.
    """
    _check_names("stream", log.streams, STREAM_KINDS)
    _check_names("camera", log.pictures, CAMERAS)
    with whole_file(path) as aside:
        needed = _SPARE_BYTES + sum(s.time_s.nbytes + s.values.nbytes for s in log.streams.values())
        needed += sum(len(png) for pictures in log.pictures.values() for png in pictures.png)
        free = shutil.disk_usage(aside.parent).free
        if needed > free:
            raise RecordingError(f"{path}: needs {needed} bytes, {free} are free; make room or choose another disk")
        try:
            # The version of the file format is fixed, so that a newer library writes the same bytes.
            with h5py.File(aside, "w", libver=("v110", "v110"), track_order=False) as file:
                _fill(file, log)
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written ({error})") from error


def read_hdf5(path: Path) -> CellLog:
    """Return the log at `path`.

    Raises:
        RecordingError: it is damaged, no cell log, of another version or convention, or a segment has no end.
        ConfigError: joints are missing.
    """
    with _opened(path, damaged=False) as file:
        log, notes = _read(file, path, path.stat().st_size)
    if notes:
        raise RecordingError(f"{notes[0]}; `r2s2r inspect FILE --recover OUT` saves the rest")
    return log


def recover_hdf5(path: Path) -> tuple[CellLog, list[str]]:
    """Return what is whole of the log at `path`, and a line for each thing that is not.

    Raises:
        RecordingError: nothing can be read, it is no cell log, or of another version or convention.
        ConfigError: joints are missing.
    """
    with _opened(path, damaged=True) as file:
        return _read(file, path, path.stat().st_size)


def check_segment_name(name: str) -> str:
    """Return a segment's name.

    Raises:
        RecordingError: it is empty or too long.
    """
    if not 0 < len(name.encode()) <= MAX_NAME_BYTES:
        raise RecordingError(f"segment name {name!r}: allowed are 1 to {MAX_NAME_BYTES} bytes")
    return name


def _fill(file: Any, log: CellLog) -> None:
    """Write attributes and headers first and the arrays in order, so that a file that was cut off opens."""
    for name, text in (
        ("format", FORMAT),
        ("clock", CLOCK),
        ("time_unit", "s"),
        ("cell_info", info_to_json(log.info)),
        ("provenance", json.dumps(log.provenance, sort_keys=True)),
    ):
        _set_text(file, name, text)
    file.attrs["format_version"] = FORMAT_VERSION
    arrays: list[tuple[Any, np.ndarray]] = []
    names = [check_segment_name(segment.name).encode() for segment in log.segments]
    segments = file.create_group("segments")
    _declare(segments, "name", names, h5py.string_dtype("utf-8", MAX_NAME_BYTES), arrays)
    _declare(segments, "start_s", [segment.start_s for segment in log.segments], "<f8", arrays)
    _declare(segments, "end_s", [segment.end_s for segment in log.segments], "<f8", arrays)
    for name in (name for name in STREAM_KINDS if name in log.streams):
        kind, stream, group = STREAM_KINDS[name], log.streams[name], file.create_group(f"streams/{name}")
        if stream.values.shape[1] != kind.width:
            raise RecordingError(
                f"stream {name}: values of shape {stream.values.shape}, allowed are {kind.width} columns"
            )
        for attribute, text in (("names", json.dumps(kind.names)), ("unit", kind.unit), ("stamp", kind.stamp)):
            _set_text(group, attribute, text)
        _declare(group, "time_s", stream.time_s, "<f8", arrays)
        _declare(group, "values", stream.values, "<f8", arrays)
        _declare_logged(group, stream.logged_s, arrays)
    cameras = [camera for camera in CAMERAS if camera in log.pictures]
    pictures = {camera: _declare_pictures(file, camera, log.pictures[camera], arrays) for camera in cameras}
    for dataset, content in arrays:
        dataset[...] = content
    for camera, dataset in pictures.items():
        place = 0
        for png in log.pictures[camera].png:
            dataset[place : place + len(png)] = np.frombuffer(png, dtype=np.uint8)
            place += len(png)


def _declare_pictures(file: Any, camera: str, stream: PictureStream, arrays: list[tuple[Any, np.ndarray]]) -> Any:
    group = file.create_group(f"pictures/{camera}")
    for attribute, text in (("encoding", "png"), ("colour", "RGB"), ("stamp", "arrived")):
        _set_text(group, attribute, text)
    if len(stream.time_s) != len(stream.png) or not all(map(is_whole, stream.png)):
        raise RecordingError(f"pictures of {camera}: each needs one stamp and a whole PNG picture")
    end = np.cumsum([len(png) for png in stream.png], dtype=np.int64)
    _declare(group, "time_s", stream.time_s, "<f8", arrays)
    _declare(group, "png_end", end, "<i8", arrays)
    _declare_logged(group, stream.logged_s, arrays)
    return group.create_dataset("png", shape=(int(end[-1]) if len(end) else 0,), dtype="u1", track_times=False)


def _declare(group: Any, name: str, content: Any, dtype: Any, arrays: list[tuple[Any, np.ndarray]]) -> None:
    array = np.array(content, dtype=dtype)
    arrays.append((group.create_dataset(name, shape=array.shape, dtype=array.dtype, track_times=False), array))


def _declare_logged(group: Any, logged_s: np.ndarray | None, arrays: list[tuple[Any, np.ndarray]]) -> None:
    if logged_s is not None:
        _declare(group, LOGGED, logged_s, "<f8", arrays)


def _set_text(owner: Any, name: str, text: str) -> None:
    # Of fixed length: text of variable length lies elsewhere in the file and is lost when its end is.
    content = text.encode()
    owner.attrs.create(name, np.array(content, dtype=h5py.string_dtype("utf-8", max(1, len(content)))))


@contextmanager
def _opened(path: Path, damaged: bool) -> Iterator[Any]:
    """Yield the open file; with `damaged` a cut-off one as if the missing bytes were zeros."""
    present, missing = 0, 0
    try:
        with open(path, "rb") as raw:
            present, stored = os.fstat(raw.fileno()).st_size, stored_size(raw.read(64))
            if stored is None:
                raise RecordingError(f"not an HDF5 file ({present} bytes); give the path of a cell log")
            missing = max(0, stored - present)
            if missing and not damaged:
                raise RecordingError(
                    f"cut off at {present} of {stored} bytes; `r2s2r inspect FILE --recover OUT` saves what is whole"
                )
            with PaddedFile(raw, present + missing) as padded, h5py.File(padded, "r") as file:
                yield file
    except R2S2RError:
        raise
    except (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError) as error:
        # What h5py and NumPy say to bytes that are not what they should be.
        if missing:
            raise RecordingError(
                f"cut off at {present} of {present + missing} bytes, too early to read anything"
            ) from error
        raise RecordingError(f"damaged, cannot be read ({type(error).__name__}: {error})") from error


def _read(file: Any, path: Path, present: int) -> tuple[CellLog, list[str]]:
    """Return the log, and a line for each thing of which a part is missing in the `present` bytes."""
    if _text(file, "format") != FORMAT:
        raise RecordingError(f"attribute 'format' is {_text(file, 'format')!r}, allowed is {FORMAT!r}; no cell log")
    version = file.attrs.get("format_version")
    if version != FORMAT_VERSION:
        raise RecordingError(f"format_version is {version}, allowed is {FORMAT_VERSION}")
    for name, allowed in (("clock", CLOCK), ("time_unit", "s")):
        if _text(file, name) != allowed:
            raise RecordingError(f"attribute {name!r} is {_text(file, name)!r}, allowed is {allowed!r}")
    notes: list[str] = []
    streams = {name: _read_stream(group, name, present, notes) for name, group in file.get("streams", {}).items()}
    pictures = {
        camera: _read_pictures(group, camera, path, present, notes)
        for camera, group in file.get("pictures", {}).items()
    }
    _check_names("camera", pictures, CAMERAS)
    segments = _read_segments(file, present, notes)
    info = info_from_json(_text(file, "cell_info") or "")
    return CellLog(info, streams, pictures, segments, json.loads(_text(file, "provenance") or "{}")), notes


def _read_stream(group: Any, name: str, present: int, notes: list[str]) -> Stream:
    _check_names("stream", (name,), STREAM_KINDS)
    kind, unit = STREAM_KINDS[name], _text(group, "unit")
    factors = _FACTORS[kind.unit]
    if unit not in factors:
        raise RecordingError(f"stream {name}: unit is {unit!r}, allowed are {', '.join(factors)}")
    names = tuple(json.loads(_text(group, "names") or "[]"))
    time_s, values, *logged = _rows(
        f"stream {name}", (group["time_s"], group["values"], *_logged(group)), present, notes
    )
    if values.ndim != 2 or values.shape[1] != len(names):
        raise RecordingError(f"stream {name}: values have shape {values.shape}, {len(names)} columns are named")
    ordered = values if names == kind.names else JointSet(kind.names).reorder(values, names)
    return Stream(time_s, ordered * factors[unit], *logged)


def _read_pictures(group: Any, camera: str, path: Path, present: int, notes: list[str]) -> PictureStream:
    if _text(group, "encoding") != "png":
        raise RecordingError(f"pictures of {camera}: encoding is {_text(group, 'encoding')!r}, allowed is 'png'")
    what = f"pictures of {camera}"
    time_s, end, *logged = _rows(what, (group["time_s"], group["png_end"], *_logged(group)), present, notes)
    start = np.concatenate([[0], end])[:-1].astype(np.int64)
    dataset = group["png"]
    whole = _whole_rows(dataset, present)
    if (end < start).any() or (len(end) and end[-1] > len(dataset)):
        raise RecordingError(f"{what}: png_end does not increase, or leads beyond the {len(dataset)} bytes of png")
    kept = int(np.searchsorted(end, whole, side="right"))
    if kept < len(end):
        notes.append(f"{what}: {kept} of {len(end)} are whole")
    spans = np.stack([start, end - start], axis=1)[:kept]
    place = dataset.id.get_offset()
    logged = [rows[:kept] for rows in logged]
    if place is not None:
        return PictureStream(time_s[:kept], StoredPictures(path, spans + (place, 0)), *logged)
    return PictureStream(time_s[:kept], tuple(dataset[a : a + size].tobytes() for a, size in spans.tolist()), *logged)


def _logged(group: Any) -> tuple[Any, ...]:
    return (group[LOGGED],) if LOGGED in group else ()


def _read_segments(file: Any, present: int, notes: list[str]) -> tuple[Segment, ...]:
    group = file["segments"]
    names, starts, ends = _rows("segments", (group["name"], group["start_s"], group["end_s"]), present, notes)
    segments = []
    for name, start, end in zip(names, starts.tolist(), ends.tolist(), strict=True):
        text = name.decode() if isinstance(name, bytes) else str(name)
        if np.isfinite(end):
            segments.append(Segment(text, start, end))
        else:
            notes.append(f"segment {text!r}, begun at {start:.3f} s, has no end and is left out")
    return tuple(segments)


def _rows(what: str, datasets: tuple[Any, ...], present: int, notes: list[str]) -> list[np.ndarray]:
    """Return the rows of arrays that belong together, as many as are whole in all of them."""
    lengths = {len(dataset) for dataset in datasets}
    if len(lengths) > 1:
        raise RecordingError(f"{what}: arrays of {', '.join(map(str, sorted(lengths)))} rows do not fit together")
    whole = min(_whole_rows(dataset, present) for dataset in datasets)
    if whole < max(lengths):
        notes.append(f"{what}: {whole} of {max(lengths)} rows are whole")
    return [dataset[:whole] for dataset in datasets]


def _whole_rows(dataset: Any, present: int) -> int:
    """Return how many rows of an array lie within the first `present` bytes of its file."""
    place = dataset.id.get_offset()
    if place is None:  # empty, or stored in chunks, of which a cut-off file cannot be trusted
        end_of_file = dataset.file.id.get_filesize()
        return len(dataset) if present >= end_of_file else 0
    row = dataset.dtype.itemsize * int(np.prod(dataset.shape[1:]))
    return min(len(dataset), max(0, present - place) // row)


def _check_names(what: str, received: Any, allowed: Any) -> None:
    unknown = [name for name in received if name not in allowed]
    if unknown:
        raise RecordingError(f"unknown {what} {', '.join(map(repr, unknown))}; allowed are {', '.join(allowed)}")


def _text(owner: Any, name: str) -> str | None:
    value = owner.attrs.get(name)
    return value.decode() if isinstance(value, bytes) else None if value is None else str(value)
