"""Which rows a training sample is made of: what was seen up to a step, and the actions from it on."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from r2s2r.contracts.errors import ConfigError


@dataclass(frozen=True)
class Windows:
    """The samples of a table of R rows, in which E episodes lie one behind the other.

    A sample is a row t. It shows rows t-history+1 to t and learns the actions of rows t to t+chunk-1. Before an
    episode its first row is repeated, behind it its last one; actions that are repeated, or whose row is not `usable`,
    are masked.

    Raises:
        ConfigError: `chunk` or `history` is below 1.
    """

    lengths: np.ndarray
    """Rows of each episode (E,), none empty."""
    usable: np.ndarray
    """Whether the action of each row may be learned (R,) bool."""
    chunk: int
    """Actions of a sample."""
    history: int = 1
    """Rows that a sample shows."""

    def __post_init__(self):
        for name in ("chunk", "history"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: received {getattr(self, name)}, allowed are 1 and more")

    @cached_property
    def first(self) -> np.ndarray:
        """First row of the episode of each row (R,)."""
        return np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)

    @cached_property
    def last(self) -> np.ndarray:
        """Last row of the episode of each row (R,)."""
        return np.repeat(np.cumsum(self.lengths) - 1, self.lengths)

    @cached_property
    def samples(self) -> np.ndarray:
        """Rows (N,) with at least one action to learn; the others would teach nothing."""
        seen = np.concatenate([[0], np.cumsum(self.usable)])
        rows = np.arange(len(self.usable))
        return np.flatnonzero(seen[np.minimum(rows + self.chunk, self.last + 1)] > seen[rows])

    @property
    def padding_share(self) -> float:
        """Share of all actions of all windows that lie behind the end of their episode."""
        behind = np.minimum(self.lengths, self.chunk)
        # The last row lacks chunk-1 actions, the one before chunk-2, and so on, as far as the episode reaches.
        missing = behind * self.chunk - behind * (behind + 1) // 2
        return float(missing.sum() / (self.lengths.sum() * self.chunk))

    def shown(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows (B, history) that the samples `rows` (B,) show, the oldest first."""
        return np.maximum(rows[:, None] + np.arange(1 - self.history, 1), self.first[rows][:, None])

    def earlier(self, rows: np.ndarray, steps: int) -> np.ndarray:
        """Return the rows (B,) that lie `steps` before the samples `rows` (B,), or the first of their episodes."""
        return np.maximum(rows - steps, self.first[rows])

    def learned(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the actions of the samples `rows` (B,), and which of them count, both (B, chunk)."""
        return self._clipped(rows, np.arange(self.chunk))

    def sequence(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all rows of the samples `rows` (B,), t-history+1 to t+chunk-1, and which of their actions count.

        Both are (B, history-1+chunk), as robomimic's `SequenceDataset` lays out `frame_stack` and `seq_length`.
        """
        return self._clipped(rows, np.arange(1 - self.history, self.chunk))

    def _clipped(self, rows: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = rows[:, None] + offsets
        there = np.clip(wanted, self.first[rows][:, None], self.last[rows][:, None])
        return there, (there == wanted) & self.usable[there]
