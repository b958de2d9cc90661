"""Which loader reads which file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import RecordingError, choose
from r2s2r.recording.adroit_glove import adroit_demonstrations, load_adroit
from r2s2r.recording.field_file import field_names
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.isaac_teleop import load_isaac_teleop
from r2s2r.recording.keypoint_stream import load_keypoints
from r2s2r.recording.leap import load_leap
from r2s2r.recording.lerobot_layout import is_lerobot_set
from r2s2r.recording.lerobot_teleop import episode_names, load_episode
from r2s2r.recording.mano import load_mano
from r2s2r.recording.mediapipe import IMAGE, WORLD, load_mediapipe
from r2s2r.recording.openxr import load_openxr
from r2s2r.recording.qualisys import load_qualisys
from r2s2r.recording.tracking import mark_untracked
from r2s2r.recording.vision_pro import load_vision_pro
from r2s2r.recording.webxr import load_webxr

FIELD_SUFFIXES = (".npz", ".json")
"""Files that hold named fields."""


@dataclass(frozen=True)
class Loader:
    """How recordings of one type are recognised and read."""

    load: Callable[..., Any]
    """Reads the recording at a path; the second argument is the hand asked for, None for what the file says. Where
    there are several in one place, the third names one of them."""

    telltale: tuple[str, ...] = ()
    """A file of named fields that holds one of these is of this type."""

    recognises: Callable[[Path], bool] = lambda path: False
    """Tells the type of what is no file of named fields, e.g. by the name or the files in a folder."""

    members: Callable[[Path], tuple[str, ...]] | None = None
    """Names of the recordings at a path; None for a type with one a path."""


LOADERS: dict[str, Loader] = {
    "leap": Loader(load_leap, ("finger_joints_mm",)),
    "qualisys": Loader(load_qualisys, ("markers_mm",)),
    "keypoints": Loader(load_keypoints, ("joints_m",)),
    "webxr": Loader(load_webxr, ("poses",)),
    "openxr": Loader(load_openxr, ("joint_positions_m",)),
    "vision_pro": Loader(load_vision_pro, ("right_wrist", "left_wrist")),
    "isaac_teleop": Loader(load_isaac_teleop, recognises=lambda path: path.suffix == ".mcap"),
    "mano": Loader(load_mano, ("mano_joints_m", "hand_pose")),
    "mediapipe": Loader(load_mediapipe, (WORLD, IMAGE)),
    "adroit": Loader(load_adroit, ("demo_00/observations", "demo_0/observations"), members=adroit_demonstrations),
    "lerobot": Loader(load_episode, recognises=is_lerobot_set, members=episode_names),
}
"""Loader of each source type. Others of the project add theirs; what a loader returns is up to it."""


def load_recording(
    path: Path, source: str | None = None, handedness: str | None = None, member: str | None = None
) -> Any:
    """Return the recording at `path`, a hand's with what was not tracked marked.

    Args:
        path: file or folder.
        source: its type, a key of :data:`LOADERS`; told from the content unless given.
        handedness: the hand to read; None for what the file says.
        member: one of :func:`members_of`; None for the only one, or the one that the loader takes first.

    Raises:
        ConfigError: `source` is unknown.
        RecordingError: the type cannot be told, nothing was tracked, or see the loader of that type.
    """
    loader = _loader(path, source)
    recording = loader.load(path, handedness) if member is None else loader.load(path, handedness, member)
    return mark_untracked(recording) if isinstance(recording, HandRecording) else recording


def load_hand_recording(path: Path, source: str | None = None, handedness: str | None = None) -> HandRecording:
    """Return the recording of a hand at `path`; see :func:`load_recording`.

    Raises:
        RecordingError: it is the recording of something else, too.
    """
    recording = load_recording(path, source, handedness)
    if not isinstance(recording, HandRecording):
        raise RecordingError(f"{path}: a {type(recording).__name__}, not the recording of a hand")
    return recording


def members_of(path: Path, source: str | None = None) -> tuple[str | None, ...]:
    """Return the names of the recordings at `path`, only None where there is one; raises as :func:`load_recording`."""
    members = _loader(path, source).members
    return (None,) if members is None else members(path)


def source_type(path: Path) -> str:
    """Return the source type of the file or folder at `path`, a key of :data:`LOADERS`.

    Raises:
        RecordingError: there is no such file, it is damaged, or it is of no type or of several.
    """
    if not path.exists():
        raise RecordingError(f"{path}: there is no such file")
    kinds = [kind for kind, loader in LOADERS.items() if loader.recognises(path)]
    if not kinds and path.is_file():
        names = field_names(path)
        kinds = [kind for kind, loader in LOADERS.items() if names.intersection(loader.telltale)]
    if len(kinds) > 1:
        raise RecordingError(f"{path}: may be of the types {', '.join(kinds)}; say which")
    if not kinds:
        raise RecordingError(f"{path}: not a known hand recording; known types are {', '.join(LOADERS)}")
    return kinds[0]


def _loader(path: Path, source: str | None) -> Loader:
    return LOADERS[source_type(path) if source is None else choose("source", source, tuple(LOADERS))]


def is_recording(path: Path) -> bool:
    """Return whether `path` looks like one recording, by its name or, of a folder, by what recognises it."""
    return path.suffix in FIELD_SUFFIXES or any(loader.recognises(path) for loader in LOADERS.values())
