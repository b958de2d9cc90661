"""Small LeRobot data sets of both versions, written as LeRobot's recorder lays them out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from r2s2r.evaluation.clips import write_clip
from r2s2r.recording.g1_inspire import RIGHT_ARM, RIGHT_HAND

CAMERA = "observation.images.head"
NAMES = (*RIGHT_ARM, *RIGHT_HAND)
LENGTH = 12
RATE_HZ = 30
GREY_STEP = 30
"""Grey level of an episode's pictures is its number times this: burnt in, and far apart for the video's coding."""


def write_set(
    root: Path,
    version: str = "v2.1",
    episodes: Sequence[int] = (0, 1, 2),
    total: int | None = None,
    robot: str = "Unitree_G1_Inspire",
    stamps: np.ndarray | None = None,
    values: np.ndarray | None = None,
    length: int = LENGTH,
) -> Path:
    """Write a set whose metadata list `episodes`; an episode's first arm joint is its number / 100 throughout.

    Args:
        root: folder.
        version: `v2.1` or `v3.0`; the latter has two episodes in a data file and all pictures in one video.
        episodes: their numbers, in the order of the rows.
        total: what info.json counts; None: as many as there are.
        robot: robot_type.
        stamps: (length,) of each episode [s]; None: the declared grid.
        values: (length, 13) measured and commanded; None: as above.
        length: rows of an episode.
    """
    tables = {index: _table(k * length, index, length, stamps, values) for k, index in enumerate(episodes)}
    rows = _write_21(root, tables) if version == "v2.1" else _write_30(root, tables)
    pattern = "episode_{episode_index:06d}" if version == "v2.1" else "file-{file_index:03d}"
    chunk = "chunk-{episode_chunk:03d}" if version == "v2.1" else "chunk-{chunk_index:03d}"
    video = f"videos/{chunk}/{{video_key}}/" if version == "v2.1" else f"videos/{{video_key}}/{chunk}/"
    numbers = {"dtype": "float32", "shape": [len(NAMES)], "names": [list(NAMES)]}
    info = {
        "codebase_version": version,
        "robot_type": robot,
        "total_episodes": len(episodes) if total is None else total,
        "total_frames": length * len(episodes),
        "chunks_size": 1000,
        "fps": RATE_HZ,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": f"data/{chunk}/{pattern}.parquet",
        "video_path": f"{video}{pattern}.mp4",
        "features": {
            "observation.state": numbers,
            "action": numbers,
            CAMERA: {"dtype": "video", "shape": [16, 16, 3], "names": ["height", "width", "channels"]},
        },
    }
    (root / "meta/info.json").write_text(json.dumps(info))
    assert len(rows) == len(episodes)
    return root


def burnt_in(picture: np.ndarray) -> int:
    """Return the episode's number that a picture shows."""
    return round(float(picture.mean()) / GREY_STEP)


def data_file(root: Path, index: int) -> Path:
    """Return the table of an episode of version 2.1."""
    return root / f"data/chunk-000/episode_{index:06d}.parquet"


def cut(path: Path, share: float = 0.7) -> None:
    """Take the end of a file away, and with it the footer of a parquet file, as an exception in a recorder does."""
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])


def _table(begin: int, index: int, length: int, stamps: Any, values: Any) -> pa.Table:
    if values is None:
        values = np.zeros((length, len(NAMES)))
        values[:, 0] = index / 100.0
    if stamps is None:
        stamps = np.arange(length) / RATE_HZ
    vector = pa.list_(pa.float32(), len(NAMES))
    return pa.table(
        {
            "observation.state": pa.array(values.tolist(), vector),
            "action": pa.array(values.tolist(), vector),
            "timestamp": pa.array(stamps, pa.float32()),
            "frame_index": pa.array(np.arange(length), pa.int64()),
            "episode_index": pa.array(np.full(length, index), pa.int64()),
            "index": pa.array(begin + np.arange(length), pa.int64()),
            "task_index": pa.array(np.zeros(length), pa.int64()),
        }
    )


def _pictures(index: int, length: int) -> np.ndarray:
    return np.full((length, 16, 16, 3), index * GREY_STEP, dtype=np.uint8)


def _write_21(root: Path, tables: dict[int, pa.Table]) -> list[dict]:
    rows = []
    for index, table in tables.items():
        path = data_file(root, index)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        video = root / f"videos/chunk-000/{CAMERA}/episode_{index:06d}.mp4"
        write_clip(video, _pictures(index, len(table)), RATE_HZ)
        rows.append({"episode_index": index, "tasks": ["pick"], "length": len(table)})
    (root / "meta").mkdir(exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (root / "meta/episodes.jsonl").write_text(lines)
    stats = [{"episode_index": i, "stats": {"action": {"min": [0]}, "index": {"min": [0]}}} for i in tables]
    (root / "meta/episodes_stats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in stats))
    (root / "meta/tasks.jsonl").write_text('{"task_index": 0, "task": "pick"}\n')
    return rows


def _write_30(root: Path, tables: dict[int, pa.Table]) -> list[dict]:
    rows, begin, indices = [], 0, list(tables)
    for k, (index, table) in enumerate(tables.items()):
        row = {"episode_index": index, "tasks": ["pick"], "length": len(table)}
        row |= {"data/chunk_index": 0, "data/file_index": k // 2}
        row |= {"dataset_from_index": begin, "dataset_to_index": begin + len(table)}
        row |= {f"videos/{CAMERA}/chunk_index": 0, f"videos/{CAMERA}/file_index": 0}
        row |= {f"videos/{CAMERA}/from_timestamp": begin / RATE_HZ}
        row |= {f"videos/{CAMERA}/to_timestamp": (begin + len(table)) / RATE_HZ}
        row |= {"stats/index/min": [begin], "stats/action/min": [0.0]}
        rows.append(row)
        begin += len(table)
    for file in range((len(indices) + 1) // 2):
        path = root / f"data/chunk-000/file-{file:03d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.concat_tables([tables[i] for i in indices[2 * file : 2 * file + 2]]), path)
    write_clip(
        root / f"videos/{CAMERA}/chunk-000/file-000.mp4",
        np.concatenate([_pictures(index, len(table)) for index, table in tables.items()]),
        RATE_HZ,
    )
    path = root / "meta/episodes/chunk-000/file-000.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    pq.write_table(pa.table({"task_index": [0], "task": ["pick"]}), root / "meta/tasks.parquet")
    return rows
