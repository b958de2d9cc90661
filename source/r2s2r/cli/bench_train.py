"""`r2s2r bench train`: a training step against bare arithmetic of the same network, alternated in one run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.provenance import machine, versions

TARGET_RATIO = 1.1


@dataclass(frozen=True)
class BenchTrain(Verb):
    """Time of a training step over that of a bare one: forward, backward and optimiser on a resident batch.

    Target: at most 1.1 times.
    """

    data: Annotated[Path, tyro.conf.Positional]
    """Data set with pictures."""

    size: str = "tiny"
    """Policy of a named size: tiny, small, base or paper."""

    batch_size: int = 64
    """Samples of a step."""

    steps: int = 10
    """Steps of a measurement."""

    repetitions: int = 5
    """Measurements of each; the median of the ratios counts."""

    threads: int = 1
    """CPU threads of the network."""

    loader_threads: int = 1
    """Threads that read pictures."""

    device: str = "cpu"
    """cpu, or a CUDA device such as cuda:0."""

    def run(self) -> dict[str, Any]:
        """Measure, print a line, and return the times and ratios with machine and versions."""
        self.check_counts("batch_size", "steps", "repetitions", "threads", "loader_threads")
        # Loaded here, so that `--help` does not wait for torch.
        from r2s2r_policies.algorithms import named_algorithm
        from r2s2r_policies.bench_train import TrainBench, measure_training
        from r2s2r_policies.mixture import Source
        from r2s2r_policies.train_settings import TrainSettings

        settings = TrainSettings(
            sources=(Source(self.data, 1.0, "sim"),),
            algorithm=named_algorithm(self.size),
            batch_size=self.batch_size,
            threads=self.threads,
            loader_threads=self.loader_threads,
            device=self.device,
        )
        measured = measure_training(settings, TrainBench(self.steps, self.repetitions))
        low, high = min(measured["ratios"]), max(measured["ratios"])
        print(
            f"train, {self.size}, batches of {self.batch_size}: {1e3 * measured['step_s']:.1f} ms a step, bare "
            f"{1e3 * measured['bare_step_s']:.1f} ms, ratio {measured['ratio']:.3f} ({low:.3f} to {high:.3f}), "
            f"target at most {TARGET_RATIO}"
        )
        return {
            **measured,
            "target_ratio": TARGET_RATIO,
            "size": self.size,
            "batch_size": self.batch_size,
            "machine": machine(),
            "versions": versions(),
        }
