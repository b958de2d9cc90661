"""What a generation is asked to make, and the folder that it is made in.

::

    OUT/
      job.json             the settings; whoever works on the job reads them from here
      world.yaml           the world
      behavior/            the demonstrations that are replayed, and those held out
      prepared.json        what follows from the two: settings of the replay, share of the classes
      shards/KEY.hdf5      kept episodes of a shard, without pictures;  KEY.json: what became of all its attempts
      films/demo_N.hdf5    the chosen ones with their pictures, by the number of the attempt
      dataset.hdf5         the data set
      summary.json, report.html
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from r2s2r.contracts.checks import set_count, set_number
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.files import write_json
from r2s2r.contracts.world import OBJECT_CLASSES

FORMAT_VERSION = 1
"""Of `job.json`; readers refuse another one."""

ATTEMPTS_A_CONDITION = 2**24
"""Attempt numbers set aside for each condition: no two conditions of a job replay the same draw."""

LEAST_DEMONSTRATIONS, MOST_DEMONSTRATIONS = 64, 128
"""Attempts that a built-in planner makes: so that some of each class can be held out, and about as many as a team
records."""


@dataclass(frozen=True)
class GenerationJob:
    """Settings that decide which episodes a job comes to; how many processes work on it does not.

    Raises:
        ConfigError: a value is out of range.
    """

    episodes: int
    """Successful episodes asked for, an equal share of each condition and object class."""

    conditions: tuple[str, ...]
    """Conditions that they are made under."""

    num_envs: int
    """Environments at once, which is also the attempts of a shard."""

    seed: int
    """Seed of all draws."""

    picture_size: int
    """Width and height of both pictures [px]."""

    push_share: float
    """Share of the attempts in which the wrist is pushed away and has to come back."""

    world_sha256: str
    """Of `world.yaml`."""

    behavior: str
    """`grounded` or `ungrounded` for the built-in planners, else the SHA-256 of the behavior given."""

    code: Mapping[str, Any]
    """Code revision and versions that the job was begun with: other code may come to other episodes."""

    def __post_init__(self):
        set_count(self, "episodes", 1, ATTEMPTS_A_CONDITION)
        set_count(self, "num_envs", 1, 2**16)
        set_count(self, "seed", 0, 2**31 - 1)
        set_number(self, "push_share", 0.0, 1.0)
        object.__setattr__(self, "conditions", tuple(self.conditions))
        if not self.conditions or len(set(self.conditions)) != len(self.conditions):
            raise ConfigError(
                f"conditions: received {', '.join(self.conditions) or 'none'}, allowed are different ones"
            )
        if self.episodes < len(self.strata):
            raise ConfigError(
                f"episodes: received {self.episodes}, allowed are {len(self.strata)} and more: one of each class "
                "under each condition"
            )

    @property
    def strata(self) -> list[tuple[str, str]]:
        """Condition and object class of every share of the data set."""
        return [(condition, name) for condition in self.conditions for name in OBJECT_CLASSES]

    @property
    def quotas(self) -> dict[tuple[str, str], int]:
        """Episodes of each stratum: equal, the first ones one more where it does not divide."""
        share, more = divmod(self.episodes, len(self.strata))
        return {stratum: share + (i < more) for i, stratum in enumerate(self.strata)}

    @property
    def demonstrations(self) -> int:
        """Attempts of a built-in planner whose demonstrations are replayed: small jobs do with less."""
        return min(max(self.episodes // 2, LEAST_DEMONSTRATIONS), MOST_DEMONSTRATIONS)

    def numbers(self, condition: str, index: int) -> range:
        """Return the numbers of the attempts of shard `index` of a condition, that of environment 0 first."""
        begin = self.conditions.index(condition) * ATTEMPTS_A_CONDITION + index * self.num_envs
        return range(begin, begin + self.num_envs)

    def save(self, folder: Path) -> None:
        """Write `job.json` into `folder`."""
        write_json(folder / "job.json", {"format_version": FORMAT_VERSION, **asdict(self)})

    @classmethod
    def load(cls, folder: Path) -> "GenerationJob":
        """Read `job.json` of `folder`.

        Raises:
            DatasetError: there is none, it is damaged or of another version.
        """
        path = folder / "job.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise DatasetError(f"{path}: no such file; {folder} holds no generation") from error
        except (OSError, ValueError) as error:
            raise DatasetError(f"{path}: cannot be read ({error})") from error
        version = content.pop("format_version", None) if isinstance(content, dict) else None
        if version != FORMAT_VERSION or set(content) != {field.name for field in fields(cls)}:
            raise DatasetError(f"{path}: format version {version}, this program reads {FORMAT_VERSION}")
        return cls(**content)

    def check_same(self, other: "GenerationJob", folder: Path) -> None:
        """Refuse to go on with a job that was begun with other settings.

        Raises:
            ConfigError: with the first setting that differs.
        """
        for field in fields(self):
            begun, wanted = (json.loads(json.dumps(getattr(job, field.name))) for job in (self, other))
            if begun != wanted:
                raise ConfigError(
                    f"{folder}: was begun with {field.name} {begun}, received {wanted}; resume it with the same "
                    "settings, or choose another folder"
                )
