"""Which sample comes when: a function of seed and number alone, so that training resumes to the step."""

from collections.abc import Sequence

import numpy as np

_ORDER, _PASS = 0, 1
"""Streams of random numbers: the order within a batch, and the order within a pass over a source."""


class MixtureSampler:
    """Draws from several sources with a share for each *sample*; neither sets nor episodes are weighted.

    The shares are kept exactly: after n samples, source s was drawn `weight * n` times, up to the rounding of its
    cumulative share. Each source is passed through in a new random order every time, without replacement.

    Args:
        counts: Samples of each source (S).
        weights: Share of each source (S), summing to 1.
        seed: Seed of all orders.
    """

    def __init__(self, counts: Sequence[int], weights: Sequence[float], seed: int):
        self._counts = list(counts)
        self._cumulative = np.cumsum(weights)
        self._cumulative[-1] = 1.0
        # Sources behind the last one with a weight must not be drawn because of rounding.
        for source in reversed(range(len(weights))):
            if weights[source] > 0:
                self._cumulative[source:] = 1.0
                break
        self._seed = seed
        self._orders: dict[tuple[int, int], np.ndarray] = {}

    def drawn(self, samples: int) -> np.ndarray:
        """Return how often each source was drawn (S,) within the first `samples` samples."""
        return np.diff(np.floor(self._cumulative * samples + 0.5), prepend=0.0).astype(np.int64)

    def batch(self, number: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return source and index within the source of each sample of batch `number` of `size`, both (size,)."""
        before, after = self.drawn(number * size), self.drawn((number + 1) * size)
        source = np.repeat(np.arange(len(before)), after - before)
        index = np.concatenate([self._draws(s, before[s], after[s]) for s in range(len(before))])
        mixed = self._generator(_ORDER, 0, number).permutation(size)
        return source[mixed], index[mixed]

    def _draws(self, source: int, start: int, stop: int) -> np.ndarray:
        draws, index = np.arange(start, stop), np.zeros(stop - start, np.int64)
        if not len(draws):
            return index
        passes, places = np.divmod(draws, self._counts[source])
        for number in np.unique(passes):
            here = passes == number
            index[here] = self._order(source, int(number))[places[here]]
        return index

    def _order(self, source: int, number: int) -> np.ndarray:
        """Return the order of pass `number` over `source`; the last two of each source are kept."""
        key = (source, number)
        if key not in self._orders:
            for old in [(s, n) for s, n in self._orders if s == source and n != number - 1]:
                del self._orders[old]
            self._orders[key] = self._generator(_PASS, source, number).permutation(self._counts[source])
        return self._orders[key]

    def _generator(self, stream: int, source: int, number: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(np.random.SeedSequence((self._seed, stream, source, number))))
