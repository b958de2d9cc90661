"""Intervals of figures whose rows depend on each other within an episode: whole episodes are drawn again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError

ROUNDS = 1000
"""Of a bootstrap: the ends of a 95 % interval are then its 25th and 975th values."""


@dataclass(frozen=True)
class Interval:
    """A figure and the percentile interval of its bootstrap; NaN where nothing was seen."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as JSON-able values; None where nothing was seen."""
        return {
            name: value if np.isfinite(value) else None
            for name, value in (("value", self.value), ("low", self.low), ("high", self.high))
        }

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return "n/a"
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio_intervals(
    numerator: np.ndarray, denominator: np.ndarray, *, rounds: int = ROUNDS, confidence: float = 0.95, seed: int = 0
) -> list[Interval]:
    """Return sum of numerators / sum of denominators of each column, with intervals over groups drawn again.

    Args:
        numerator: (G, C) sums of each group.
        denominator: (G, C) likewise; a column that is 0 everywhere has no value.
        rounds: of the bootstrap.
        confidence: of the interval.
        seed: of the bootstrap.

    Raises:
        ConfigError: the shapes differ or there is no group.
    """
    numerator, denominator = (np.asarray(values, dtype=float) for values in (numerator, denominator))
    if numerator.shape != denominator.shape or numerator.ndim != 2 or not len(numerator):
        raise ConfigError(
            f"bootstrap: received {numerator.shape} over {denominator.shape}, allowed are two (G >= 1, C)"
        )
    groups = len(numerator)
    drawn = np.random.default_rng(seed).multinomial(groups, np.full(groups, 1.0 / groups), size=rounds)
    counts = np.concatenate([np.ones((1, groups)), drawn])
    above, below = counts @ numerator, counts @ denominator
    values = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
    return [_interval(column[0], column[1:], confidence) for column in values.T]


def group_sums(values: np.ndarray, groups: np.ndarray, columns: np.ndarray, width: int) -> np.ndarray:
    """Return the sum of `values` (N,) for each group and column (G, width); `columns` (N,) counts from 0."""
    names, group = np.unique(groups, return_inverse=True)
    total = np.zeros((len(names), width))
    np.add.at(total, (group, columns), values)
    return total


def redrawn(groups: np.ndarray, rounds: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield row indices of `rounds` samples in which whole groups of `groups` (N,) are drawn with replacement."""
    names, group = np.unique(groups, return_inverse=True)
    order = np.argsort(group, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(group))[:-1])
    for _ in range(rounds):
        yield np.concatenate([rows[k] for k in rng.integers(len(names), size=len(names))])


def percentile_interval(value: float, draws: "np.ndarray | list[float]", confidence: float = 0.95) -> Interval:
    """Return `value` with the percentile interval of its bootstrap `draws`; rounds without a value are left out."""
    return _interval(value, np.asarray(draws, dtype=float), confidence)


def _interval(value: float, draws: np.ndarray, confidence: float) -> Interval:
    draws = draws[np.isfinite(draws)]
    if not np.isfinite(value) or not len(draws):
        return Interval(float("nan"), float("nan"), float("nan"))
    low, high = np.quantile(draws, (0.5 - confidence / 2, 0.5 + confidence / 2))
    return Interval(float(value), float(low), float(high))
