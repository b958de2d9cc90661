"""Which recordings `r2s2r retarget` was given, and the folder for the results of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.evaluation.retargeting_report import Refusal
from r2s2r.recording.load import is_recording, members_of


@dataclass(frozen=True)
class Place:
    """One recording, and where its results go."""

    name: str
    """What to call it."""
    path: Path
    """File or folder."""
    member: str | None
    """Which of several in it; None for the only one."""
    out: Path
    """Folder for the results."""

    @property
    def files(self) -> list[Path]:
        """Its files, for provenance; of a folder all but the videos, which are not retargeted."""
        if not self.path.is_dir():
            return [self.path]
        return sorted(file for file in self.path.rglob("*") if file.is_file() and file.suffix != ".mp4")


def find_places(paths: Sequence[Path], out: Path, source: str | None) -> tuple[list[Place], list[Refusal]]:
    """Return the recordings in `paths`, files or folders, and those of them that are none.

    The results of a single recording go to `out` itself, of several to a folder each in it.

    Raises:
        ConfigError: a folder holds no recordings, or `source` is unknown.
        RecordingError: the only path is no recording.
    """
    expanded = [child for path in paths for child in _expanded(path)]
    found, refusals = [], []
    for path in expanded:
        try:
            found += [(path, member) for member in members_of(path, source)]
        except RecordingError as error:
            if len(expanded) == 1:
                raise
            refusals.append(Refusal.of(path.name, path, error))
    if len(found) == 1 and not refusals:
        path, member = found[0]
        return [Place(path.stem, path, member, out)], []
    names: list[str] = []
    for path, member in found:
        name = path.stem if member is None else f"{path.stem}_{member}"
        names.append(_unlike(name, names))
    places = [Place(name, path, member, out / name) for name, (path, member) in zip(names, found, strict=True)]
    return places, refusals


def _expanded(path: Path) -> list[Path]:
    """Return `path`, or the recordings in it if it is a folder and no recording itself."""
    if not path.is_dir() or is_recording(path):
        return [path]
    inside = sorted(child for child in path.iterdir() if not child.name.startswith(".") and is_recording(child))
    if not inside:
        raise ConfigError(f"recordings: the folder {str(path)!r} holds none")
    return inside


def _unlike(name: str, others: list[str]) -> str:
    """Return `name`, numbered if one of `others` is called so."""
    number, tried = 1, name
    while tried in others:
        number += 1
        tried = f"{name}_{number}"
    return tried
