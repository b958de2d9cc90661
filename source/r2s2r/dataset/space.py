"""How much a data set will need, and whether the disk has it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from r2s2r.contracts.action import ACTION_DIM, POLICY_RATE_HZ
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.joints import ROBOT_JOINTS


@dataclass(frozen=True)
class StorageEstimate:
    """Upper bound of a data set's size: pictures as they are, before compression."""

    episodes: int
    episode_s: float
    """Length of an episode [s]."""

    cameras: Mapping[str, tuple[int, int]]
    """Height and width of each camera's pictures [px]."""

    state_count: int = 0
    """Columns of `states`."""

    rate_hz: float = POLICY_RATE_HZ

    def __post_init__(self):
        for name in ("episodes", "episode_s", "rate_hz"):
            if not getattr(self, name) > 0:
                raise DatasetError(f"{name}: received {getattr(self, name)}, allowed is a positive number")

    @property
    def image_bytes_per_s(self) -> float:
        """Bytes of pictures a second of recording."""
        return self.rate_hz * sum(3 * height * width for height, width in self.cameras.values())

    @property
    def number_bytes_per_s(self) -> float:
        """Bytes of everything else: float32 actions, states, rewards, observed (twice) and commanded joints; dones."""
        numbers = ACTION_DIM + self.state_count + 3 * len(ROBOT_JOINTS) + 1
        return self.rate_hz * (4 * numbers + 8 + 1)

    @property
    def total_bytes(self) -> float:
        """Bytes of all episodes."""
        return self.episodes * self.episode_s * (self.image_bytes_per_s + self.number_bytes_per_s)

    @property
    def peak_bytes(self) -> float:
        """Bytes needed while the file is put together from its parts, which are kept until it is whole."""
        return 2 * self.total_bytes

    def __str__(self) -> str:
        return (
            f"{self.episodes} episodes of {self.episode_s:g} s at {self.image_bytes_per_s / 1e6:.1f} MB/s of pictures: "
            f"{self.total_bytes / 1e9:.3g} GB before compression"
        )


def check_free_space(estimate: StorageEstimate, folder: Path) -> None:
    """Refuse a recording that may not fit.

    Raises:
        DatasetError: the disk of `folder` has less free space than the estimate's peak.
    """
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < estimate.peak_bytes:
        raise DatasetError(
            f"{folder}: {estimate}, {estimate.peak_bytes / 1e9:.3g} GB while it is written, but {free / 1e9:.3g} GB "
            "are free; record fewer or smaller pictures, or give another disk"
        )
