"""Batches of a mixture, read ahead in threads, the same whatever was drawn before."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r_policies.mixture import DOMAINS, Mixture
from r2s2r_policies.sampling import MixtureSampler

Batch = dict[str, Any]


@dataclass
class _Coming:
    """A batch whose pictures are being read."""

    number: int
    batch: Batch
    parts: list["Future[None]"]


class MixtureLoader:
    """Endless iterator of batches; batch k of a seed is always the same, so training resumes by its number alone.

    A batch holds NumPy arrays:

    - `obs`: `joint_pos` (B, T, 23) float32 [rad], each picture key (B, T, H, W, 3) uint8, T = history;
    - `actions` (B, chunk, 25) float32; `mask` (B, chunk) bool, False where an action is no target to learn;
    - `domain` (B,) int64, 0 real and 1 sim; `source` (B,) int64, its number in the mixture.

    With `sequence`, observations, actions and mask all span rows t-history+1 to t+chunk-1, as robomimic's algorithms
    expect (`frame_stack` = history, `seq_length` = chunk).

    Args:
        mixture: What to draw from; it must stay open.
        batch_size: Samples of a global batch, over all ranks.
        seed: Seed of the order.
        threads: Threads that read and inflate pictures, beside the caller's.
        rank: Part of the global batch that this process gets.
        world_size: Parts that a global batch is divided into.
        sequence: Shape of the windows, see above.

    Raises:
        ConfigError: an argument is out of its range.
    """

    def __init__(
        self,
        mixture: Mixture,
        batch_size: int,
        seed: int,
        threads: int = 1,
        rank: int = 0,
        world_size: int = 1,
        sequence: bool = False,
    ):
        for name, value in (("batch_size", batch_size), ("threads", threads), ("world_size", world_size)):
            if value < 1:
                raise ConfigError(f"{name}: received {value}, allowed are 1 and more")
        if not 0 <= rank < world_size:
            raise ConfigError(f"rank: received {rank}, allowed are 0 to {world_size - 1}")
        if batch_size % world_size:
            raise ConfigError(f"batch_size: received {batch_size}, allowed are multiples of world_size {world_size}")
        if seed < 0:
            raise ConfigError(f"seed: received {seed}, allowed are 0 and more")
        self.mixture = mixture
        self.batch_size = batch_size
        self._identity = {"seed": seed, "batch_size": batch_size, "counts": mixture.counts, "weights": mixture.weights}
        self._sampler = MixtureSampler(mixture.counts, mixture.weights, seed)
        self._domains = np.array([DOMAINS.index(source.domain) for source in mixture.sources])
        self._part = slice(rank, None, world_size)
        self._sequence = sequence
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="pictures")
        self._next = 0
        self._coming: _Coming | None = None

    def __enter__(self) -> "MixtureLoader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __iter__(self) -> "MixtureLoader":
        return self

    def __next__(self) -> Batch:
        """Return the next batch; the one after it is read meanwhile.

        Raises:
            DatasetError: a picture is damaged.
        """
        coming = self._coming
        if coming is None or coming.number != self._next:
            coming = self._begin(self._next)
        self._coming = self._begin(self._next + 1)
        for part in coming.parts:
            part.result()
        self._next += 1
        return coming.batch

    def batch(self, number: int) -> Batch:
        """Return batch `number`, without moving the iterator.

        Raises:
            DatasetError: a picture is damaged.
        """
        coming = self._begin(number)
        for part in coming.parts:
            part.result()
        return coming.batch

    def state(self) -> dict[str, Any]:
        """Return what :meth:`set_state` needs to go on with the batch that comes next; JSON-able."""
        return {**self._identity, "next": self._next}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where a loader of the same data and seed was.

        Raises:
            ConfigError: the state is of another seed, batch size or mixture.
        """
        changed = [name for name, value in self._identity.items() if state.get(name) != value]
        if changed:
            told = ", ".join(f"{name} {state.get(name)} against {self._identity[name]}" for name in changed)
            raise ConfigError(f"loader: the state is of other data: {told}; resume with what it was begun with")
        self._next = int(state["next"])

    def progress(self) -> list[dict[str, Any]]:
        """Return, for each source, how many samples were given, their share of all, and the passes over the source."""
        drawn = self._sampler.drawn(self._next * self.batch_size)
        return [
            {
                "path": str(source.path),
                "domain": source.domain,
                "drawn": int(count),
                "share": int(count) / max(1, int(drawn.sum())),
                "passes": int(count) / samples,
            }
            for source, count, samples in zip(self.mixture.sources, drawn, self.mixture.counts, strict=True)
        ]

    def _begin(self, number: int) -> _Coming:
        """Gather the numbers of a batch and let the threads read its pictures."""
        mixture = self.mixture
        source, index = (drawn[self._part] for drawn in self._sampler.batch(number, self.batch_size))
        shown, learned, mask = self._rows(source, index)
        actions = np.empty((*learned.shape, mixture.data[0].actions.shape[1]), np.float32)
        joint_pos = np.empty((*shown.shape, mixture.data[0].joint_pos.shape[1]), np.float32)
        for here, data in zip(self._places(source), mixture.data, strict=True):
            actions[here], joint_pos[here] = data.actions[learned[here]], data.joint_pos[shown[here]]
        pictures = {key: np.empty((*shown.shape, *shape), np.uint8) for key, shape in mixture.picture_shapes.items()}
        batch = {
            "obs": {"joint_pos": joint_pos, **pictures},
            "actions": actions,
            "mask": mask,
            "domain": self._domains[source],
            "source": source,
        }
        parts = [
            self._pool.submit(self._read, pictures, source, shown, slice(first, None, self._threads))
            for first in range(self._threads if pictures else 0)
        ]
        return _Coming(number, batch, parts)

    def _rows(self, source: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows to show and rows to learn of each sample, within its source, and the mask of the latter."""
        parts = []
        for here, windows in zip(self._places(source), self.mixture.windows, strict=True):
            rows = windows.samples[index[here]]
            learned, mask = windows.sequence(rows) if self._sequence else windows.learned(rows)
            parts.append((learned if self._sequence else windows.shown(rows), learned, mask))
        # Parts lie source by source; back to the order of the batch.
        back = np.argsort(np.concatenate(self._places(source)))
        shown, learned, mask = (np.concatenate(column)[back] for column in zip(*parts, strict=True))
        return shown, learned, mask

    def _places(self, source: np.ndarray) -> list[np.ndarray]:
        """Return which samples of a batch are of each source."""
        return [np.flatnonzero(source == number) for number in range(len(self.mixture.sources))]

    def _read(self, pictures: dict[str, np.ndarray], source: np.ndarray, shown: np.ndarray, part: slice) -> None:
        for key, out in pictures.items():
            tables = [data.pictures[key] for data in self.mixture.data]
            for sample in range(len(source))[part]:
                table, seen = tables[source[sample]], {}
                for place, row in enumerate(shown[sample].tolist()):
                    # A window that is padded at an end of its episode shows a picture several times.
                    if row in seen:
                        out[sample, place] = out[sample, seen[row]]
                    else:
                        table.read(row, out[sample, place])
                        seen[row] = place
