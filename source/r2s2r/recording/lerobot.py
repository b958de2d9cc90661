"""LeRobot data sets of version 2.1 and 3.0: which episodes are whole, and their numbers by key."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.lerobot_layout import SetInfo, parquet, read_info, read_rows, table_problem
from r2s2r.recording.teleop_recording import Video

HOW_TO_REPAIR = "r2s2r validate FOLDER --recover OUT makes a sound one of what is whole"


@dataclass(frozen=True)
class LeRobotSet:
    """A data set on disk. Episodes are looked up by their number, never by their place in a file."""

    info: SetInfo
    """What it says of itself."""

    episodes: dict[int, Mapping[str, Any]]
    """Metadata of each whole episode by its number."""

    lost: dict[int, str]
    """Why an episode that was counted cannot be read, by its number."""

    notes: tuple[str, ...]
    """What else is wrong, one line each."""

    def numbers(self, index: int) -> dict[str, np.ndarray]:
        """Return the columns of an episode by name, each (T,) or (T, n), in the order of `frame_index`.

        Raises:
            RecordingError: it is lost or unknown, damaged, its rows are not those that the metadata count, a row
                belongs to another episode, or frames are missing.
        """
        row, where = self._row(index), f"{self.info.root}: episode {index}"
        columns = _columns(self.info.root / self.info.data_file(row), index, where)
        rows = len(columns["frame_index"])
        if rows != int(row["length"]):
            raise RecordingError(f"{where}: {rows} rows, its metadata count {row['length']}; {HOW_TO_REPAIR}")
        wrong = np.flatnonzero(columns["frame_index"] != np.arange(rows))
        if len(wrong):
            frame = int(columns["frame_index"][wrong[0]])
            raise RecordingError(f"{where}: frame_index is {frame} in row {int(wrong[0])}, allowed is 0, 1, 2, ...")
        return columns

    def video(self, index: int, camera: str | None = None) -> Video | None:
        """Return the pictures of an episode; None where their file is not there.

        Args:
            index: number of the episode.
            camera: which camera; None: the first one.

        Raises:
            RecordingError: the episode or the camera is unknown.
        """
        cameras = self.info.cameras
        if camera is None and not cameras:
            return None
        camera = cameras[0] if camera is None else camera
        if camera not in cameras:
            raise RecordingError(f"{self.info.root}: camera {camera!r}, allowed are {', '.join(cameras) or 'none'}")
        row = self._row(index)
        path = self.info.root / self.info.video_file(row, camera)
        if not path.is_file():
            return None
        return Video(path, camera, self.info.rate_hz, self.info.video_begin_s(row, camera))

    def task(self, index: int) -> str:
        """Return what the operator was asked to do in an episode."""
        return "; ".join(map(str, self._row(index).get("tasks") or ()))

    def _row(self, index: int) -> Mapping[str, Any]:
        if index in self.episodes:
            return self.episodes[index]
        why = self.lost.get(index, f"unknown; whole episodes are {_spans(sorted(self.episodes))}")
        raise RecordingError(f"{self.info.root}: episode {index}: {why}")


def open_lerobot(root: Path) -> LeRobotSet:
    """Return the data set in the folder `root` with the episodes that are whole.

    Raises:
        RecordingError: it is no LeRobot data set, none of its episodes is whole, or its metadata name an episode twice
            or leave a gap, so that whoever goes by rows takes the wrong video.
    """
    info = read_info(root)
    rows, notes = read_rows(info)
    indices = [int(row["episode_index"]) for row in rows]
    _check_contiguous(info, indices)
    lost = {index: "no metadata, the recording was interrupted" for index in range(len(rows), info.total_episodes)}
    if len(rows) > info.total_episodes:
        notes.append(f"info.json counts {info.total_episodes} episodes, there are {len(rows)}")
    whole, problems = {}, {}
    for index, row in zip(indices, rows, strict=True):
        file = info.data_file(row)
        if file not in problems:
            problems[file] = table_problem(root / file)
        if problems[file] is None:
            whole[index] = row
        else:
            lost[index] = f"{file}: {problems[file]}"
    if not whole:
        raise RecordingError(f"{root}: none of {len(rows)} episodes can be read; {next(iter(lost.values()))}")
    return LeRobotSet(info, whole, lost, tuple(notes))


def describe(data_set: LeRobotSet) -> tuple[str, ...]:
    """Return what a user wants to know of a data set before reading it, one line each."""
    info = data_set.info
    lines = [f"LeRobot {info.version}, {info.robot}, {info.rate_hz:g} Hz: episodes {_spans(sorted(data_set.episodes))}"]
    if data_set.lost:
        reasons = list(data_set.lost.values())
        lines.append(f"lost: {len(reasons)} episodes ({_spans(sorted(data_set.lost))}), such as {reasons[0]}")
        lines.append(f"to leave them out for good: {HOW_TO_REPAIR}")
    return (*lines, *data_set.notes)


def _check_contiguous(info: SetInfo, indices: list[int]) -> None:
    twice = sorted({index for index in indices if indices.count(index) > 1})
    gap = sorted(set(range(max(indices) + 1)) - set(indices))
    if twice:
        raise RecordingError(f"{info.root}: metadata name episodes {_spans(twice)} twice; {HOW_TO_REPAIR}")
    if gap:
        raise RecordingError(
            f"{info.root}: metadata have {len(indices)} rows, info.json counts {info.total_episodes}, and episodes "
            f"{_spans(gap)} are missing; going by rows pairs later episodes with the wrong video; {HOW_TO_REPAIR}"
        )


def _columns(path: Path, index: int, where: str) -> dict[str, np.ndarray]:
    try:
        table = parquet().read_table(path, filters=[("episode_index", "=", index)])
        columns = {name: _array(table[name]) for name in table.column_names if not _is_picture(table[name])}
    except (OSError, ValueError, KeyError, TypeError, NotImplementedError) as error:
        raise RecordingError(f"{where}: {path} is damaged ({str(error).splitlines()[0]})") from error
    missing = [name for name in ("frame_index", "timestamp") if name not in columns]
    if missing:
        raise RecordingError(f"{where}: columns missing: {', '.join(missing)}; there are {', '.join(columns)}")
    order = np.argsort(columns["frame_index"], kind="stable")
    return {name: values[order] for name, values in columns.items()}


def _is_picture(column: Any) -> bool:
    return str(column.type).startswith("struct")


def _array(column: Any) -> np.ndarray:
    return np.array(column.to_pylist())


def _spans(numbers: list[int]) -> str:
    """Return sorted numbers in words: `0-2, 10`."""
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)) or "none"
