"""Recordings of named fields: arrays of an .npz file, or the same names in a JSON object. Never with pickle."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.npz_file import npz_names, read_npz


@dataclass(frozen=True)
class Fields:
    """The fields of one file, checked as they are asked for."""

    path: Path
    """For messages."""

    values: dict[str, np.ndarray]
    """By name."""

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def array(self, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """Return a field of numbers, NaN where one is missing; None in `shape` stands for any length.

        Raises:
            RecordingError: it is missing, no numbers, infinite, or of another shape.
        """
        self._require(name)
        value = self.values[name]
        try:
            value = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise RecordingError(f"{self.path}: {name} is not an array of numbers ({error})") from error
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        if value.ndim != len(shape) or any(w not in (None, g) for w, g in zip(shape, value.shape, strict=True)):
            raise RecordingError(f"{self.path}: {name} has shape {value.shape}, expected ({wanted})")
        infinite = np.argwhere(np.isinf(value))
        if len(infinite):
            raise RecordingError(f"{self.path}: {name} is infinite at {tuple(infinite[0].tolist())}")
        return value

    def times(self, name: str = "time_s") -> np.ndarray:
        """Return the stamps (T,) that every other field of frames has to agree with.

        Raises:
            RecordingError: they are missing, no numbers, or fewer than two.
        """
        value = self.array(name, (None,))
        if len(value) < 2:
            raise RecordingError(f"{self.path}: {len(value)} frames, at least 2 are needed")
        return value

    def flags(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return a field of yes and no.

        Raises:
            RecordingError: it is missing, of another shape, or holds anything but 0 and 1.
        """
        value = self.array(name, shape)
        if not np.isin(value, (0.0, 1.0)).all():
            raise RecordingError(f"{self.path}: {name} holds {_first_other(value)}, allowed are true and false")
        return value.astype(bool)

    def word(self, name: str, allowed: tuple[str, ...], why: str = "") -> str:
        """Return a field that is one of the words `allowed`.

        Args:
            name: of the field.
            allowed: what it may be.
            why: what it decides, for the message.

        Raises:
            RecordingError: it is missing or another word.
        """
        choices = ", ".join(allowed)
        if name not in self.values:
            raise RecordingError(f"{self.path}: {name} missing, allowed are {choices}" + (f"; {why}" if why else ""))
        value = self.values[name]
        if value.ndim or str(value) not in allowed:
            raise RecordingError(f"{self.path}: {name} is {_shown(value)}, allowed are {choices}")
        return str(value)

    def words(self, name: str) -> tuple[str, ...]:
        """Return a field of texts, e.g. names in order.

        Raises:
            RecordingError: it is missing or no list of texts.
        """
        self._require(name)
        value = self.values[name]
        if value.ndim != 1 or not all(isinstance(text, str) for text in value.tolist()):
            raise RecordingError(f"{self.path}: {name} is {_shown(value)}, expected a list of names")
        return tuple(value.tolist())

    def flag(self, name: str, why: str) -> bool:
        """Return a field that is yes or no; `why` says in the message what it decides.

        Raises:
            RecordingError: it is missing or anything else.
        """
        if name not in self.values:
            raise RecordingError(f"{self.path}: {name} missing, allowed are true and false; {why}")
        return bool(self.flags(name, ()))

    def _require(self, name: str) -> None:
        if name not in self.values:
            raise RecordingError(f"{self.path}: {name} missing; the file holds {', '.join(sorted(self.values))}")


def read_fields(path: Path) -> Fields:
    """Return all fields of the file at `path`.

    Raises:
        RecordingError: it is missing, damaged, pickled, or no file of this kind.
    """
    if path.suffix != ".json":
        return Fields(path, read_npz(path, npz_names(path)))
    content = read_json(path)
    return Fields(path, {name: _array(path, name, value) for name, value in content.items()})


def field_names(path: Path) -> frozenset[str]:
    """Return the names of the fields of an .npz or .json file without reading the arrays; see :func:`read_fields`."""
    return frozenset(read_json(path) if path.suffix == ".json" else npz_names(path))


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises:
        RecordingError: it is missing, damaged, or holds no object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecordingError(f"{path}: there is no such file") from error
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: damaged, or no JSON ({error})") from error
    if not isinstance(content, dict):
        raise RecordingError(f"{path}: holds a {type(content).__name__}, a recording is an object with named fields")
    return content


def _array(path: Path, name: str, value: Any) -> np.ndarray:
    """Return a JSON value as an array; null becomes NaN."""
    if isinstance(value, list):
        try:
            return np.array(value, dtype=float)
        except (TypeError, ValueError):  # texts, or rows of different lengths, which only matter when asked for
            return np.array(value, dtype=object)
    return np.array(math.nan if value is None else value)


def _first_other(value: np.ndarray) -> str:
    return f"{value[~np.isin(value, (0.0, 1.0))].flat[0]:g}"


def _shown(value: np.ndarray) -> str:
    return repr(str(value)) if not value.ndim else f"an array of shape {value.shape}"
