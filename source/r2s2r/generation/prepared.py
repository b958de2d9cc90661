"""What a job's world and behavior come to, found once before its first attempt."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.files import write_json
from r2s2r.replay.cfg import ReplayCfg


@dataclass(frozen=True)
class Prepared:
    """Settings that every attempt of a job shares beside those of the job itself.

    Raises:
        ConfigError: a share is out of its range.
    """

    replay: ReplayCfg
    """Variation of the demonstrations, and how far ahead the arm of this world has to aim."""

    first_class_share: float
    """Share of the attempts whose target is of the first class."""

    behavior_sha256: str
    """Of the folder `behavior`."""

    demonstrations: dict[str, Any]
    """How the behavior came about: attempts and successes of each class; empty for one that was given."""

    def __post_init__(self):
        set_number(self, "first_class_share", 0.0, 1.0)

    def save(self, folder: Path) -> None:
        """Write `prepared.json` into the job's folder."""
        write_json(folder / "prepared.json", asdict(self))

    @staticmethod
    def exists(folder: Path) -> bool:
        """Return whether the job in `folder` is prepared."""
        return (folder / "prepared.json").exists()

    @classmethod
    def load(cls, folder: Path) -> "Prepared":
        """Read `prepared.json` of the job's folder.

        Raises:
            DatasetError: it is missing or damaged.
        """
        path = folder / "prepared.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            replay = content.pop("replay")
            for name in ("time_warp", "push_m"):
                replay[name] = tuple(replay[name])
            return cls(replay=ReplayCfg(**replay), **content)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise DatasetError(f"{path}: missing or damaged ({error})") from error
