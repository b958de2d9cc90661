"""Which loader reads which file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError, choose
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.keypoint_stream import load_keypoints
from r2s2r.recording.leap import load_leap
from r2s2r.recording.qualisys import load_qualisys
from r2s2r.recording.webxr import load_webxr

LOADERS: dict[str, Callable[[Path], HandRecording]] = {
    "leap": load_leap,
    "qualisys": load_qualisys,
    "keypoints": load_keypoints,
    "webxr": load_webxr,
}
"""Loader of each source type."""

_TELLTALE = {"finger_joints_mm": "leap", "markers_mm": "qualisys", "joints_m": "keypoints"}


def load_hand_recording(path: Path, source: str | None = None) -> HandRecording:
    """Return the recording at `path`; the source type is told from the content unless given.

    Raises:
        ConfigError: `source` is unknown.
        RecordingError: the type cannot be told, or see the loader of that type.
    """
    kind = source_type(path) if source is None else choose("source", source, tuple(LOADERS))
    return LOADERS[kind](path)


def source_type(path: Path) -> str:
    """Return the source type of the file at `path`, a key of :data:`LOADERS`."""
    if path.suffix == ".json":
        return "webxr"
    try:
        with np.load(path, allow_pickle=False) as file:
            names = set(file.files)
    except FileNotFoundError as error:
        raise RecordingError(f"{path}: there is no such file") from error
    except Exception as error:  # np.load raises whatever the damaged bytes lead it to
        raise RecordingError(f"{path}: damaged, or no recording ({error})") from error
    kinds = [kind for array, kind in _TELLTALE.items() if array in names]
    if len(kinds) != 1:
        raise RecordingError(f"{path}: not a known hand recording; known types are {', '.join(LOADERS)}")
    return kinds[0]
