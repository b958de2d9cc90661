"""Numbers of several kinds on one scale: what a distance between states, or between actions, counts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError


@dataclass(frozen=True)
class Group:
    """Numbers of one kind that stand side by side."""

    name: str
    size: int
    """How many numbers."""
    resolution: float
    """The smallest difference that means anything, in the numbers' unit."""


@dataclass(frozen=True)
class BalancedScale:
    """Takes vectors (..., F) to ones whose Euclidean distance counts every group alike.

    Each number is divided by its standard deviation in the reference, or by its group's resolution where that is
    larger: noise of a joint that is always held alike must not become the measure. The square root of the group's size
    follows, so that sixteen joints of a hand do not outvote three numbers of a position.
    """

    groups: tuple[Group, ...]
    centre: np.ndarray
    """(F,) mean of the reference."""
    scale: np.ndarray
    """(F,) what counts as one."""

    @staticmethod
    def fit(reference: np.ndarray, groups: Sequence[Group]) -> "BalancedScale":
        """Return the scale of a reference (N, F).

        Raises:
            ConfigError: the width is not the groups', there are fewer than two rows, or a number is not finite.
        """
        reference = np.asarray(reference, dtype=float)
        width = sum(group.size for group in groups)
        if reference.ndim != 2 or reference.shape[1] != width or len(reference) < 2:
            raise ConfigError(f"scale: received {reference.shape}, allowed are 2 rows and more of {width} numbers")
        if not np.isfinite(reference).all():
            raise ConfigError("scale: a number of the reference is not finite")
        resolution = np.concatenate([np.full(group.size, group.resolution) for group in groups])
        root = np.concatenate([np.full(group.size, np.sqrt(group.size)) for group in groups])
        return BalancedScale(
            tuple(groups), reference.mean(axis=0), np.maximum(reference.std(axis=0), resolution) * root
        )

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return `values` (..., F) on this scale."""
        return (np.asarray(values, dtype=float) - self.centre) / self.scale
