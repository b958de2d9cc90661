"""What was seen and done in one trial, as a file: for films and for the analysis."""

import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.action import ACTION_DIM
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.files import whole_file
from r2s2r.contracts.joints import ROBOT_JOINTS

FORMAT_VERSION = 1
"""Version of the file, in `meta`."""

_J = len(ROBOT_JOINTS)
_SHAPES: dict[str, tuple[str, tuple[int | None, ...]]] = {
    "time_s": ("f8", (None,)),
    "joint_pos": ("f4", (None, _J)),
    "actions": ("f4", (None, ACTION_DIM)),
    "target_pose_b": ("f4", (None, 7)),
    "decision_step": ("i4", (None,)),
    "start_index": ("i4", (None,)),
    "head_rgb": ("u1", (None, None, None, 3)),
    "wrist_rgb": ("u1", (None, None, None, 3)),
    "decision_joint_pos": ("f4", (None, _J)),
    "chunks": ("f4", (None, None, ACTION_DIM)),
}
"""Type and shape of each array; None is any length."""

_PER_STEP = ("time_s", "joint_pos", "actions", "target_pose_b")


@dataclass(frozen=True)
class Rollout:
    """T steps at the policy's rate and K answers of the policy.

    Row t belongs to one instant, before action t is executed. On a cell a last row follows the last action.

    Raises:
        DatasetError: an array has another type or shape than the others ask for.
    """

    time_s: np.ndarray
    """(T,) float64, on the cell's clock [s]."""
    joint_pos: np.ndarray
    """(T, 23) float32, latest reading of the encoders [rad], in the order of `ROBOT_JOINTS`."""
    actions: np.ndarray
    """(T, 25) float32, what was sent then; while the robot waits, the posture that it holds."""
    target_pose_b: np.ndarray
    """(T, 7) float32, the target in the base, position [m] and quaternion xyzw, as a person standing by sees it."""
    decision_step: np.ndarray
    """(K,) int32, step at which the policy was asked."""
    start_index: np.ndarray
    """(K,) int32, first action of the answer that was executed; -1: the answer came too late, or the trial ended."""
    head_rgb: np.ndarray
    """(K, H, W, 3) uint8, what it saw."""
    wrist_rgb: np.ndarray
    """(K, H, W, 3) uint8, likewise."""
    decision_joint_pos: np.ndarray
    """(K, 23) float32, likewise [rad]."""
    chunks: np.ndarray
    """(K, C, 25) float32, what it answered."""
    meta: dict[str, Any]
    """The trial's result (:meth:`TrialResult.to_dict`) and `success`."""

    def __post_init__(self):
        for name, (kind, shape) in _SHAPES.items():
            array = getattr(self, name)
            count = len(self.time_s if name in _PER_STEP else self.decision_step)
            wanted = (count, *shape[1:])
            fits = array.ndim == len(wanted) and all(map(_fits, wanted, array.shape))
            if array.dtype != np.dtype(kind) or not fits:
                raise DatasetError(f"rollout: {name} is {array.dtype} {array.shape}, expected {kind} {wanted}")


def _fits(wanted: int | None, length: int) -> bool:
    return wanted is None or wanted == length


def write_rollout(path: "str | os.PathLike[str]", rollout: Rollout) -> Path:
    """Write a rollout to `path`, whole, and return the path.

    Raises:
        ConfigError: the folder cannot be written.
    """
    path = Path(path)
    arrays = {name: getattr(rollout, name) for name in _SHAPES}
    meta = json.dumps({"format_version": FORMAT_VERSION, **rollout.meta}, sort_keys=True)
    with whole_file(path) as aside, open(aside, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, meta=np.array(meta), **arrays)
    return path


def read_rollout(path: "str | os.PathLike[str]") -> Rollout:
    """Read a rollout.

    Raises:
        DatasetError: the file is missing, damaged, or of another version.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            meta = json.loads(str(file["meta"]))
            arrays = {name: file[name] for name in _SHAPES}
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DatasetError(f"rollout {path}: missing or damaged ({error})") from error
    version = meta.pop("format_version", None) if isinstance(meta, dict) else None
    if version != FORMAT_VERSION:
        raise DatasetError(f"rollout {path}: format_version is {version!r}, known is {FORMAT_VERSION}")
    return Rollout(**arrays, meta=meta)


def rollout_path(folder: Path, policy: str, trial: Any) -> Path:
    """Return where the rollout of `policy` in a trial lies below the folder of an evaluation."""
    return folder / "rollouts" / policy / f"{trial}.npz"
