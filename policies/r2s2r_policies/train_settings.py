"""What a training run is asked to do."""

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from r2s2r.contracts.checks import set_count, set_number
from r2s2r.contracts.errors import ConfigError, TrainingError
from r2s2r_policies.mixture import Source

MAY_CHANGE = ("learning_rate", "gradient_clip", "save_every", "held_out_every", "threads", "loader_threads", "device")
"""Settings that a resumed run may have otherwise: they steer and watch training, the run stays the same run."""


@dataclass(frozen=True)
class TrainSettings:
    """Data, algorithm and schedule of a training run.

    Raises:
        ConfigError: a value is out of its range.
    """

    sources: tuple[Source, ...]
    """Data sets with their share of the samples and their domain."""
    algorithm: dict[str, Any]
    """robomimic's configuration of the algorithm, see :mod:`r2s2r_policies.algorithms`."""
    seed: int = 0
    """Seed of weights, order of samples, noise and augmentation."""
    batch_size: int = 64
    """Samples of a step, over all processes."""
    learning_rate: float | None = None
    """Full rate; None: the one in the configuration of the algorithm."""
    warmup_steps: int = 200
    """Steps in which the rate rises linearly from 0."""
    gradient_clip: float = 1.0
    """Largest norm of the gradients."""
    ema_decay: float | None = None
    """Decay a step of the moving average of the weights that is used later; None: the one of the configuration of a
    flow-matching policy, 0.999 for others."""
    held_out_every: int = 500
    """Steps between measurements on held-out demonstrations."""
    held_out_batches: int = 8
    """Batches of a measurement."""
    save_every: int = 500
    """Steps between checkpoints."""
    log_every: int = 50
    """Steps between rows of metrics.jsonl."""
    keep: int = 2
    """Checkpoints that are kept, the newest."""
    threads: int = 1
    """CPU threads of the network's arithmetic; another number sums in another order."""
    loader_threads: int = 1
    """Threads that read pictures."""
    device: str = "cpu"
    """cpu, or a CUDA device such as cuda:0."""

    def __post_init__(self):
        object.__setattr__(self, "sources", tuple(self.sources))
        set_count(self, "seed", 0, 2**31 - 1)
        set_count(self, "warmup_steps", 0, 10**9)
        for name in ("batch_size", "held_out_every", "held_out_batches", "save_every", "log_every", "keep"):
            set_count(self, name, 1, 10**9)
        for name in ("threads", "loader_threads"):
            set_count(self, name, 1, 1024)
        if self.learning_rate is not None:
            set_number(self, "learning_rate", 1e-12, 10.0)
        set_number(self, "gradient_clip", 1e-6, 1e6)
        if self.ema_decay is not None:
            set_number(self, "ema_decay", 0.0, 1.0)
        if self.device != "cpu" and not self.device.startswith("cuda"):
            raise ConfigError(f"TrainSettings.device: received {self.device!r}, allowed are cpu, cuda, cuda:0 ...")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON-able values; of a source, what it is and not where it lies."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        content["sources"] = [{**asdict(source), "path": Path(source.path).name} for source in self.sources]
        return content

    def check_resumes(self, earlier: dict[str, Any], where: str) -> None:
        """Refuse to go on with a run that was begun with other settings.

        Args:
            earlier: what :meth:`to_dict` returned then.
            where: names the run.

        Raises:
            TrainingError: names the first setting that differs.
        """
        for name, value in self.to_dict().items():
            if name not in MAY_CHANGE and earlier.get(name) != value:
                raise TrainingError(
                    f"{where}: begun with {name} {earlier.get(name)!r}, resumed with {value!r}; "
                    f"use the same, or another folder (allowed to change: {', '.join(MAY_CHANGE)})"
                )


def rate_factor(step: int, warmup_steps: int, until_step: int, decay_steps: int) -> float:
    """Return what the full learning rate is multiplied by in the step that follows `step` steps.

    It rises linearly over the first `warmup_steps`, stays, and falls as a cosine to 0 over the last `decay_steps`
    before `until_step`. Without a fall a run can be extended as if it had been longer from the start.
    """
    rise = (step + 1) / (warmup_steps + 1)
    left = (until_step - step) / (decay_steps + 1)
    fall = 0.5 - 0.5 * math.cos(math.pi * min(1.0, left)) if decay_steps else 1.0
    return min(1.0, rise, fall)
