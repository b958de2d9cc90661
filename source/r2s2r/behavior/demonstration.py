"""A demonstration: wrist and hand of a robot doing the task once, with the object's path, as replay adapts it."""

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.action import ACTION_SPACE, POLICY_RATE_HZ, check_action_space
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.files import whole_file
from r2s2r.contracts.joints import HAND_JOINTS, JointSet

FORMAT_VERSION = 2
"""Of the file; readers refuse a newer one. Version 1 had no `tracked`: all of it was."""

QUATERNION_ORDER = "xyzw"
"""Stored in every file; a file without it is refused, since a wrong guess twists the arm."""


class Phase(IntEnum):
    """Parts of one pick in the order in which they happen."""

    APPROACH = 0
    """To the moving object and riding along with it."""

    CLOSE = 1
    """Closing the hand while riding along."""

    LIFT = 2
    """Up from the belt."""

    TRANSPORT = 3
    """To above the bin."""

    RELEASE = 4
    """Opening the hand above the bin."""

    RETREAT = 5
    """Back to the ready pose."""


@dataclass(frozen=True)
class Demonstration:
    """T steps at an even rate. Poses are in the robot base; the wrist is the palm frame of the hand.

    Raises:
        ConfigError: an array has another shape, is not finite or boolean, a quaternion is not of length one, the phases
            step back.
    """

    name: str
    """Unique within a set; episodes that adapt this demonstration carry it as `source_demo`."""

    wrist_pos_b: np.ndarray
    """(T, 3) [m]."""

    wrist_quat_b: np.ndarray
    """(T, 4) xyzw."""

    hand_joint_pos: np.ndarray
    """(T, 16) targets [rad] in the order of `contracts.joints.HAND_JOINTS`."""

    phase: np.ndarray
    """(T,) int64, values of :class:`Phase`, never decreasing."""

    object_pos_b: np.ndarray
    """(T, 3) where the object is expected [m]."""

    object_yaw: np.ndarray
    """(T,) expected turn of the object about the vertical [rad]."""

    belt_velocity_b: np.ndarray
    """(3,) velocity of the belt's surface [m/s]."""

    bin_pos_b: np.ndarray
    """(3,) centre of the bin's floor [m]."""

    tracked: np.ndarray = field(default_factory=lambda: np.array(True))
    """(T,) bool, False where wrist or fingers were not measured but bridged; a single value stands for all steps."""

    rate_hz: float = POLICY_RATE_HZ
    """Steps a second."""

    provenance: dict[str, Any] = field(default_factory=dict)
    """Where it comes from; JSON-able."""

    def __post_init__(self):
        steps = len(self.phase)
        if steps < 2:
            raise ConfigError(f"demonstration {self.name}: {steps} steps, at least 2 are needed")
        if not 0.0 < self.rate_hz < float("inf"):
            raise ConfigError(f"demonstration {self.name}: rate_hz is {self.rate_hz}, it must be positive")
        if np.ndim(self.tracked) == 0:
            object.__setattr__(self, "tracked", np.full(steps, self.tracked))
        for name, shape in _shapes(steps).items():
            self._check_array(name, shape)
        if np.abs(np.linalg.norm(self.wrist_quat_b, axis=-1) - 1.0).max() > 1e-3:
            raise ConfigError(f"demonstration {self.name}: wrist_quat_b must hold unit quaternions")
        if (np.diff(self.phase) < 0).any() or not set(self.phase.tolist()) <= set(Phase):
            raise ConfigError(f"demonstration {self.name}: phase must never step back and hold only 0..5")

    def __len__(self) -> int:
        return len(self.phase)

    def span(self, phase: Phase) -> slice:
        """Return the steps of `phase`; an empty slice where it does not occur."""
        return slice(int(np.searchsorted(self.phase, phase)), int(np.searchsorted(self.phase, phase, side="right")))

    @property
    def source(self) -> str:
        """Name of the demonstration that this one adapts (`source_demo` in its provenance), else its own."""
        return str(self.provenance.get("source_demo", self.name))

    def save(self, path: Path) -> None:
        """Write the file: arrays without pickle beside a JSON header that tags what they mean."""
        with whole_file(path) as aside:
            aside.write_bytes(self.content())

    def sha256(self) -> str:
        """Return the SHA-256 of what :meth:`save` writes, as hexadecimal digits."""
        return hashlib.sha256(self.content()).hexdigest()

    def content(self) -> bytes:
        """Return what :meth:`save` writes; the same bytes for the same demonstration."""
        header = {
            "format_version": FORMAT_VERSION,
            "name": self.name,
            "action_space": ACTION_SPACE,
            "quaternion_order": QUATERNION_ORDER,
            "hand_joint_names": list(HAND_JOINTS),
            "rate_hz": self.rate_hz,
            "provenance": self.provenance,
        }
        arrays = {name: getattr(self, name) for name in _shapes(0)}
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, header=np.array(json.dumps(header, sort_keys=True)), **arrays)
        return content.getvalue()

    @staticmethod
    def load(path: Path) -> "Demonstration":
        """Read a file written by :meth:`save`; hand joints in another order are mapped by name.

        Raises:
            RecordingError: the file is missing, cut off or no demonstration.
            ConfigError: a tag is missing or means something else (action space, quaternion order, joints).
        """
        arrays = _read_arrays(path)
        header = _checked_header(arrays, path)
        if header["format_version"] == 1:
            arrays["tracked"] = np.ones(len(arrays["phase"]), dtype=np.bool_)
        missing = sorted(set(_shapes(0)) - set(arrays))
        if missing:
            raise RecordingError(f"demonstration {path}: {', '.join(missing)} missing")
        names = JointSet(tuple(header["hand_joint_names"]))
        arrays["hand_joint_pos"] = JointSet(HAND_JOINTS).reorder(arrays["hand_joint_pos"], names)
        return Demonstration(
            name=header["name"],
            rate_hz=header["rate_hz"],
            provenance=header["provenance"],
            **{name: arrays[name] for name in _shapes(0)},
        )

    def _check_array(self, name: str, shape: tuple[int, ...]) -> None:
        array = np.asarray(getattr(self, name))
        if name == "tracked" and array.dtype != bool:
            raise ConfigError(f"demonstration {self.name}: tracked has type {array.dtype}, expected bool")
        # One memory layout, so that equal demonstrations write equal bytes.
        array = array.astype(_DTYPES.get(name, np.float64), order="C", copy=False)
        if array.shape != shape:
            raise ConfigError(f"demonstration {self.name}: {name} has shape {array.shape}, expected {shape}")
        if not np.isfinite(array).all():
            row = int(np.argwhere(~np.isfinite(array))[0, 0])
            raise ConfigError(f"demonstration {self.name}: {name} is not finite in step {row}")
        object.__setattr__(self, name, array)


_DTYPES = {"phase": np.int64, "tracked": np.bool_}
"""Of the arrays that do not hold float64."""


def _shapes(steps: int) -> dict[str, tuple[int, ...]]:
    return {
        "wrist_pos_b": (steps, 3),
        "wrist_quat_b": (steps, 4),
        "hand_joint_pos": (steps, len(HAND_JOINTS)),
        "phase": (steps,),
        "object_pos_b": (steps, 3),
        "object_yaw": (steps,),
        "belt_velocity_b": (3,),
        "bin_pos_b": (3,),
        "tracked": (steps,),
    }


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise RecordingError(f"demonstration {path}: there is no such file") from error
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise RecordingError(f"demonstration {path}: damaged or no demonstration file ({error})") from error
    if "header" not in arrays:
        raise RecordingError(f"demonstration {path}: header missing")
    return arrays


def _checked_header(arrays: dict[str, np.ndarray], path: Path) -> dict[str, Any]:
    try:
        header = json.loads(str(arrays["header"]))
    except ValueError as error:
        raise RecordingError(f"demonstration {path}: the header is not JSON ({error})") from error
    for tag in (
        "format_version",
        "action_space",
        "quaternion_order",
        "hand_joint_names",
        "name",
        "rate_hz",
        "provenance",
    ):
        if tag not in header:
            raise ConfigError(f"demonstration {path}: the tag {tag} is missing; untagged files are not guessed at")
    if header["format_version"] not in range(1, FORMAT_VERSION + 1):
        raise ConfigError(f"demonstration {path}: format {header['format_version']}, this reads 1 to {FORMAT_VERSION}")
    check_action_space(header["action_space"], f"demonstration {path}")
    if header["quaternion_order"] != QUATERNION_ORDER:
        raise ConfigError(
            f"demonstration {path}: quaternion order {header['quaternion_order']!r}, expected {QUATERNION_ORDER!r}"
        )
    return header
