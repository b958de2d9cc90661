"""What a training step costs beside the arithmetic of the network itself."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, cast

import torch

from r2s2r_policies.algo import FlowMatching
from r2s2r_policies.algorithms import build_algorithm, prepared, seed_draws
from r2s2r_policies.network import FlowPolicyNet
from r2s2r_policies.precision import autocast
from r2s2r_policies.train_settings import TrainSettings
from r2s2r_policies.trainer import Trainer

WARM_UP = 3
"""Steps before the first measured one."""


@dataclass(frozen=True)
class TrainBench:
    """How long is measured."""

    steps: int
    """Steps of a measurement."""
    repetitions: int
    """Measurements of each, alternated."""


def measure_training(settings: TrainSettings, bench: TrainBench) -> dict[str, Any]:
    """Time steps of :class:`Trainer` and bare steps of the same network, in turn.

    A bare step is forward, backward and optimiser on a batch that is there already. What a step of the trainer has
    more: loading, normalising, checking and clipping gradients, averaging weights.

    Returns:
        Medians `step_s` and `bare_step_s` [s], their `ratios` (one a repetition) and the median `ratio`.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        Trainer(settings, Path(folder) / "run", lambda _line: None) as trainer,
    ):
        bare = _bare_step(settings, trainer)
        pair: tuple[Callable[[], None], ...] = (lambda: trainer.make_step(1.0), bare)
        for step in pair:
            _seconds(step, WARM_UP, settings.device)
        times = [[_seconds(step, bench.steps, settings.device) for step in pair] for _ in range(bench.repetitions)]
    ratios = [ours / without for ours, without in times]
    return {
        "step_s": median(ours for ours, _ in times),
        "bare_step_s": median(without for _, without in times),
        "ratios": ratios,
        "ratio": median(ratios),
    }


def _bare_step(settings: TrainSettings, trainer: Trainer) -> Callable[[], None]:
    algorithm = cast(FlowMatching, build_algorithm(settings.algorithm, trainer.data.task, settings.device))
    algorithm.set_train()
    seed_draws(algorithm, settings.seed)
    batch = prepared(algorithm, trainer.data.loader.batch(0), trainer.data.numbers)
    network, optimiser = cast(FlowPolicyNet, algorithm.nets["policy"]), algorithm.optimizers["policy"]

    def step() -> None:
        with autocast(settings.device, algorithm.algo_config.precision):
            loss = network(batch["obs"], batch["actions"], batch["mask"], algorithm.generator)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def _seconds(step: Callable[[], None], count: int, device: str) -> float:
    """Return how long a step takes [s], the mean of `count`."""
    _finish(device)
    began = time.perf_counter()
    for _ in range(count):
        step()
    _finish(device)
    return (time.perf_counter() - began) / count


def _finish(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()
