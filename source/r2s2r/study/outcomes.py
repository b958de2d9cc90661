"""Who succeeded from which start, of one or several cells: what the study's table and effects are counted from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.trials import SPLIT
from r2s2r.evaluation.trial_result import TrialResult


@dataclass(frozen=True)
class Outcomes:
    """Successes of several policies from the same starts.

    Raises:
        ConfigError: shapes contradict each other or there is nothing.
    """

    policies: tuple[str, ...]
    """Names (P)."""
    conditions: tuple[str, ...]
    """Condition of each start (N)."""
    cells: tuple[int, ...]
    """Seed of the cell that each start belongs to (N)."""
    success: np.ndarray
    """(N, P) bool."""

    def __post_init__(self):
        shape = (len(self.conditions), len(self.policies))
        if self.success.shape != shape or len(self.cells) != shape[0] or not self.success.size:
            raise ConfigError(f"outcomes: {self.success.shape} successes, {len(self.cells)} cells, allowed is {shape}")

    def table(self) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """Return {policy: {"conditions": {condition: {"successes": s, "trials": n}}}}, cells pooled."""
        names = np.array(self.conditions)
        tried = [condition for condition in SPLIT if (names == condition).any()]
        return {
            policy: {
                "conditions": {
                    condition: {
                        "successes": int(self.success[names == condition, column].sum()),
                        "trials": int((names == condition).sum()),
                    }
                    for condition in tried
                }
            }
            for column, policy in enumerate(self.policies)
        }


def gather(results: Mapping[int, Sequence[TrialResult]], policies: Sequence[str]) -> Outcomes:
    """Return the outcomes of the trials of each cell.

    Args:
        results: trials by the seed of the cell.
        policies: in the order of the table.

    Raises:
        ConfigError: a policy was not tried from a start that another one was tried from, or twice.
    """
    conditions, cells, rows = [], [], []
    for cell, trials in results.items():
        by_start: dict[tuple[str, int, int], dict[str, bool]] = {}
        for result in trials:
            tried = by_start.setdefault(result.start, {})
            if result.policy in tried:
                raise ConfigError(f"cell {cell}: {result.policy} was tried twice in {result.trial}")
            tried[result.policy] = result.success
        for start in sorted(by_start, key=lambda each: (list(SPLIT).index(each[0]), each[1:])):
            missing = [name for name in policies if name not in by_start[start]]
            if missing:
                raise ConfigError(f"cell {cell}: {', '.join(missing)} not tried in {start[0]} {start[1]}")
            conditions.append(start[0])
            cells.append(cell)
            rows.append([by_start[start][name] for name in policies])
    return Outcomes(tuple(policies), tuple(conditions), tuple(cells), np.array(rows, dtype=bool).reshape(len(rows), -1))
