"""Getting out and getting back: how often rollouts leave the covered region, whether and how fast they return."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.intervals import wilson_interval

MIN_RUN = 2
"""Decisions in a row that a change of side has to last: one decision alone beyond the border is no excursion."""

NEVER_LEFT, RETURNED, LEFT_FOR_GOOD = "never left", "left and returned", "left for good"
FATES = (NEVER_LEFT, RETURNED, LEFT_FOR_GOOD)


@dataclass(frozen=True)
class Excursion:
    """One stay outside the covered region."""

    begin_s: float
    duration_s: float
    """Until the first decision inside again, or until the rollout's last decision if it did not return [s]."""
    returned: bool
    left: bool
    """False if the rollout began outside, so that it never left the region."""


@dataclass(frozen=True)
class Course:
    """One rollout seen from the border of the covered region."""

    excursions: tuple[Excursion, ...]
    inside_s: float
    """Time spent inside [s]."""
    outside_s: float
    """Time spent outside [s]."""
    success: bool

    @property
    def fate(self) -> str:
        """One of FATES."""
        if not self.excursions:
            return NEVER_LEFT
        return RETURNED if self.excursions[-1].returned else LEFT_FOR_GOOD


def course(covered: np.ndarray, time_s: np.ndarray, success: bool, min_run: int = MIN_RUN) -> Course:
    """Return the excursions of one rollout.

    Args:
        covered: (K,) bool of each decision.
        time_s: (K,) increasing [s].
        success: of the rollout.
        min_run: decisions in a row that a change of side has to last.

    Raises:
        ConfigError: nothing was decided, the lengths differ or time does not increase.
    """
    covered, time_s = np.asarray(covered, dtype=bool), np.asarray(time_s, dtype=float)
    if not len(covered) or covered.shape != time_s.shape or (np.diff(time_s) <= 0).any():
        raise ConfigError(f"course: {covered.shape} sides at {time_s.shape} times, allowed are (K >= 1), increasing")
    inside = _without_short_runs(covered, min_run)
    # A side holds from its decision to the next one.
    lasts = np.append(np.diff(time_s), 0.0)
    excursions = []
    for begin, end in _runs(~inside):
        returned = end < len(inside)
        until = time_s[end] if returned else time_s[-1]
        excursions.append(Excursion(float(time_s[begin]), float(until - time_s[begin]), returned, begin > 0))
    return Course(tuple(excursions), float(lasts[inside].sum()), float(lasts[~inside].sum()), success)


def _without_short_runs(covered: np.ndarray, min_run: int) -> np.ndarray:
    """Return the sides without changes that do not last: a short run takes the side that was before it.

    The first run has none before it and takes the side of the one after it.
    """
    inside = covered.copy()
    edges = [0, *(np.flatnonzero(np.diff(covered)) + 1).tolist(), len(covered)]
    runs = list(zip(edges[:-1], edges[1:], strict=True))
    side = next((bool(covered[a]) for a, b in runs if b - a >= min_run), bool(covered[0]))
    for begin, end in runs:
        side = bool(covered[begin]) if end - begin >= min_run else side
        inside[begin:end] = side
    return inside


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """Return begin and end (exclusive) of each run of True."""
    change = np.diff(np.concatenate([[False], flags, [False]]).astype(int))
    return list(zip(np.flatnonzero(change == 1).tolist(), np.flatnonzero(change == -1).tolist(), strict=True))


@dataclass(frozen=True)
class Rate:
    """Events in some time, with the exact interval of a Poisson process (F. Garwood, Biometrika 28, 1936)."""

    events: int
    minutes: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values; without time there is no rate."""
        low, high = self.interval
        return {
            "events": self.events,
            "minutes": self.minutes,
            "per_minute": self.events / self.minutes if self.minutes > 0 else None,
            "low": low,
            "high": high,
        }

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """95 % interval of the rate [1/min]."""
        if self.minutes <= 0:
            return None, None
        low = chi2.ppf(0.025, 2 * self.events) / 2 if self.events else 0.0
        return float(low / self.minutes), float(chi2.ppf(0.975, 2 * self.events + 2) / 2 / self.minutes)

    def __str__(self) -> str:
        low, high = self.interval
        if low is None or high is None:
            return "n/a"
        return f"{self.events / self.minutes:.2f} ({low:.2f} to {high:.2f})"


@dataclass(frozen=True)
class Survival:
    """Share that is still outside after some time, by Kaplan and Meier (JASA 53, 1958)."""

    time_s: np.ndarray
    """(S,) times at which the share falls, increasing [s]."""
    share: np.ndarray
    """(S,) from there on; 1 before the first."""
    censored: int
    """Excursions of which only the beginning was seen."""

    @property
    def median_s(self) -> float | None:
        """First time at which at most half are still outside [s]; None if that was not seen."""
        below = np.flatnonzero(self.share <= 0.5 + 1e-12)
        return float(self.time_s[below[0]]) if len(below) else None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {
            "time_s": self.time_s.tolist(),
            "share": self.share.tolist(),
            "censored": self.censored,
            "median_s": self.median_s,
        }


def survival(duration_s: np.ndarray, returned: np.ndarray) -> Survival:
    """Return the share of excursions still outside over time; those that a rollout's end cut short are censored.

    Args:
        duration_s: (N,) [s].
        returned: (N,) bool; False is censored. What is censored at a time counts as outside at that time.
    """
    duration_s, returned = np.asarray(duration_s, dtype=float), np.asarray(returned, dtype=bool)
    times = np.unique(duration_s[returned])
    at_risk = np.array([(duration_s >= time).sum() for time in times])
    events = np.array([(duration_s[returned] == time).sum() for time in times])
    share = np.cumprod(1.0 - events / at_risk) if len(times) else np.empty(0)
    return Survival(times, share, int((~returned).sum()))


@dataclass(frozen=True)
class GettingBack:
    """All rollouts of a policy seen from the border of the covered region."""

    courses: tuple[Course, ...]

    @property
    def leaving(self) -> Rate:
        """Leaves in the time spent inside."""
        leaves = sum(excursion.left for one in self.courses for excursion in one.excursions)
        return Rate(leaves, sum(one.inside_s for one in self.courses) / 60)

    @property
    def returning(self) -> Rate:
        """Returns in the time spent outside."""
        returns = sum(excursion.returned for one in self.courses for excursion in one.excursions)
        return Rate(returns, sum(one.outside_s for one in self.courses) / 60)

    @property
    def time_outside(self) -> Survival:
        """How long excursions last."""
        excursions = [excursion for one in self.courses for excursion in one.excursions]
        return survival(
            np.array([excursion.duration_s for excursion in excursions]),
            np.array([excursion.returned for excursion in excursions], dtype=bool),
        )

    @property
    def by_fate(self) -> dict[str, tuple[int, int]]:
        """Successes and rollouts of each fate."""
        return {
            fate: (sum(one.success for one in self.courses if one.fate == fate), self._count(fate)) for fate in FATES
        }

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        rollouts = len(self.courses)
        return {
            "rollouts": rollouts,
            "leaves_per_rollout": self.leaving.events / rollouts if rollouts else None,
            "returns_per_rollout": self.returning.events / rollouts if rollouts else None,
            "began_outside": sum(bool(one.excursions) and not one.excursions[0].left for one in self.courses),
            "leaving": self.leaving.to_dict(),
            "returning": self.returning.to_dict(),
            "time_outside": self.time_outside.to_dict(),
            "success_by_fate": {
                fate: {"successes": good, "rollouts": count, "interval": wilson_interval(good, count)}
                for fate, (good, count) in self.by_fate.items()
            },
        }

    def _count(self, fate: str) -> int:
        return sum(one.fate == fate for one in self.courses)


def getting_back(
    covered: Sequence[np.ndarray], time_s: Sequence[np.ndarray], success: Sequence[bool], min_run: int = MIN_RUN
) -> GettingBack:
    """Return all rollouts of a policy, each with sides (K,), times (K,) [s] and success; see :func:`course`."""
    return GettingBack(tuple(course(*one, min_run) for one in zip(covered, time_s, success, strict=True)))
