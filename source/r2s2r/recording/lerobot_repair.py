"""A sound LeRobot data set out of an interrupted or patched one: whole episodes, numbered without gaps."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.files import write_json
from r2s2r.recording.lerobot_layout import (
    EPISODES_21,
    EPISODES_30,
    INFO,
    SetInfo,
    parquet,
    read_info,
    read_rows,
    table_problem,
)
from r2s2r.robot.cache import whole_folder

STATS_21 = "meta/episodes_stats.jsonl"

RENUMBERED = ("episode_index", "index")
"""Columns that are written anew, so that statistics of them no longer hold and are left out."""

_FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
_PATHS_30 = {"data_path": f"data/{_FILE}.parquet", "video_path": f"videos/{{video_key}}/{_FILE}.mp4"}


@dataclass(frozen=True)
class Repaired:
    """What became of a data set."""

    root: Path
    """Folder of the new one."""

    renumbered: dict[int, int]
    """Number of each kept episode by its old one."""

    lost: dict[int, str]
    """Why an episode was left out, by its old number."""


def repair_lerobot(root: Path, out: Path) -> Repaired:
    """Write the whole episodes of the data set in `root` to the new folder `out`, which appears whole or not at all.

    Episodes are numbered 0, 1, 2, ... in the order of their old numbers; each keeps the video that its own metadata
    name. Numbers of the rows and totals follow. Statistics of the whole set no longer hold and are left out; those of
    each episode stay, but for the columns that were renumbered.

    Raises:
        RecordingError: `out` exists, `root` is no LeRobot data set, an episode is named twice, or none is whole.
        ConfigError: the parent of `out` cannot be written.
    """
    if out.exists():
        raise RecordingError(f"{out}: exists; give the name of a new folder")
    info = read_info(root)
    rows, _ = read_rows(info)
    by_index = {int(row["episode_index"]): row for row in rows}
    if len(by_index) < len(rows):
        raise RecordingError(f"{root}: metadata name an episode twice; which is the right one cannot be told")
    tables, lost = _whole_tables(info, by_index)
    for index in sorted(set(range(info.total_episodes)) - set(by_index)):
        lost[index] = "no metadata"
    if not tables:
        raise RecordingError(f"{root}: no episode is whole; {next(iter(lost.values()), 'there is none')}")
    renumbered = {old: new for new, old in enumerate(sorted(tables))}
    with whole_folder(out) as aside:
        _write(info, aside, {old: by_index[old] for old in renumbered}, tables)
    return Repaired(out, renumbered, lost)


def _whole_tables(info: SetInfo, rows: Mapping[int, Mapping[str, Any]]) -> tuple[dict[int, Any], dict[int, str]]:
    """Return the table of each whole episode, and why the others are not."""
    tables, lost = {}, {}
    for index, row in rows.items():
        file = info.root / info.data_file(row)
        problem = table_problem(file)
        if problem is None:
            try:
                table = parquet().read_table(file, filters=[("episode_index", "=", index)])
                problem = None if len(table) == int(row["length"]) else f"{len(table)} of {row['length']} rows"
                tables |= {} if problem else {index: table}
            except (OSError, ValueError, KeyError) as error:
                problem = f"damaged ({str(error).splitlines()[0]})"
        if problem:
            lost[index] = f"{info.data_file(row)}: {problem}"
    return tables, lost


def _write(info: SetInfo, out: Path, rows: Mapping[int, Mapping[str, Any]], tables: Mapping[int, Any]) -> None:
    raw = {**info.raw, **(_PATHS_30 if info.version == "v3.0" else {})}
    target = SetInfo(out, info.version, info.rate_hz, info.robot, len(rows), raw)
    new_rows, begin, copied = [], 0, {}
    for new, (old, row) in enumerate(rows.items()):
        table = tables[old]
        new_row = _new_row(info, row, new, begin, len(table), copied)
        _write_table(table, out / target.data_file(new_row), new, begin)
        for camera in info.cameras:
            source = info.root / info.video_file(row, camera)
            if source.is_file():
                _copy(source, out / target.video_file(new_row, camera))
        new_rows.append(new_row)
        begin += len(table)
    _write_rows(info, out, new_rows)
    if info.version == "v2.1":
        _write_stats_21(info, out, list(rows))
    for file in info.root.glob("meta/tasks.*"):
        _copy(file, out / "meta" / file.name)
    write_json(out / INFO, raw | _totals(info, len(rows), begin, out))


def _new_row(
    info: SetInfo, row: Mapping[str, Any], new: int, begin: int, length: int, copied: dict[Path, int]
) -> dict[str, Any]:
    """Return an episode's metadata under its new number; `copied` gives each video file of version 3.0 its number."""
    if info.version == "v2.1":
        return {**row, "episode_index": new}
    kept = {key: value for key, value in row.items() if not key.startswith(tuple(f"stats/{c}/" for c in RENUMBERED))}
    kept |= {"episode_index": new, "dataset_from_index": begin, "dataset_to_index": begin + length}
    kept |= {"data/chunk_index": 0, "data/file_index": new}
    kept |= {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
    for camera in info.cameras:
        number = copied.setdefault(info.video_file(row, camera), len(copied))
        kept |= {f"videos/{camera}/chunk_index": 0, f"videos/{camera}/file_index": number}
    return kept


def _write_table(table: Any, path: Path, new: int, begin: int) -> None:
    import pyarrow as pa

    numbers = {"episode_index": np.full(len(table), new), "index": np.arange(begin, begin + len(table))}
    for name, values in numbers.items():
        if name in table.column_names:
            place = table.column_names.index(name)
            field = table.schema.field(place)
            table = table.set_column(place, field, pa.array(values, type=field.type))
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet().write_table(table, path)


def _write_rows(info: SetInfo, out: Path, rows: list[dict[str, Any]]) -> None:
    if info.version == "v2.1":
        _write_lines(out / EPISODES_21, rows)
        return
    import pyarrow as pa

    path = out / EPISODES_30 / f"{_FILE.format(chunk_index=0, file_index=0)}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet().write_table(pa.Table.from_pylist(rows), path)


def _write_stats_21(info: SetInfo, out: Path, kept: list[int]) -> None:
    path = info.root / STATS_21
    if not path.is_file():
        return
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
            found[int(row["episode_index"])] = row["stats"]
        except (ValueError, KeyError, TypeError):
            continue  # the last line of an interrupted recorder; its episode keeps its numbers and loses its statistics
    rows = [
        {"episode_index": new, "stats": {name: s for name, s in found[old].items() if name not in RENUMBERED}}
        for new, old in enumerate(kept)
        if old in found
    ]
    _write_lines(out / STATS_21, rows)


def _totals(info: SetInfo, episodes: int, frames: int, out: Path) -> dict[str, Any]:
    totals = {"total_episodes": episodes, "total_frames": frames, "splits": {"train": f"0:{episodes}"}}
    if info.version == "v2.1":
        totals["total_videos"] = len(list(out.glob("videos/*/*/*.mp4")))
        totals["total_chunks"] = -(-episodes // int(info.raw.get("chunks_size", 1000)))
    return totals


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
