"""Checkpoints: folders that appear whole, hold no pickles and say what they are for.

::

    OUT/checkpoints/step_000000500/
        config.json          format version, task, algorithm, normaliser, provenance, step, SHA-256 of the other files
        weights.safetensors  weights for use: the moving average of the trained ones
        training.pt          trained weights and state of the optimiser, to go on from (read with `weights_only`)
"""

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from pickle import UnpicklingError  # what torch raises where it would have to unpickle
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from r2s2r.contracts.action import ACTION_NAMES, ACTION_SPACE, ROTATION_LAYOUT
from r2s2r.contracts.cell import HAND_VARIANTS
from r2s2r.contracts.errors import CheckpointError
from r2s2r.contracts.files import file_sha256
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.robot.cache import whole_folder

FORMAT_VERSION = 2
CONFIG, WEIGHTS, TRAINING = "config.json", "weights.safetensors", "training.pt"
CHECKPOINTS = "checkpoints"
"""Folder of a training run that holds its checkpoints."""


@dataclass(frozen=True)
class PolicyTask:
    """What the numbers of a policy mean."""

    rate_hz: float
    """Observations and actions a second."""
    picture_size: int
    """Width and height of each picture [px]."""
    picture_keys: tuple[str, ...]
    """Observation keys that hold pictures."""
    hand_variant: str
    """One of `contracts.cell.HAND_VARIANTS`."""
    action_space: str = ACTION_SPACE
    rotation_layout: str = ROTATION_LAYOUT
    joint_names: tuple[str, ...] = ROBOT_JOINTS
    """Order of `joint_pos` (23)."""
    action_names: tuple[str, ...] = ACTION_NAMES
    """Order of the action numbers (25)."""

    @classmethod
    def from_dict(cls, content: dict[str, Any], where: str) -> "PolicyTask":
        """Return the task stored in a checkpoint.

        Raises:
            CheckpointError: an entry is missing, or the numbers mean something else than in this program.
        """
        names = {field.name for field in fields(cls)}
        if set(content) != names:
            odd = ", ".join(sorted(set(content) ^ names))
            raise CheckpointError(f"{where}: task entries {odd} missing or unknown; a checkpoint of another program")
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in content.items()}
        task = cls(**values)
        expected = {"action_space": ACTION_SPACE, "rotation_layout": ROTATION_LAYOUT}
        expected |= {"joint_names": ROBOT_JOINTS, "action_names": ACTION_NAMES}
        for name, value in expected.items():
            if getattr(task, name) != value:
                raise CheckpointError(
                    f"{where}: trained for another task: {name} {_brief(getattr(task, name))}, here {_brief(value)}"
                )
        if task.hand_variant not in HAND_VARIANTS:
            raise CheckpointError(
                f"{where}: trained for another task: hand {task.hand_variant!r}, here {', '.join(HAND_VARIANTS)}"
            )
        return task


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose files are there and whole; tensors are read when asked for."""

    folder: Path
    task: PolicyTask
    algorithm: dict[str, Any]
    """robomimic's configuration of the algorithm, as JSON-able values."""
    normaliser: dict[str, Any]
    """From `PolicyNumbers.to_dict`."""
    provenance: dict[str, Any]
    """Settings, data, seed, code and versions that it was trained with."""
    step: int
    """Training steps made."""

    def weights(self) -> dict[str, torch.Tensor]:
        """Return the weights for use by their name, on the CPU.

        Raises:
            CheckpointError: the file does not hold what it should.
        """
        try:
            return load_tensors((self.folder / WEIGHTS).read_bytes())
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"{self.folder}: {WEIGHTS} cannot be read: {error}") from error

    def training(self) -> dict[str, Any]:
        """Return what training goes on from.

        Raises:
            CheckpointError: the file does not hold what it should; what would have to be unpickled is refused.
        """
        try:
            return torch.load(self.folder / TRAINING, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, UnpicklingError) as error:
            reason = str(error).splitlines()[0]
            raise CheckpointError(f"{self.folder}: {TRAINING} cannot be read: {reason}") from error


def write_checkpoint(checkpoint: Checkpoint, weights: dict[str, torch.Tensor], training: dict[str, Any]) -> Path:
    """Write a checkpoint so that its folder appears whole or not at all, and return the folder.

    Args:
        checkpoint: what it is; `folder` is where it goes.
        weights: weights for use by their name.
        training: tensors, numbers, strings and containers of them.
    """
    with whole_folder(checkpoint.folder) as aside:
        # robomimic's networks name some tensors twice; the format wants each with memory of its own.
        plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in weights.items()}
        (aside / WEIGHTS).write_bytes(save_tensors(plain))
        torch.save(training, aside / TRAINING)
        content = {
            "format_version": FORMAT_VERSION,
            "task": asdict(checkpoint.task),
            "algorithm": checkpoint.algorithm,
            "normaliser": checkpoint.normaliser,
            "provenance": checkpoint.provenance,
            "step": checkpoint.step,
            "files": {name: file_sha256(aside / name) for name in (WEIGHTS, TRAINING)},
        }
        content["content_sha256"] = _digest(content)
        (aside / CONFIG).write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        for file in aside.iterdir():
            _sync(file)
        _sync(aside)
    return checkpoint.folder


def read_checkpoint(folder: "str | os.PathLike[str]") -> Checkpoint:
    """Return a checkpoint, or the newest one of a training run.

    Args:
        folder: a checkpoint's folder, or that of the run that wrote it.

    Raises:
        CheckpointError: it is missing, damaged, of another version or of another task.
    """
    folder = Path(folder)
    if not (folder / CONFIG).exists():
        found = checkpoint_folders(folder)
        if not found:
            raise CheckpointError(
                f"{folder}: no checkpoint there; give the folder of a training run or of a checkpoint"
            )
        folder = found[-1]
    content = _config(folder)
    for name, expected in content["files"].items():
        try:
            received = file_sha256(folder / name)
        except OSError as error:
            raise CheckpointError(f"{folder}: {name} cannot be read ({error.strerror}); take another copy") from error
        if received != expected:
            raise CheckpointError(f"{folder}: {name} is damaged, its SHA-256 is not the one in {CONFIG}")
    return Checkpoint(
        folder=folder,
        task=PolicyTask.from_dict(content["task"], str(folder)),
        algorithm=content["algorithm"],
        normaliser=content["normaliser"],
        provenance=content["provenance"],
        step=content["step"],
    )


def checkpoint_folders(run: Path) -> list[Path]:
    """Return the checkpoints of the training run `run`, oldest first; they are whole."""
    return sorted((run / CHECKPOINTS).glob("step_*"))


def checkpoint_folder(run: Path, step: int) -> Path:
    """Return where the training run `run` keeps its checkpoint of `step`."""
    return run / CHECKPOINTS / f"step_{step:09d}"


def prune(run: Path, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints of `run`, and what a killed writer left behind."""
    folders = checkpoint_folders(run)
    for folder in [*folders[: max(0, len(folders) - keep)], *(run / CHECKPOINTS).glob(".step_*")]:
        # Renamed first: a removal that is interrupted must not leave a checkpoint that looks whole.
        hidden = folder if folder.name.startswith(".") else folder.rename(folder.with_name(f".{folder.name}"))
        shutil.rmtree(hidden)


def _config(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder}: {CONFIG} is damaged: {error}") from error
    if not isinstance(content, dict) or "format_version" not in content:
        raise CheckpointError(f"{folder}: {CONFIG} has no format_version; not a checkpoint of this program")
    if content["format_version"] != FORMAT_VERSION:
        version = content["format_version"]
        raise CheckpointError(f"{folder}: format version {version!r}, this program reads {FORMAT_VERSION}")
    claimed = content.pop("content_sha256", None)
    if claimed != _digest(content):
        raise CheckpointError(f"{folder}: {CONFIG} is damaged, its SHA-256 is not the one it states")
    return content


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _brief(value: Any) -> str:
    text = str(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
