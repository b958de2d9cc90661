"""The table of an evaluation: successes of each policy under each condition, and pairs of policies compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.intervals import interval_text, wilson_interval
from r2s2r.evaluation.judging import rate
from r2s2r.evaluation.paired import Paired
from r2s2r.evaluation.trial_result import TrialResult

SHIFTED = ("red_light", "fast_belt", "novel_object", "combined")
"""Conditions that no demonstration shows; together they are the column `shifted`."""

SUMS = ("shifted", "total")
"""Columns that add up conditions."""


@dataclass(frozen=True)
class PolicyTable:
    """Results of policies that were tried from the same starts.

    Raises:
        ConfigError: there are none, a trial comes twice, or the policies were not tried from the same starts.
    """

    policies: tuple[str, ...]
    """Names, in the order of the table."""
    conditions: tuple[str, ...]
    """Conditions, in the order of the table."""
    results: tuple[TrialResult, ...]
    """Sorted by policy, condition and number."""

    @classmethod
    def of(cls, policies: Sequence[str], conditions: Sequence[str], results: Iterable[TrialResult]) -> "PolicyTable":
        """Return the table; the results may come in any order."""
        names, rows = tuple(policies), tuple(conditions)
        chosen = [result for result in results if result.policy in names and result.condition in rows]
        ordered = sorted(chosen, key=lambda r: (names.index(r.policy), rows.index(r.condition), r.seed, r.number))
        return cls(names, rows, tuple(ordered))

    def __post_init__(self):
        if not self.policies or not self.results:
            raise ConfigError("table: no trials, at least one of one policy is needed")
        starts = [(result.policy, *result.start) for result in self.results]
        if len(set(starts)) < len(starts):
            twice = next(start for start in starts if starts.count(start) > 1)
            raise ConfigError(f"table: trial {twice} comes twice")
        self.comparisons()

    def counts(self, policy: str, column: str) -> tuple[int, int]:
        """Return successes and trials of a policy in a column: a condition, `shifted` or `total`."""
        within = {"shifted": SHIFTED, "total": self.conditions}.get(column, (column,))
        successes = [r.success for r in self.results if r.policy == policy and r.condition in within]
        return sum(successes), len(successes)

    def outcomes(self, policy: str) -> dict[str, int]:
        """Return how many trials of a policy ended each way, most frequent first."""
        labels = [result.outcome for result in self.results if result.policy == policy]
        return dict(sorted(((name, labels.count(name)) for name in set(labels)), key=lambda item: (-item[1], item[0])))

    def comparisons(self) -> list[Paired]:
        """Return every two policies compared over all trials, in the order of the table."""
        won = {
            name: {result.start: result.success for result in self.results if result.policy == name}
            for name in self.policies
        }
        return [Paired.of(first, second, won[first], won[second]) for first, second in combinations(self.policies, 2)]

    def rows(self) -> list[dict[str, str]]:
        """Return the table in words, a row for each policy; each rate with its counts and 95 % Wilson interval."""
        columns = (*self.conditions, *SUMS)
        return [
            {"policy": policy} | {column.replace("_", " "): _cell(*self.counts(policy, column)) for column in columns}
            for policy in self.policies
        ]

    def text(self) -> str:
        """Return the table for a terminal: counts, and the total with its interval."""
        columns = (*self.conditions, *SUMS)
        counts = [[f"{s}/{n}" for s, n in (self.counts(name, c) for c in columns)] for name in self.policies]
        ends = [interval_text(*self.counts(name, "total")) for name in self.policies]
        lines = [["policy", *columns, "95 % of total"]]
        lines += [[name, *cells, end] for name, cells, end in zip(self.policies, counts, ends, strict=True)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)) for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Return policies, their counts, and comparisons as JSON-able values."""
        return {
            "policies": {
                name: {
                    "conditions": {column: self._numbers(name, column) for column in self.conditions},
                    **{column: self._numbers(name, column) for column in SUMS},
                    "outcomes": self.outcomes(name),
                }
                for name in self.policies
            },
            "comparisons": [pair.to_dict() for pair in self.comparisons()],
        }

    def _numbers(self, policy: str, column: str) -> dict[str, Any]:
        successes, trials = self.counts(policy, column)
        interval = wilson_interval(successes, trials)
        return {"successes": successes, "trials": trials, "interval": None if interval is None else list(interval)}


def _cell(successes: int, trials: int) -> str:
    return f"{rate(successes, trials)} [{interval_text(successes, trials)}]" if trials else "n/a"
