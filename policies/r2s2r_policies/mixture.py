"""Data sets that are trained on together, each with its share of the samples."""

import math
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.errors import ConfigError, DatasetError, choose
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r_policies.compatibility import check_compatible
from r2s2r_policies.source_data import SourceData, load_source
from r2s2r_policies.statistics import ColumnStatistics, check_alike
from r2s2r_policies.windows import Windows

DOMAINS = ("real", "sim")
"""Domains in the order of their numbers in a batch."""

PICTURE_KEYS = ("head_rgb", "wrist_rgb")


@dataclass(frozen=True)
class Source:
    """A data set and its share.

    Raises:
        ConfigError: a field is out of its range.
    """

    path: "str | os.PathLike[str]"
    weight: float
    """Share of the *samples* of a batch, 0 to 1: neither of sets nor of episodes."""
    domain: str
    """One of :data:`DOMAINS`."""
    filter_key: str | None = "train"
    """Mask that chooses episodes; None for all of them."""
    trim_idle: bool = False
    """Leave out the idle start of each episode, in all streams."""

    def __post_init__(self):
        choose("domain", self.domain, DOMAINS)
        if not 0.0 <= self.weight <= 1.0:
            raise ConfigError(f"weight of {self.path}: received {self.weight}, allowed is 0 to 1")


class Mixture:
    """Opens several data sets, checks that they may be mixed, and cuts them into samples.

    Args:
        sources: The data sets with their shares, which sum to 1.
        chunk: Actions of a sample.
        history: Rows that a sample shows.
        picture_keys: Observations that are pictures.

    Raises:
        ConfigError: no sources, weights that do not sum to 1, or an argument out of its range.
        DatasetError: a data set cannot be read, has nothing to learn, or differs from the first in what must be shared.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        chunk: int = 16,
        history: int = 1,
        picture_keys: Sequence[str] = PICTURE_KEYS,
    ):
        if not sources:
            raise ConfigError("mixture: no sources; name at least one data set")
        total = math.fsum(source.weight for source in sources)
        if not math.isclose(total, 1.0, abs_tol=1e-6):
            told = ", ".join(f"{source.weight:g}" for source in sources)
            raise ConfigError(f"mixture: weights {told} sum to {total:g}, allowed is 1")
        self.sources = tuple(sources)
        self.picture_keys = tuple(picture_keys)
        self.chunk, self.history = chunk, history
        with ExitStack() as opening:
            self.data: list[SourceData] = []
            self.windows: list[Windows] = []
            for source in sources:
                data = load_source(Path(source.path), source.filter_key, self.picture_keys, source.trim_idle)
                opening.callback(data.close)
                self.data.append(data)
                self.windows.append(Windows(data.lengths, data.usable, chunk, history))
                if not len(self.windows[-1].samples):
                    raise DatasetError(f"{source.path}: no step whose action may be learned")
            check_compatible([data.facts for data in self.data])
            check_alike([_statistics(data) for data in self.data], [data.facts.where for data in self.data])
            self._resources = opening.pop_all()

    def __enter__(self) -> "Mixture":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._resources.close()

    @property
    def weights(self) -> list[float]:
        """Share of each source (S)."""
        return [source.weight for source in self.sources]

    @property
    def counts(self) -> list[int]:
        """Samples of each source (S)."""
        return [len(windows.samples) for windows in self.windows]

    @property
    def rate_hz(self) -> float:
        """Rows a second of every source."""
        return self.data[0].facts.rate_hz

    @property
    def picture_shapes(self) -> dict[str, tuple[int, int, int]]:
        """(H, W, 3) of each picture key, the same in every source."""
        return dict(self.data[0].facts.picture_shapes)

    def summary(self) -> list[dict[str, Any]]:
        """Return what each source brings, JSON-able: its share and size, its padding, what :mod:`.data_checks` saw."""
        return [
            {
                "path": str(source.path),
                "domain": source.domain,
                "filter_key": source.filter_key,
                "weight": source.weight,
                "episodes": len(data.lengths),
                "rows": len(data.actions),
                "samples": len(windows.samples),
                "natural_share": len(windows.samples) / sum(self.counts),
                "padding_share": windows.padding_share,
                "not_learned_share": float(1.0 - data.usable.mean()),
                "idle_steps": {"mean": float(data.idle_steps.mean()), "max": int(data.idle_steps.max())},
                "idle_trimmed": source.trim_idle,
                "action_equals_state_share": data.equal_share,
            }
            for source, data, windows in zip(self.sources, self.data, self.windows, strict=True)
        ]


def _statistics(data: SourceData) -> dict[str, ColumnStatistics]:
    episode = np.repeat(np.arange(len(data.lengths)), data.lengths)
    learned = data.usable
    return {
        "actions": ColumnStatistics.of(data.actions[learned], ACTION_NAMES, len(np.unique(episode[learned]))),
        "joint_pos": ColumnStatistics.of(data.joint_pos, ROBOT_JOINTS, len(data.lengths)),
    }
