"""Training and validation masks that never share a source demonstration."""

from collections.abc import Mapping

import numpy as np

from r2s2r.contracts.errors import DatasetError


def split_by_source(sources: Mapping[str, str], valid_fraction: float, seed: int) -> tuple[list[str], list[str]]:
    """Return the names of the training and of the validation episodes.

    Adapted copies of one demonstration are near-duplicates: whole sources go to one side. Of S sources,
    `round(valid_fraction * S)` are held out, at least one and never all; of a single source none.

    Args:
        sources: Source demonstration of each episode, in the order of the episodes.
        valid_fraction: Share of the sources to hold out, 0 up to below 1.
        seed: Seed of the choice.

    Raises:
        DatasetError: `valid_fraction` is out of its range.
    """
    if not 0 <= valid_fraction < 1:
        raise DatasetError(f"valid_fraction: received {valid_fraction}, allowed is 0 up to below 1")
    # By text: the choice depends on which sources there are, not on the order in which they were recorded.
    names = sorted(set(sources.values()))
    count = 0
    if valid_fraction > 0:
        count = min(max(1, round(valid_fraction * len(names))), max(0, len(names) - 1))
    held_out = {names[i] for i in np.random.default_rng(seed).permutation(len(names))[:count]}
    train = [episode for episode, source in sources.items() if source not in held_out]
    valid = [episode for episode, source in sources.items() if source in held_out]
    return train, valid


def leaked_sources(sources: Mapping[str, str], train: list[str], valid: list[str]) -> list[str]:
    """Return the source demonstrations that have episodes on both sides."""
    return sorted({sources[name] for name in train if name in sources} & {sources[n] for n in valid if n in sources})
