"""A data set of ours as a LeRobot one of version 2.1: a table and a video an episode, metadata as lines of JSON.

::

    meta/info.json, episodes.jsonl, episodes_stats.jsonl, tasks.jsonl   [modality.json]
    data/chunk-000/episode_000000.parquet
    videos/chunk-000/observation.images.head/episode_000000.mp4
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.action import ACTION_SPACE, ROTATION_LAYOUT, WRIST_LINK, WRIST_ROT6D
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.files import write_json
from r2s2r.contracts.fixed_turn import check_same_frames
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.transforms import matrix_from_rot6d
from r2s2r.control.kinematics import SerialChain
from r2s2r.dataset.export_target import ACTIONS, JOINTS, ExportTarget, Slices, modality
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.schema import QUATERNION_ORDER, UNITS
from r2s2r.recording.lerobot_layout import EPISODES_21, INFO, VIDEO, parquet
from r2s2r.recording.lerobot_repair import STATS_21
from r2s2r.robot.cache import whole_folder

ROBOT = "xarm7_allegro"
"""`robot_type`."""

STATE, ACTION = "observation.state", "action"

CHUNK = 1000
"""Episodes of a folder."""

FRAME_EPISODES = 5
"""Episodes whose orientations are compared with the joints' before anything is written."""

_EPISODE = "chunk-{episode_chunk:03d}/{video_key}episode_{episode_index:06d}"

VideoWriter = Callable[[Path, np.ndarray, float], Any]
"""Writes pictures (T, H, W, 3) uint8 at so many a second."""


@dataclass(frozen=True)
class LeRobotExport:
    """How a data set is exported."""

    target: ExportTarget
    """Whom it is for."""
    actions: str
    """Which action, see :data:`r2s2r.dataset.export_target.ACTIONS`."""
    chain: SerialChain
    """Arm from base to wrist, to make sure that orientations are those of the wrist."""
    write_video: VideoWriter
    """Writes the pictures of an episode."""

    def write(self, reader: DatasetReader, out: Path) -> dict[str, Any]:
        """Write the folder `out`, whole or not at all, and return what is in it.

        Raises:
            DatasetError: there is something already, there are no episodes, or numbers are too wide for the target.
            ConfigError: orientations are those of another frame than the wrist's.
        """
        state, action = JOINTS, ACTIONS[self.actions]
        self.target.check_width(STATE, state)
        self.target.check_width(ACTION, action)
        if out.exists():
            raise DatasetError(f"{out}: exists; choose another folder")
        if not reader.numbers:
            raise DatasetError(f"{reader.path}: no episodes")
        self._check_frames(reader)
        with whole_folder(out) as aside:
            return self._write(reader, aside, state, action)

    def _check_frames(self, reader: DatasetReader) -> None:
        """Compare commanded orientations with those that the arm came to one step later."""
        commanded, reached = [], []
        for number in reader.numbers[:FRAME_EPISODES]:
            episode = reader[number]
            commanded.append(matrix_from_rot6d(episode.actions[:-1, WRIST_ROT6D].astype(float)))
            arm = episode.obs["joint_pos"][1:, : len(ARM_JOINTS)].astype(float)
            reached.append(self.chain.wrist_pose(arm)[:, :3, :3])
        check_same_frames(np.concatenate(reached), np.concatenate(commanded), f"{reader.path}: actions")

    def _write(self, reader: DatasetReader, out: Path, state: Slices, action: Slices) -> dict[str, Any]:
        rows, statistics, tasks, total, sizes = [], [], {}, 0, {}
        for index, episode in enumerate(reader):
            task = _task(episode)
            number = tasks.setdefault(task, len(tasks))
            columns = self._columns(episode) | _counters(len(episode), index, total, number, reader.header.rate_hz)
            _write_table(_path(out, "data", index, "", "parquet"), columns)
            pictures = {f"observation.images.{key[:-4]}": episode.obs[key] for key in _cameras(episode)}
            for feature, frames in pictures.items():
                path = _path(out, "videos", index, f"{feature}/", "mp4")
                path.parent.mkdir(parents=True, exist_ok=True)
                self.write_video(path, frames, reader.header.rate_hz)
            sizes = {feature: frames.shape[1:] for feature, frames in pictures.items()}
            rows.append({"episode_index": index, "tasks": [task], "length": len(episode)})
            statistics.append({"episode_index": index, "stats": _statistics(columns | pictures)})
            total += len(episode)
        info = self._info(reader, state, action, sizes, {"episodes": len(rows), "frames": total, "tasks": len(tasks)})
        write_json(out / INFO, info)
        _write_lines(out / EPISODES_21, rows)
        _write_lines(out / STATS_21, statistics)
        _write_lines(out / "meta/tasks.jsonl", [{"task_index": k, "task": task} for task, k in tasks.items()])
        if self.target.modality:
            cameras = {feature.rpartition(".")[2]: feature for feature in sizes}
            write_json(out / "meta/modality.json", modality(state, action, cameras))
        return {"episodes": len(rows), "frames": total, "tasks": list(tasks), "cameras": list(sizes)}

    def _columns(self, episode: Episode) -> dict[str, np.ndarray]:
        acted = episode.actions if self.actions == "wrist" else episode.commands["joint_pos_target"]
        return {STATE: episode.obs["joint_pos"].astype(np.float32), ACTION: acted.astype(np.float32)}

    def _info(
        self, reader: DatasetReader, state: Slices, action: Slices, sizes: dict[str, Any], counts: dict[str, int]
    ) -> dict[str, Any]:
        rate_hz = reader.header.rate_hz
        if rate_hz != int(rate_hz):
            raise DatasetError(f"{reader.path}: {rate_hz} rows a second, LeRobot's sets have a whole number")
        numbers = {
            feature: {"dtype": "float32", "shape": [len(slices.names)], "names": list(slices.names)}
            for feature, slices in ((STATE, state), (ACTION, action))
        }
        videos = {
            feature: {
                "dtype": VIDEO,
                "shape": list(shape),
                "names": ["height", "width", "channels"],
                "info": {"video.fps": rate_hz, "video.codec": "h264", "video.pix_fmt": "yuv420p", "has_audio": False},
            }
            for feature, shape in sizes.items()
        }
        indices = ("frame_index", "episode_index", "index", "task_index")
        counters = {"timestamp": {"dtype": "float32", "shape": [1], "names": None}}
        counters |= {name: {"dtype": "int64", "shape": [1], "names": None} for name in indices}
        return {
            "codebase_version": self.target.version,
            "robot_type": ROBOT,
            "total_episodes": counts["episodes"],
            "total_frames": counts["frames"],
            "total_tasks": counts["tasks"],
            "total_videos": counts["episodes"] * len(sizes),
            "total_chunks": -(-counts["episodes"] // CHUNK),
            "chunks_size": CHUNK,
            "fps": int(rate_hz),
            "splits": {"train": f"0:{counts['episodes']}"},
            "data_path": "data/" + _EPISODE.replace("{video_key}", "") + ".parquet",
            "video_path": "videos/" + _EPISODE.replace("{video_key}", "{video_key}/") + ".mp4",
            "features": numbers | videos | counters,
            # What the numbers mean; LeRobot ignores entries that it does not know.
            "r2s2r": {
                "action": ACTION_SPACE if self.actions == "wrist" else "joint_pos_target",
                "rotation_layout": ROTATION_LAYOUT,
                "rotation_frame": WRIST_LINK,
                "quaternion_order": QUATERNION_ORDER,
                "units": UNITS,
                "provenance": reader.header.provenance,
            },
        }


def _cameras(episode: Episode) -> list[str]:
    return sorted(key for key, values in episode.obs.items() if values.ndim == 4 and key.endswith("_rgb"))


def _task(episode: Episode) -> str:
    """Return what was asked for, in words."""
    return f"put the {episode.attributes.get('object_class', 'target')} object into its bin"


def _counters(length: int, index: int, begin: int, task: int, rate_hz: float) -> dict[str, np.ndarray]:
    return {
        "timestamp": (np.arange(length) / rate_hz).astype(np.float32),
        "frame_index": np.arange(length),
        "episode_index": np.full(length, index),
        "index": begin + np.arange(length),
        "task_index": np.full(length, task),
    }


def _path(out: Path, folder: str, index: int, feature: str, ending: str) -> Path:
    name = _EPISODE.format(episode_chunk=index // CHUNK, episode_index=index, video_key=feature)
    return out / folder / f"{name}.{ending}"


def _write_table(path: Path, columns: dict[str, np.ndarray]) -> None:
    import pyarrow as pa  # takes a while to load

    arrays = {
        name: pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
        if values.ndim == 2
        else pa.array(values)
        for name, values in columns.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet().write_table(pa.table(arrays), path)


def _statistics(columns: dict[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Return smallest, largest, mean, deviation and count of each feature; of pictures by channel, from 0 to 1."""
    found = {}
    for name, values in columns.items():
        rows = values.astype(np.float64)
        axes: tuple[int, ...] = (0,)
        if rows.ndim == 4:
            rows, axes = rows / 255.0, (0, 1, 2)
        shape = (-1, 1, 1) if rows.ndim == 4 else (-1,)
        found[name] = {
            key: np.reshape(reduce(rows, axis=axes), shape).tolist()
            for key, reduce in (("min", np.min), ("max", np.max), ("mean", np.mean), ("std", np.std))
        } | {"count": [len(values)]}
    return found


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(_lines(rows)), encoding="utf-8")


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    return (json.dumps(row) + "\n" for row in rows)
