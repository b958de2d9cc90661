"""Statistics of columns of numbers that can be merged: those of a whole are computed, not averaged from its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError, DatasetError

SKETCH_POINTS = 4096
"""Points kept of each column's distribution; ranks are off by at most 1 / 8192 each time they are thinned out."""

MAX_APART = {"wrist_pos_b": 0.5, "joint": 1.0}
"""How far apart the ranges of one column may lie in two data sets of the same cell [m, rad], by the start of its name.
The belt is within 1 m of the robot, and resting arm postures differ less; degrees or another zero exceed it."""

_OUTER = (0.01, 0.99)
"""Quantiles between which a column's usual range lies; single outliers do not move it."""


@dataclass(frozen=True)
class ColumnStatistics:
    """What is known of n rows of D named columns."""

    names: tuple[str, ...]
    """(D)."""
    count: int
    """Rows: n."""
    episodes: int
    """Episodes that the rows come from; a merged set numbers them anew from 0."""
    low: np.ndarray
    """Least value of each column (D,)."""
    high: np.ndarray
    """Greatest value of each column (D,)."""
    mean: np.ndarray
    """(D,)."""
    squares: np.ndarray
    """Sum of the squared departures from the mean (D,)."""
    points: np.ndarray
    """Sorted values (K, D), each standing for n / K rows: all of them up to :data:`SKETCH_POINTS`."""

    @classmethod
    def of(cls, values: np.ndarray, names: Sequence[str], episodes: int) -> "ColumnStatistics":
        """Return the statistics of `values` (n, D) from `episodes` episodes.

        Raises:
            ConfigError: no rows, or another number of columns than names.
        """
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 2 or not len(values) or values.shape[1] != len(names):
            raise ConfigError(f"statistics: values of shape {values.shape}, allowed is (1 or more, {len(names)})")
        mean = values.mean(axis=0)
        return cls(
            names=tuple(names),
            count=len(values),
            episodes=episodes,
            low=values.min(axis=0),
            high=values.max(axis=0),
            mean=mean,
            squares=((values - mean) ** 2).sum(axis=0),
            points=_thinned(values, np.ones(len(values))),
        )

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of each column (D,)."""
        return np.sqrt(self.squares / self.count)

    @property
    def last_episode(self) -> int:
        """Greatest episode number."""
        return self.episodes - 1

    def quantile(self, share: float) -> np.ndarray:
        """Return the value of each column (D,) below which `share` of the rows lie, interpolated linearly."""
        return np.quantile(self.points, share, axis=0)


def merged(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """Return the statistics of the rows of all `parts` together.

    Raises:
        ConfigError: no parts, or columns of other names.
    """
    if not parts:
        raise ConfigError("statistics: nothing to merge")
    for part in parts[1:]:
        if part.names != parts[0].names:
            raise ConfigError(f"statistics: columns {', '.join(part.names)} cannot join {', '.join(parts[0].names)}")
    count = sum(part.count for part in parts)
    mean = sum(part.mean * (part.count / count) for part in parts)
    weights = [np.full(len(part.points), part.count / len(part.points)) for part in parts]
    return ColumnStatistics(
        names=parts[0].names,
        count=count,
        episodes=sum(part.episodes for part in parts),
        low=np.min([part.low for part in parts], axis=0),
        high=np.max([part.high for part in parts], axis=0),
        mean=np.asarray(mean),
        squares=np.sum([part.squares + part.count * (part.mean - mean) ** 2 for part in parts], axis=0),
        points=_thinned(np.concatenate([part.points for part in parts]), np.concatenate(weights)),
    )


def check_alike(sources: Sequence[Mapping[str, ColumnStatistics]], where: Sequence[str]) -> None:
    """Refuse data sets whose numbers cannot be of one cell, whatever their tags say.

    Args:
        sources: Statistics of each data set by key.
        where: Names of the data sets that messages tell.

    Raises:
        DatasetError: the usual ranges of a column lie further apart than :data:`MAX_APART`.
    """
    for other, statistics in enumerate(sources[1:], start=1):
        for key, ours in sources[0].items():
            theirs = statistics[key]
            (low, high), (other_low, other_high) = (
                [values.quantile(share) for share in _OUTER] for values in (ours, theirs)
            )
            apart = np.maximum(other_low - high, low - other_high)
            for column, name in enumerate(ours.names):
                if apart[column] > _allowed_apart(name):
                    raise DatasetError(
                        f"{where[0]} and {where[other]} disagree on {key} {name}: {low[column]:.4g} to "
                        f"{high[column]:.4g} against {other_low[column]:.4g} to {other_high[column]:.4g}; "
                        "another unit or zero? convert one of them"
                    )


def _allowed_apart(name: str) -> float:
    limits = [limit for start, limit in MAX_APART.items() if name.removeprefix("hand_").startswith(start)]
    return limits[0] if limits else np.inf


def _thinned(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return sorted points (K, D) of equal weight for `values` (n, D) of `weights` (n,); all of them if they are few.

    Weights that are not alike are told apart by repeating a value as often as it stands for a point.
    """
    total = weights.sum()
    count = min(int(round(total)), SKETCH_POINTS)
    if count == len(values):
        return np.sort(values, axis=0)
    order = np.argsort(values, axis=0)
    levels = (np.arange(count) + 0.5) / count * total
    points = np.empty((count, values.shape[1]))
    for column in range(values.shape[1]):
        reached = np.cumsum(weights[order[:, column]])
        chosen = np.minimum(np.searchsorted(reached, levels), len(values) - 1)
        points[:, column] = values[order[chosen, column], column]
    return points
