"""Who succeeded from which start, of one or several cells: what effects are counted from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.policy_table import PolicyTable


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

    @classmethod
    def of(cls, tables: Mapping[int, PolicyTable]) -> "Outcomes":
        """Return the outcomes of each cell's table, by the seed of the cell.

        Raises:
            ConfigError: there is no table, or they are not of the same policies.
        """
        if not tables:
            raise ConfigError("outcomes: no table, at least one is needed")
        policies = next(iter(tables.values())).policies
        conditions: list[str] = []
        cells: list[int] = []
        columns: dict[str, list[bool]] = {name: [] for name in policies}
        for cell, table in tables.items():
            if table.policies != policies:
                raise ConfigError(f"outcomes: cell {cell} has the policies {table.policies}, allowed are {policies}")
            starts = [result.condition for result in table.results if result.policy == policies[0]]
            conditions += starts
            cells += [cell] * len(starts)
            for name in policies:  # a table's results are sorted, and its policies were tried from the same starts
                columns[name] += [result.success for result in table.results if result.policy == name]
        return cls(policies, tuple(conditions), tuple(cells), np.array(list(columns.values()), dtype=bool).T)
