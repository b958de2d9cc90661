"""Which states the real demonstrations cover: those that several of them come as near to as to each other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from r2s2r.contracts.checks import set_count, set_number
from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.group_bootstrap import ROUNDS, Interval, group_sums, ratio_intervals

CHUNK = 512
"""Queries whose distances are held in memory at once."""


@dataclass(frozen=True)
class CoverageCfg:
    """What counts as covered.

    Raises:
        ConfigError: a number is out of its range.
    """

    neighbours: int = 3
    """How many demonstrations have to come near: the distance is that to the k-th nearest demonstration. Steps of one
    demonstration lie close together, so that the k-th nearest step would be a matter of the nearest demonstration."""

    quantile: float = 0.95
    """Share of the demonstrations' own states that are covered by the other demonstrations."""

    def __post_init__(self):
        set_count(self, "neighbours", 1, 1000)
        set_number(self, "quantile", 0.01, 0.999)


@dataclass(frozen=True)
class Coverage:
    """The region that demonstrations cover in some space."""

    states: np.ndarray
    """(N, F) sorted by demonstration."""
    starts: np.ndarray
    """(E,) first row of each demonstration."""
    neighbours: int
    threshold: float
    """Distance up to which a state is covered."""

    @staticmethod
    def fit(states: np.ndarray, episodes: np.ndarray, cfg: CoverageCfg | None = None) -> "Coverage":
        """Return the region that demonstrations cover, calibrated by leaving out one demonstration after the other.

        The threshold is the quantile over all states of their distance to the *other* demonstrations: with quantile
        0.95, 5 % of what a further demonstration does counts as not covered.

        Args:
            states: (N, F).
            episodes: (N,) demonstration of each state.
            cfg: what counts as covered.

        Raises:
            ConfigError: a number is not finite, or there are too few demonstrations for `neighbours`.
        """
        cfg = cfg or CoverageCfg()
        states, episodes = np.asarray(states, dtype=float), np.asarray(episodes)
        if not np.isfinite(states).all():
            raise ConfigError("coverage: a number of the demonstrations is not finite")
        order = np.argsort(episodes, kind="stable")
        names, starts = np.unique(episodes[order], return_index=True)
        if len(names) <= cfg.neighbours:
            raise ConfigError(
                f"coverage: {len(names)} demonstrations for {cfg.neighbours} neighbours, "
                f"allowed are {cfg.neighbours + 1} and more"
            )
        states = states[order]
        own = np.searchsorted(names, episodes[order])
        distance = _kth_nearest(states, states, starts, cfg.neighbours, own)
        return Coverage(states, starts, cfg.neighbours, float(np.quantile(distance, cfg.quantile)))

    def distance(self, queries: np.ndarray) -> np.ndarray:
        """Return the distance (Q,) of states (Q, F) to the k-th nearest demonstration."""
        return _kth_nearest(np.asarray(queries, dtype=float), self.states, self.starts, self.neighbours)

    def ratio(self, queries: np.ndarray) -> np.ndarray:
        """Return the distance over the threshold (Q,): at most 1 where covered."""
        return self.distance(queries) / max(self.threshold, np.finfo(float).tiny)


def _kth_nearest(
    queries: np.ndarray, states: np.ndarray, starts: np.ndarray, k: int, own: np.ndarray | None = None
) -> np.ndarray:
    """Return the k-th smallest of the distances to each demonstration's nearest state; `own` (Q,) is passed over."""
    result = np.empty(len(queries))
    for begin in range(0, len(queries), CHUNK):
        rows = slice(begin, begin + CHUNK)
        nearest = np.minimum.reduceat(cdist(queries[rows], states), starts, axis=1)
        if own is not None:
            nearest[np.arange(len(nearest)), own[rows]] = np.inf
        result[rows] = np.partition(nearest, k - 1, axis=1)[:, k - 1]
    return result


@dataclass(frozen=True)
class CoverageCurve:
    """Share of the rollouts that are covered at each time, of those that still run."""

    time_s: np.ndarray
    """(B + 1,) edges of the bins [s]."""
    share: list[Interval]
    """(B) with intervals over rollouts."""
    rollouts: np.ndarray
    """(B,) that have a decision in the bin."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {
            "time_s": self.time_s.tolist(),
            "share": [interval.to_dict() for interval in self.share],
            "rollouts": self.rollouts.tolist(),
        }


def coverage_curve(
    covered: np.ndarray,
    time_s: np.ndarray,
    rollouts: np.ndarray,
    *,
    bin_s: float = 0.5,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> CoverageCurve:
    """Return the share of covered decisions over the time of a rollout.

    Args:
        covered: (N,) bool of each decision.
        time_s: (N,) since its rollout began [s].
        rollouts: (N,) rollout of each decision.
        bin_s: width of a bin [s].
        rounds: of the bootstrap over rollouts.
        seed: of the bootstrap.
    """
    bins = np.floor(np.asarray(time_s) / bin_s).astype(int)
    width = int(bins.max()) + 1
    inside = group_sums(np.asarray(covered, dtype=float), rollouts, bins, width)
    total = group_sums(np.ones(len(bins)), rollouts, bins, width)
    return CoverageCurve(
        np.arange(width + 1) * bin_s,
        ratio_intervals(inside, total, rounds=rounds, seed=seed),
        (total > 0).sum(axis=0),
    )
