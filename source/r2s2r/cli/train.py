"""`r2s2r train`: learn a policy from real and simulated demonstrations together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError, TrainingError


@dataclass(frozen=True)
class Train(Verb):
    """Train a policy: checkpoints/, metrics.jsonl, settings.json.

    An interrupted run goes on with --resume and comes to the same weights; with a greater --steps it is extended.
    Several processes train together under torchrun, started as `torchrun --nproc-per-node N -m r2s2r.cli.main train`.
    """

    out: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""

    data: tuple[str, ...]
    """Data sets as DOMAIN=FILE, the domain real or sim: real=demos.hdf5 sim=dataset.hdf5."""

    weights: tuple[float, ...] = ()
    """Share of the samples of each data set, in their order, summing to 1. None given: equal shares."""

    size: str = "tiny"
    """Flow-matching policy of a named size: tiny, small, base or paper (1, 5, 80, 500 million parameters)."""

    config: Path | None = None
    """A configuration of robomimic instead: flow_matching, or bc with its BC-RNN and BC-Transformer."""

    steps: int = 20_000
    """Training steps in all, those of a resumed run included."""

    decay_steps: int = 0
    """Last steps, in which the learning rate falls to 0; 0 for a run that is to be extended."""

    batch_size: int | None = None
    """Samples of a step, over all processes; None: the configuration's."""

    learning_rate: float | None = None
    """Full learning rate; None: the configuration's."""

    warmup_steps: int = 200
    """First steps, in which the learning rate rises."""

    held_out_every: int = 500
    """Steps between measurements on the held-out demonstrations, of the real data sets if there are any."""

    save_every: int = 500
    """Steps between checkpoints; the newest two are kept."""

    trim_idle: bool = False
    """Leave out the idle start of each demonstration."""

    seed: int = 0
    """Seed of weights, order of samples, noise and augmentation."""

    threads: int = 1
    """CPU threads of the network; beside a busy process more than are free slow it down many times."""

    loader_threads: int = 1
    """Threads that read pictures."""

    device: str = "cpu"
    """cpu, or a CUDA device such as cuda:0."""

    resume: bool = False
    """Go on with the run in the folder."""

    def run(self) -> dict[str, Any]:
        """Train and return steps, losses, size and checkpoint."""
        self.check_counts("steps")
        self.check_seed(self.seed)
        if not 0 <= self.decay_steps <= self.steps:
            raise ConfigError(f"--decay-steps: received {self.decay_steps}, allowed are 0 to --steps {self.steps}")
        if not self.resume and self.out.is_dir() and any(self.out.iterdir()):
            raise TrainingError(
                f"{self.out}: is not empty; --resume goes on with the run there, or name another folder"
            )
        domains, paths, weights = self._named_data()
        # Loaded here, so that `--help` does not wait for torch.
        from r2s2r_policies.algorithms import named_algorithm, read_algorithm
        from r2s2r_policies.mixture import Source
        from r2s2r_policies.train_settings import TrainSettings
        from r2s2r_policies.trainer import Trainer

        algorithm = named_algorithm(self.size) if self.config is None else read_algorithm(self.config)
        sources = tuple(
            Source(path, weight, domain, trim_idle=self.trim_idle)
            for path, weight, domain in zip(paths, weights, domains, strict=True)
        )
        settings = TrainSettings(
            sources=sources,
            algorithm=algorithm,
            seed=self.seed,
            batch_size=algorithm["train"]["batch_size"] if self.batch_size is None else self.batch_size,
            learning_rate=self.learning_rate,
            warmup_steps=self.warmup_steps,
            held_out_every=self.held_out_every,
            save_every=self.save_every,
            threads=self.threads,
            loader_threads=self.loader_threads,
            device=self.device,
        )
        with Trainer(settings, self.out, _say) as trainer:
            return trainer.train(self.steps, self.decay_steps)

    def _named_data(self) -> tuple[list[str], list[Path], tuple[float, ...]]:
        """Return domain, path and weight of each data set."""
        domains, paths = [], []
        for text in self.data:
            domain, equals, path = text.partition("=")
            if not equals or domain not in ("real", "sim") or not path:
                raise ConfigError(f"--data: received {text!r}, allowed are real=FILE and sim=FILE")
            domains.append(domain)
            paths.append(Path(path))
        if not paths:
            raise ConfigError("--data: received none, allowed are one and more of real=FILE and sim=FILE")
        weights = self.weights or (1.0 / len(paths),) * len(paths)
        if len(weights) != len(paths):
            raise ConfigError(f"--weights: received {len(weights)} for {len(paths)} data sets, allowed is one for each")
        return domains, paths, weights


def _say(line: str) -> None:
    print(f"r2s2r train: {line}", flush=True)
