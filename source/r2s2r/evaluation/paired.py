"""Two policies tried from the same starts: exact test, interval of the difference, whether they can be told apart."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.intervals import wilson_interval

SIGNIFICANCE = 0.05
"""Two policies whose test gives a larger p-value are called not separable."""

NOT_SEPARABLE = "not separable"
"""Verdict on two policies that the trials cannot tell apart."""


@dataclass(frozen=True)
class Paired:
    """How often both, one, or neither of two policies succeeded from the same starts.

    Raises:
        ConfigError: a count is negative, or there is no trial.
    """

    first: str
    """Name of one policy."""
    second: str
    """Name of the other."""
    both: int
    """Starts from which both succeeded."""
    only_first: int
    """Starts from which only `first` did."""
    only_second: int
    """Starts from which only `second` did."""
    neither: int
    """Starts from which none did."""

    def __post_init__(self):
        counts = (self.both, self.only_first, self.only_second, self.neither)
        if min(counts) < 0 or sum(counts) == 0:
            raise ConfigError(f"paired trials: counts are {counts}, allowed are 0 and more, at least one above 0")

    @classmethod
    def of[Start: Hashable](
        cls, first: str, second: str, ones: Mapping[Start, bool], others: Mapping[Start, bool]
    ) -> "Paired":
        """Count two policies' successes by start.

        Raises:
            ConfigError: they were not tried from the same starts, or not at all.
        """
        unpaired = sorted(map(str, set(ones) ^ set(others)))
        if unpaired:
            raise ConfigError(
                f"{first} and {second} were not tried from the same starts: {len(unpaired)} are of one alone, such as "
                f"{unpaired[0]}; only paired trials are compared"
            )
        pairs = [(ones[start], others[start]) for start in ones]
        return cls(
            first, second, *(pairs.count(k) for k in ((True, True), (True, False), (False, True), (False, False)))
        )

    @property
    def trials(self) -> int:
        """Number of starts."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> float:
        """Success rate of `second` minus that of `first`."""
        return (self.only_second - self.only_first) / self.trials

    def p_value(self) -> float:
        """Return the two-sided p-value of McNemar's test, exact: only the starts that tell the two apart count.

        Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
        Psychometrika 12, 1947; under equal rates each such start is a fair coin.
        """
        from scipy.stats import binomtest  # here, so that a module that only counts does not wait for it

        discordant = self.only_first + self.only_second
        return float(binomtest(self.only_second, discordant, 0.5).pvalue) if discordant else 1.0

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval of `difference`, -1..1.

        Method 10 of R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions
        based on paired data", Statistics in Medicine 17, 1998: Wilson's intervals of both rates, combined with their
        correlation. The test above is exact and the interval is not, so that near the limit they may disagree; the
        verdict follows the test.
        """
        n = self.trials
        wins = self.both + self.only_second, self.both + self.only_first
        rate_2, rate_1 = wins[0] / n, wins[1] / n
        # There is at least one trial, so that both have an interval.
        low_2, high_2 = wilson_interval(wins[0], n, confidence) or (0.0, 1.0)
        low_1, high_1 = wilson_interval(wins[1], n, confidence) or (0.0, 1.0)
        phi = self._correlation()
        below = _combined(rate_2 - low_2, high_1 - rate_1, phi)
        above = _combined(high_2 - rate_2, rate_1 - low_1, phi)
        return max(-1.0, self.difference - below), min(1.0, self.difference + above)

    def verdict(self) -> str:
        """Return who is better in words, or that the trials do not tell."""
        if self.p_value() > SIGNIFICANCE:
            return NOT_SEPARABLE
        better, worse = (self.second, self.first) if self.difference > 0.0 else (self.first, self.second)
        return f"{better} is better than {worse}"

    def to_dict(self) -> dict[str, Any]:
        """Return counts and conclusions as JSON-able values."""
        return {
            "first": self.first,
            "second": self.second,
            "both": self.both,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "neither": self.neither,
            "difference": self.difference,
            "interval": list(self.interval()),
            "p_value": self.p_value(),
            "verdict": self.verdict(),
        }

    def _correlation(self) -> float:
        """Return Newcombe's phi: of the four-fold table, with a continuity correction where it is positive."""
        a, b, c, d = self.both, self.only_second, self.only_first, self.neither
        margins = (a + b) * (c + d) * (a + c) * (b + d)
        if margins == 0:
            return 0.0
        product = a * d - b * c
        corrected = max(product - self.trials / 2, 0.0) if product > 0 else product
        return corrected / sqrt(margins)


def _combined(one: float, other: float, phi: float) -> float:
    return sqrt(max(0.0, one * one - 2.0 * phi * one * other + other * other))
