"""Where a LeRobot data set of version 2.1 or 3.0 has what: its description and the rows of its episodes.

Version 2.1 has a data and a video file for each episode and its rows in `meta/episodes.jsonl`; version 3.0 has several
episodes in a file and its rows in `meta/episodes/*/*.parquet` (LeRobot, src/lerobot/datasets/utils.py).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import RecordingError

INFO = "meta/info.json"
EPISODES_21 = "meta/episodes.jsonl"
EPISODES_30 = "meta/episodes"

VERSIONS = ("v2.1", "v3.0")
"""Values of `codebase_version` that are read."""

VIDEO = "video"
"""`dtype` of a feature whose pictures lie in video files."""


@dataclass(frozen=True)
class SetInfo:
    """What `meta/info.json` says.

    Raises:
        RecordingError: the version is another one, or the rate is not positive.
    """

    root: Path
    """Folder of the data set."""

    version: str
    """One of :data:`VERSIONS`."""

    rate_hz: float
    """Declared rows a second."""

    robot: str
    """`robot_type`."""

    total_episodes: int
    """Episodes that were counted while recording."""

    raw: dict[str, Any]
    """The whole file."""

    def __post_init__(self):
        if self.version not in VERSIONS:
            raise RecordingError(
                f"{self.root / INFO}: codebase_version is {self.version!r}, allowed are {', '.join(VERSIONS)}; "
                "LeRobot's own scripts convert older sets"
            )
        if not self.rate_hz > 0.0:
            raise RecordingError(f"{self.root / INFO}: fps is {self.rate_hz}, allowed are positive numbers")

    @property
    def features(self) -> dict[str, Any]:
        """Description of each column and camera by name."""
        return self.raw.get("features", {})

    @property
    def cameras(self) -> tuple[str, ...]:
        """Features whose pictures lie in video files."""
        return tuple(key for key, feature in self.features.items() if feature.get("dtype") == VIDEO)

    def data_file(self, row: Mapping[str, Any]) -> Path:
        """Return the path of the table with an episode's rows, relative to the root."""
        return self._file("data_path", row, "data", "")

    def video_file(self, row: Mapping[str, Any], camera: str) -> Path:
        """Return the path of the video with an episode's pictures, relative to the root."""
        return self._file("video_path", row, f"videos/{camera}", camera)

    def video_begin_s(self, row: Mapping[str, Any], camera: str) -> float:
        """Return where in its video an episode begins [s]."""
        return 0.0 if self.version == "v2.1" else float(_entry(row, f"videos/{camera}/from_timestamp", self.root))

    def _file(self, pattern: str, row: Mapping[str, Any], prefix: str, camera: str) -> Path:
        if self.version == "v2.1":
            index = int(_entry(row, "episode_index", self.root))
            chunk = index // int(self.raw.get("chunks_size", 1000))
            numbers = {"episode_index": index, "episode_chunk": chunk}
        else:
            numbers = {n: int(_entry(row, f"{prefix}/{n}", self.root)) for n in ("chunk_index", "file_index")}
        try:
            path = Path(str(self.raw[pattern]).format(video_key=camera, **numbers))
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise RecordingError(f"{self.root / INFO}: {pattern} is {self.raw.get(pattern)!r} ({error!r})") from error
        if path.is_absolute() or ".." in path.parts:
            raise RecordingError(f"{self.root / INFO}: {pattern} leads to {str(path)!r}, outside the data set")
        return path


def is_lerobot_set(root: Path) -> bool:
    """Return whether `root` is the folder of a LeRobot data set."""
    return (root / INFO).is_file()


def read_info(root: Path) -> SetInfo:
    """Return the description of the data set in the folder `root`.

    Raises:
        RecordingError: there is none, it is damaged, or of a version that is not known.
    """
    path = root / INFO
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return SetInfo(
            root=root,
            version=str(raw["codebase_version"]),
            rate_hz=float(raw["fps"]),
            robot=str(raw.get("robot_type") or "unknown"),
            total_episodes=int(raw["total_episodes"]),
            raw=raw,
        )
    except FileNotFoundError as error:
        raise RecordingError(f"{root}: no {INFO}; no LeRobot data set") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(f"{path}: damaged, or not LeRobot's ({type(error).__name__}: {error})") from error


def read_rows(info: SetInfo) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the metadata of the episodes in the order of the files, and a line for each part that is lost.

    Raises:
        RecordingError: nothing can be read, or a row has no `episode_index`.
    """
    rows, lost = _rows_21(info.root / EPISODES_21) if info.version == "v2.1" else _rows_30(info.root / EPISODES_30)
    if not rows:
        raise RecordingError(f"{info.root}: no episode's metadata can be read; {'; '.join(lost) or 'there is none'}")
    for row in rows:
        _entry(row, "episode_index", info.root)
    return rows, lost


def parquet() -> Any:
    """Return `pyarrow.parquet`, which takes a while to load and is needed for LeRobot sets alone."""
    import pyarrow.parquet as pq

    return pq


def table_problem(path: Path) -> str | None:
    """Return why a parquet file cannot be read at all; None if its footer is whole."""
    if not path.is_file():
        return "there is no such file"
    try:
        parquet().read_metadata(path)
    except (OSError, ValueError) as error:  # pyarrow's own errors derive from these
        return f"no whole parquet file, as an interrupted recorder leaves it ({str(error).splitlines()[0]})"
    return None


def _rows_21(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    rows, lost = [], []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(dict(json.loads(line)))
        except (ValueError, TypeError):
            lost.append(f"{path.name}: line {number} is cut off or damaged")
    return rows, lost


def _rows_30(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    rows, lost = [], []
    for path in sorted(folder.glob("*/*.parquet")):
        problem = table_problem(path)
        if problem is None:
            rows += parquet().read_table(path).to_pylist()
        else:
            lost.append(f"{path.relative_to(folder.parent.parent)}: {problem}")
    return rows, lost


def _entry(row: Mapping[str, Any], key: str, root: Path) -> Any:
    if row.get(key) is None:
        raise RecordingError(f"{root}: an episode's metadata have no {key!r}; they have {', '.join(row)}")
    return row[key]
