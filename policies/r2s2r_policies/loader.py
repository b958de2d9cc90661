"""Batches of a mixture, read ahead in threads, the same whatever was drawn before."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r_policies.mixture import DOMAINS, Mixture
from r2s2r_policies.policy_cfg import earlier_keys
from r2s2r_policies.sampling import MixtureSampler

Batch = dict[str, Any]


@dataclass
class _Coming:
    """A batch whose pictures are being read."""

    number: int
    batch: Batch
    parts: list["Future[None]"]


@dataclass
class _Read:
    """Pictures to be read."""

    name: str
    """Their key in the batch."""
    key: str
    """Their key in the data."""
    rows: np.ndarray
    """(B, T) within each sample's source."""
    out: np.ndarray
    """(B, T, H, W, 3) uint8, filled by the threads."""


class MixtureLoader:
    """Endless iterator of batches; batch k of a seed is always the same, so training resumes by its number alone.

    A batch holds NumPy arrays:

    - `obs`: `joint_pos` (B, T, 23) float32 [rad], each picture key (B, T, H, W, 3) uint8, T = history; with
      `earlier_steps` also the keys of `policy_cfg.EARLIER`, (B, 1, H, W, 3);
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
        earlier_steps: How many steps before the sample earlier pictures are from; 0: there are none.

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
        earlier_steps: int = 0,
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
        self._sequence, self._earlier_steps = sequence, earlier_steps
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
        shown, learned, mask, earlier = self._rows(source, index)
        actions = np.empty((*learned.shape, mixture.data[0].actions.shape[1]), np.float32)
        joint_pos = np.empty((*shown.shape, mixture.data[0].joint_pos.shape[1]), np.float32)
        for here, data in zip(self._places(source), mixture.data, strict=True):
            actions[here], joint_pos[here] = data.actions[learned[here]], data.joint_pos[shown[here]]
        wanted = [(key, key, shown) for key in mixture.picture_keys]
        if self._earlier_steps:
            wanted += [(name, key, earlier) for key, name in earlier_keys(mixture.picture_keys).items()]
        shapes = mixture.picture_shapes
        reads = [_Read(name, key, rows, np.empty((*rows.shape, *shapes[key]), np.uint8)) for name, key, rows in wanted]
        batch = {
            "obs": {"joint_pos": joint_pos, **{read.name: read.out for read in reads}},
            "actions": actions,
            "mask": mask,
            "domain": self._domains[source],
            "source": source,
        }
        parts = [
            self._pool.submit(self._read, reads, source, slice(first, None, self._threads))
            for first in range(self._threads if reads else 0)
        ]
        return _Coming(number, batch, parts)

    def _rows(self, source: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return, within its source, rows that each sample shows, rows it learns, their mask, and the row earlier."""
        parts = []
        for here, windows in zip(self._places(source), self.mixture.windows, strict=True):
            rows = windows.samples[index[here]]
            learned, mask = windows.sequence(rows) if self._sequence else windows.learned(rows)
            earlier = windows.earlier(rows, self._earlier_steps)[:, None]
            parts.append((learned if self._sequence else windows.shown(rows), learned, mask, earlier))
        # Parts lie source by source; back to the order of the batch.
        back = np.argsort(np.concatenate(self._places(source)))
        return tuple(np.concatenate(column)[back] for column in zip(*parts, strict=True))

    def _places(self, source: np.ndarray) -> list[np.ndarray]:
        """Return which samples of a batch are of each source."""
        return [np.flatnonzero(source == number) for number in range(len(self.mixture.sources))]

    def _read(self, reads: "list[_Read]", source: np.ndarray, part: slice) -> None:
        for read in reads:
            tables = [data.pictures[read.key] for data in self.mixture.data]
            for sample in range(len(source))[part]:
                table, seen = tables[source[sample]], {}
                for place, row in enumerate(read.rows[sample].tolist()):
                    # A window that is padded at an end of its episode shows a picture several times.
                    if row in seen:
                        read.out[sample, place] = read.out[sample, seen[row]]
                    else:
                        table.read(row, read.out[sample, place])
                        seen[row] = place
