"""The demonstrations in a data set: real or simulated episodes become a behavior with the timing that they have."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.behavior.behavior import Behavior
from r2s2r.behavior.found_behavior import behavior_from_records
from r2s2r.behavior.phases import PickRecord
from r2s2r.behavior.sorting_cell import belt_velocity, class_of
from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_POS, WRIST_ROT6D
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.files import file_sha256
from r2s2r.contracts.rejection import Rejection
from r2s2r.contracts.transforms import matrix_from_rot6d, quat_from_matrix
from r2s2r.contracts.world import OBJECT_CLASSES, CellPoses, World
from r2s2r.dataset.reader import DatasetReader


def behavior_from_dataset(path: "str | os.PathLike[str]", poses: CellPoses | None = None, **options: Any) -> Behavior:
    """Return the behavior that a data set of ours shows.

    Wrist and hand are the recorded actions. Where the privileged state holds the object's path, it is used; else the
    object is placed from the grasp. Episodes that adapt one source demonstration stay together when some are held out.

    Args:
        path: the data set.
        poses: bins and belt where the episodes do not tell them; None for the nominal cell.
        options: of :func:`~r2s2r.behavior.found_behavior.behavior_from_records`.

    Raises:
        DatasetError: the data set is missing, damaged or of another convention.
        RecordingError: no pick of some class is kept; every rejected one is told with rule, value and limit.
    """
    path, poses = Path(path), poses or World.nominal().poses
    with DatasetReader(path, pictures=False) as reader:
        return behavior_from_records(
            recorded_picks(reader, poses),
            str(path),
            provenance={"dataset": path.name, "sha256": file_sha256(path) if path.is_file() else None},
            **options,
        )


def pick_record(episode: Episode, name: str, rate_hz: float, poses: CellPoses) -> tuple[str, PickRecord | Rejection]:
    """Return the object class and the record of an episode; a failure has none.

    The arm reaches an action one step later, so each action is paired with the object of the next step. Steps in which
    the wrist was pushed on purpose count as not tracked.

    Raises:
        DatasetError: the episode's class is unknown.
    """
    pos, quat = episode.actions[:-1, WRIST_POS].astype(float), _wrist_quat(episode.actions[:-1])
    object_class = str(episode.attributes.get("object_class") or class_of(pos, poses))
    if object_class not in OBJECT_CLASSES:
        raise DatasetError(f"{name}: object_class {object_class!r}, allowed are {', '.join(OBJECT_CLASSES)}")
    if not episode.success:
        return object_class, Rejection("success", 0.0, 1.0)
    columns = {column: episode.states[1:, k].astype(float) for k, column in enumerate(episode.state_names)}
    bin_pos = _vector(columns, "target_bin_b", "xyz")
    object_pos = _object(columns, object_class, "pos_b", "xyz")
    object_quat = _object(columns, object_class, "quat_b", "xyzw")
    speed = episode.attributes.get("belt_speed")
    tracked = episode.commands.get("tracked", np.array(True)) & ~episode.commands.get("disturbed", np.array(False))
    return object_class, PickRecord(
        name=name,
        wrist_pos_b=pos,
        wrist_quat_b=quat,
        hand_joint_pos=episode.actions[:-1, HAND_JOINT_POS].astype(float),
        bin_pos_b=np.asarray(poses.bin_pos_b[object_class]) if bin_pos is None else bin_pos[0],
        rate_hz=rate_hz,
        belt_velocity_b=None if speed is None else belt_velocity(poses, float(speed)),
        object_pos_b=object_pos,
        object_yaw=None if object_quat is None else _yaw(object_quat),
        tracked=tracked if tracked.ndim == 0 else tracked[:-1],
        provenance={"source_demo": episode.source_demo, **episode.attributes},
    )


def recorded_picks(reader: DatasetReader, poses: CellPoses) -> Iterator[tuple[str, PickRecord | Rejection, str]]:
    """Yield object class, record (or why it has none) and name in the data set of every episode.

    Raises:
        DatasetError: an episode is damaged or its class is unknown.
    """
    for number in reader.numbers:
        name = f"{reader.path.stem}_demo_{number}"
        yield *pick_record(reader[number], name, reader.header.rate_hz, poses), f"demo_{number}"


def _object(columns: dict[str, np.ndarray], object_class: str, quantity: str, axes: str) -> np.ndarray | None:
    """Return the columns of the episode's object, by its class or, as cells record it, as the target."""
    known = _vector(columns, f"{object_class}_{quantity}", axes)
    return _vector(columns, f"target_{quantity}", axes) if known is None else known


def _vector(columns: dict[str, np.ndarray], quantity: str, axes: str) -> np.ndarray | None:
    """Return the state columns of `quantity` (T, n); None where they are not recorded."""
    names = [f"{quantity}.{axis}" for axis in axes]
    return np.stack([columns[name] for name in names], axis=1) if set(names) <= set(columns) else None


def _wrist_quat(actions: np.ndarray) -> np.ndarray:
    return quat_from_matrix(matrix_from_rot6d(actions[:, WRIST_ROT6D].astype(float)))


def _yaw(quat: np.ndarray) -> np.ndarray:
    """Return the turn about the vertical (T,) [rad] of orientations (T, 4), without jumps."""
    x, y, z, w = quat.T
    return np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))
