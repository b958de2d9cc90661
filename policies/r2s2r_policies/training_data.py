"""The data of a training run: batches to learn from, held-out batches to measure with, and what data it was."""

import hashlib
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.files import file_sha256
from r2s2r.dataset.hdf5_file import open_for_reading
from r2s2r.dataset.schema import natural_order
from r2s2r_policies.checkpoint import PolicyTask
from r2s2r_policies.distributed import Ranks
from r2s2r_policies.loader import Batch, MixtureLoader
from r2s2r_policies.mixture import Mixture
from r2s2r_policies.policy_numbers import PolicyNumbers
from r2s2r_policies.train_settings import TrainSettings

HELD_OUT = "valid"
"""Mask of the demonstrations that are not learned from."""

HELD_OUT_SEED = 0
"""Seed of the held-out samples and of what is drawn with them: all runs on the same data are measured alike."""


@dataclass(frozen=True)
class SampleShape:
    """Which rows an algorithm wants in a sample."""

    chunk: int
    history: int
    sequence: bool
    """Whether observations span the whole window, as robomimic lays them out."""
    earlier_steps: int = 0
    """How many steps before the observation earlier pictures are from; 0: none are wanted."""


class TrainingData:
    """Opens the sources of a run; a context manager.

    Args:
        settings: names the sources.
        shape: rows of a sample, as the algorithm wants them.
        ranks: this process among those that train together.

    Raises:
        DatasetError: a source cannot be read, or differs from the others in what must be shared.
        ConfigError: weights that do not sum to 1, or a batch that cannot be divided among the processes.
    """

    def __init__(self, settings: TrainSettings, shape: SampleShape, ranks: Ranks):
        self._settings, self._shape, self._ranks = settings, shape, ranks
        with ExitStack() as opening:
            self.mixture = opening.enter_context(Mixture(settings.sources, shape.chunk, shape.history))
            self.numbers = PolicyNumbers.of(self.mixture, shape.sequence)
            self.task = _task(self.mixture)
            self.loader = opening.enter_context(self._loader(self.mixture, settings.seed))
            self.held_out = self._held_out()
            self._resources = opening.pop_all()

    def __enter__(self) -> "TrainingData":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._resources.close()

    def go_to(self, step: int) -> None:
        """Let the next batch be the one of training step `step`."""
        self.loader.set_state({**self.loader.state(), "next": step})

    def identity(self) -> list[dict[str, Any]]:
        """Return what each source holds, wherever it lies: `name` and `sha256` of its content."""
        paths = [Path(source.path) for source in self._settings.sources]
        return [{"name": path.name, "sha256": content_sha256(path)} for path in paths]

    def _held_out(self) -> list[Batch]:
        """Return the held-out batches: of real demonstrations, or of the simulated ones where there are no real ones.

        Empty where no source holds any demonstrations out.
        """
        sources = self._settings.sources
        real = [source for source in sources if source.domain == "real"] or list(sources)
        there = [source for source in real if _holds_out(Path(source.path))]
        if not there:
            return []
        shares = [replace(source, weight=1.0 / len(there), filter_key=HELD_OUT) for source in there]
        mixture = Mixture(shares, self._shape.chunk, self._shape.history)
        with mixture, self._loader(mixture, HELD_OUT_SEED) as loader:
            return [loader.batch(number) for number in range(self._settings.held_out_batches)]

    def _loader(self, mixture: Mixture, seed: int) -> MixtureLoader:
        return MixtureLoader(
            mixture,
            self._settings.batch_size,
            seed,
            threads=self._settings.loader_threads,
            rank=self._ranks.rank,
            world_size=self._ranks.world_size,
            sequence=self._shape.sequence,
            earlier_steps=self._shape.earlier_steps,
        )


def content_sha256(path: Path) -> str:
    """Return a SHA-256 of a data set's episodes and masks; of the whole file where episodes do not state their own."""
    with open_for_reading(path) as file:
        data = file["data"]
        stated = [str(data[name].attrs.get("content_sha256", "")) for name in natural_order(data)]
        masks = file.get("mask", {})
        parts = stated + [f"{name}:{entry.decode()}" for name in sorted(masks) for entry in masks[name][()]]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest() if all(stated) else file_sha256(path)


def _holds_out(path: Path) -> bool:
    with open_for_reading(path) as file:
        return len(file.get("mask", {}).get(HELD_OUT, ())) > 0


def _task(mixture: Mixture) -> PolicyTask:
    """Return what a policy of this data is for.

    Raises:
        DatasetError: pictures are not square and of one size.
    """
    shapes = mixture.picture_shapes
    sizes = {size for shape in shapes.values() for size in shape[:2]}
    if len(sizes) != 1:
        told = ", ".join(f"{key} {shape[1]} x {shape[0]}" for key, shape in shapes.items())
        raise DatasetError(f"{mixture.data[0].facts.where}: pictures {told}; policies take square ones of one size")
    return PolicyTask(
        rate_hz=mixture.rate_hz,
        picture_size=sizes.pop(),
        picture_keys=tuple(mixture.picture_keys),
        hand_variant=mixture.data[0].facts.hand_variant,
    )
