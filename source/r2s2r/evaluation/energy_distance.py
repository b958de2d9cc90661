"""How far apart two samples of vectors are, with an interval that knows which of them depend on each other."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from r2s2r.contracts.errors import ConfigError

CHUNK = 1024
"""Rows whose distances are held in memory at once."""


@dataclass(frozen=True)
class EnergyDistance:
    """2 E|X - Y| - E|X - X'| - E|Y - Y'| (G. Szekely and M. Rizzo, "Energy statistics: a class of statistics based on
    distances", J. Stat. Plan. Inference 143, 2013): 0 only for equal distributions, in the unit of the vectors."""

    value: float
    """Unbiased estimate; it may lie a little below 0 for equal distributions."""

    low: float
    """Lower end of the bootstrap interval."""

    high: float
    """Upper end."""


def energy_distance(
    first: np.ndarray,
    second: np.ndarray,
    first_sources: np.ndarray | None = None,
    second_sources: np.ndarray | None = None,
    *,
    rounds: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> EnergyDistance:
    """Return the energy distance of two samples with a percentile bootstrap interval over their sources.

    Rows of one source, such as adapted copies of one demonstration, depend on each other: the distance between two
    draws of one distribution is therefore averaged over rows of different sources only, and whole sources are drawn
    again. A source drawn twice is no second draw, so that its distance to itself never counts.

    Args:
        first: (N, F).
        second: (M, F).
        first_sources: (N,) source of each row; None: each its own.
        second_sources: (M,) likewise.
        rounds: of the bootstrap.
        confidence: of the interval.
        seed: of the bootstrap.

    Raises:
        ConfigError: the widths differ, a number is not finite, or a sample has fewer than two sources.
    """
    samples = [np.asarray(sample, dtype=float) for sample in (first, second)]
    if any(s.ndim != 2 for s in samples) or samples[0].shape[1] != samples[1].shape[1]:
        raise ConfigError(f"energy distance: received shapes {samples[0].shape} and {samples[1].shape}, allowed (N, F)")
    if not all(np.isfinite(s).all() for s in samples):
        raise ConfigError("energy distance: a number is not finite")
    groups = [_indicator(given, s) for given, s in zip((first_sources, second_sources), samples, strict=True)]
    rng = np.random.default_rng(seed)
    # Row 0 is the sample itself: each source once.
    counts = [np.concatenate([np.ones((1, len(g))), _drawn(rng, rounds, len(g))]) for g in groups]
    values = 2.0 * _mean(_sums(*samples, *groups), _pairs(*groups), *counts)
    for sample, group, count in zip(samples, groups, counts, strict=True):
        others = 1.0 - np.eye(len(group))
        values -= _mean(others * _sums(sample, sample, group, group), others * _pairs(group, group), count, count)
    low, high = np.quantile(values[1:], (0.5 - confidence / 2, 0.5 + confidence / 2))
    return EnergyDistance(float(values[0]), float(low), float(high))


def _indicator(sources: np.ndarray | None, sample: np.ndarray) -> np.ndarray:
    """Return which row is of which source (S, N) as zeros and ones."""
    names = np.arange(len(sample)) if sources is None else np.asarray(sources)
    if len(names) != len(sample):
        raise ConfigError(f"energy distance: {len(names)} sources for {len(sample)} rows")
    unique = np.unique(names)
    if len(unique) < 2:
        raise ConfigError(f"energy distance: a sample has {len(unique)} sources, at least 2 are needed")
    return (unique[:, None] == names[None, :]).astype(float)


def _drawn(rng: np.random.Generator, rounds: int, sources: int) -> np.ndarray:
    """Return how often each source is drawn in each round (R, S); a round of one source alone becomes the sample."""
    counts = rng.multinomial(sources, np.full(sources, 1.0 / sources), size=rounds)
    lonely = (counts > 0).sum(axis=1) < 2
    counts[lonely] = 1
    return counts.astype(float)


def _sums(first: np.ndarray, second: np.ndarray, of_first: np.ndarray, of_second: np.ndarray) -> np.ndarray:
    """Return the sum of the distances from the rows of each source of one sample to those of another (S, Q)."""
    total = np.zeros((len(of_first), len(of_second)))
    for begin in range(0, len(first), CHUNK):
        rows = slice(begin, begin + CHUNK)
        total += of_first[:, rows] @ cdist(first[rows], second) @ of_second.T
    return total


def _pairs(of_first: np.ndarray, of_second: np.ndarray) -> np.ndarray:
    """Return how many distances :func:`_sums` adds up (S, Q)."""
    return np.outer(of_first.sum(axis=1), of_second.sum(axis=1))


def _mean(sums: np.ndarray, pairs: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the mean distance in each round (R,), sources weighted by how often they were drawn, (R, S) and (R, Q)."""
    total, weight = (np.einsum("rs,sq,rq->r", first, m, second, optimize=True) for m in (sums, pairs))
    return total / weight
