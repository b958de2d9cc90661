"""The one training loop, for any of robomimic's algorithms: resumable to the step, in one process or many."""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from r2s2r.contracts.errors import ConfigError, TrainingError
from r2s2r.contracts.files import writable_folder, write_json
from r2s2r.contracts.provenance import provenance
from r2s2r.dataset.lock import WriterLock
from r2s2r_policies.algorithms import (
    averaged_network,
    build_algorithm,
    loss_weight,
    prepared,
    sample_shape,
    seed_draws,
    step_algorithm,
)
from r2s2r_policies.checkpoint import (
    Checkpoint,
    checkpoint_folder,
    checkpoint_folders,
    prune,
    read_checkpoint,
    write_checkpoint,
)
from r2s2r_policies.distributed import Ranks
from r2s2r_policies.held_out import held_out_loss
from r2s2r_policies.metrics_log import MetricsLog, read_metrics
from r2s2r_policies.optimiser_hook import NotFinite, OptimiserHook
from r2s2r_policies.progress import Progress
from r2s2r_policies.train_settings import TrainSettings, rate_factor
from r2s2r_policies.training_data import HELD_OUT_SEED, TrainingData

SETTINGS, METRICS, LOCK = "settings.json", "metrics.jsonl", "training.lock"
"""Files of a training run beside its checkpoints."""


class Trainer:
    """A training run in the folder `out`; goes on from the newest checkpoint there. A context manager.

    What comes out after a number of steps depends on the settings alone, not on where the run was interrupted: sample
    order, noise and augmentation of a step are functions of the seed and its number.

    Args:
        settings: what to train on what.
        out: folder of the run.
        say: called with a line on how it goes.

    Raises:
        TrainingError: the run there was begun with other settings or data, or CUDA is asked for and not there.
        DatasetError: data that cannot be trained on, or another process trains in `out`.
        CheckpointError: the newest checkpoint is damaged.
        ConfigError: settings that do not fit the algorithm.
    """

    def __init__(self, settings: TrainSettings, out: Path, say: Callable[[str], None] = print):
        self.settings, self.out = settings, Path(out)
        self.step = 0
        """Training steps made."""
        torch.set_num_threads(settings.threads)
        self._device = _device(settings.device)
        self._ranks = Ranks.join(self._device)
        self._progress = Progress(say if self._ranks.writes else _say_nothing)
        self.data = TrainingData(settings, sample_shape(settings.algorithm), self._ranks)
        """What is trained on."""
        self._lock: WriterLock | None = None
        try:
            self._settings = {**settings.to_dict(), "data": self.data.identity()}
            self._enter_folder()
            self._build()
            self._go_on()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the data and let another process train here."""
        self.data.close()
        if self._lock is not None:
            self._lock.release()
        self._ranks.leave()

    def train(self, until_step: int, decay_steps: int = 0) -> dict[str, Any]:
        """Train until `until_step` steps are made, measure, and leave a checkpoint.

        Args:
            until_step: Steps in all, those of earlier calls and runs included.
            decay_steps: In so many steps before `until_step` the learning rate falls to 0. A run that is to be
                extended further is left without.

        Returns:
            `step`, `loss` and `held_out_loss` of the last row of metrics that has one (else None), `parameters`,
            `checkpoint`, `sources` (what was drawn of each).

        Raises:
            TrainingError: loss or gradients are not finite; the last checkpoint is whole and can be gone on from.
            DatasetError: a picture is damaged.
        """
        self.data.go_to(self.step)
        self._progress.begin(self.step, until_step)
        while self.step < until_step:
            self.make_step(rate_factor(self.step, self.settings.warmup_steps, until_step, decay_steps))
            last = self.step == until_step
            measure = last or self.step % self.settings.held_out_every == 0
            if measure or self.step % self.settings.log_every == 0:
                self._log(measure)
            if last or self.step % self.settings.save_every == 0:
                self._save()
        return {
            "step": self.step,
            **self._last_losses(),
            "parameters": sum(parameter.numel() for parameter in self.algorithm.nets["policy"].parameters()),
            "checkpoint": str(checkpoint_folder(self.out, self.step)),
            "sources": self._drawn(),
        }

    def make_step(self, factor: float) -> None:
        """Make one training step with the full learning rate times `factor`.

        Raises:
            TrainingError: loss or gradients are not finite.
            DatasetError: a picture is damaged.
        """
        batch = prepared(self.algorithm, next(self.data.loader), self.data.numbers)
        seed_draws(self.algorithm, self.settings.seed, self.step, self._ranks.rank)
        self._hook.rate_factor, self._hook.weight = factor, loss_weight(self.algorithm, batch)
        try:
            loss = float(step_algorithm(self.algorithm, batch))
        except NotFinite:
            loss = math.nan
        if not math.isfinite(loss):
            raise TrainingError(self._not_finite())
        self._loss_sum, self._loss_count = self._loss_sum + loss, self._loss_count + 1
        self.step += 1

    def _enter_folder(self) -> None:
        """Take the folder of the run, and refuse one that holds another run."""
        if self._ranks.writes:
            self._lock = WriterLock(writable_folder(self.out) / LOCK)
            path = self.out / SETTINGS
            if path.exists():
                try:
                    earlier = json.loads(path.read_text(encoding="utf-8"))
                except ValueError as error:
                    raise TrainingError(f"{path}: damaged ({error}); train into another folder") from error
                self.settings.check_resumes(earlier, str(self.out))
                if earlier.get("data") != self._settings["data"]:
                    raise TrainingError(f"{self.out}: begun with other data; use the same, or another folder")
            write_json(path, self._settings)
        self._ranks.wait()

    def _build(self) -> None:
        torch.manual_seed(self.settings.seed)
        self.algorithm = build_algorithm(self.settings.algorithm, self.data.task, self._device, self.settings.ema_decay)
        """What is trained, one of robomimic's."""
        self.algorithm.set_train()
        self.algorithm.nets["averaged"].eval()
        self._held_out = [prepared(self.algorithm, batch, self.data.numbers) for batch in self.data.held_out]

    def _go_on(self) -> None:
        """Take up the newest checkpoint, if there is one."""
        self._loss_sum, self._loss_count = 0.0, 0
        optimisers = self.algorithm.optimizers
        if checkpoint_folders(self.out):
            checkpoint = read_checkpoint(self.out)
            state = checkpoint.training()
            self.algorithm.nets.load_state_dict(state["nets"])
            for name, optimiser in optimisers.items():
                optimiser.load_state_dict(state["optimisers"][name])
            self.step, self._loss_sum, self._loss_count = checkpoint.step, state["loss_sum"], state["loss_count"]
        rate = self.settings.learning_rate
        if rate is None:
            rate = self.settings.algorithm["algo"]["optim_params"]["policy"]["learning_rate"]["initial"]
        self._hook = OptimiserHook(list(optimisers.values()), self._ranks, rate, self.settings.gradient_clip)
        if self._ranks.writes:
            prune(self.out, self.settings.keep)
            self._metrics = MetricsLog(self.out / METRICS, self.step)

    def _not_finite(self) -> str:
        folders = checkpoint_folders(self.out)
        good = f"the last good checkpoint is {folders[-1]}" if folders else "there is no checkpoint yet"
        return (
            f"{self.out}: loss or gradients of step {self.step + 1} are not finite; {good}: resume, "
            "with a smaller learning rate or gradient clip if it happens again"
        )

    def _log(self, measure: bool) -> None:
        """Write a row of metrics: mean loss since the row before, and held-out loss if `measure`."""
        row = {
            "step": self.step,
            "loss": self._mean_loss(),
            "gradient_norm": self._hook.norm,
            "learning_rate": self._hook.rate,
            "sources": self._drawn(),
        }
        if measure and self._held_out:
            row["held_out_loss"] = held_out_loss(self.algorithm, self._held_out, HELD_OUT_SEED, self._ranks)
        if self._ranks.writes:
            self._metrics.add({**row, "steps_per_s": self._progress.rate(self.step)})
        self._progress.tell(self.step, row["loss"], row.get("held_out_loss"))

    def _last_losses(self) -> dict[str, float | None]:
        rows = read_metrics(self.out / METRICS)
        names = ("loss", "held_out_loss")
        return {name: next((row[name] for row in reversed(rows) if name in row), None) for name in names}

    def _drawn(self) -> list[dict[str, Any]]:
        """Return what was drawn of each source: `drawn` samples, their `share` of all, `passes` over the source."""
        return [{**source, "path": Path(source["path"]).name} for source in self.data.loader.progress()]

    def _mean_loss(self) -> float:
        """Return the mean loss of the steps since the last call, over all processes."""
        sums = torch.tensor([self._loss_sum, self._loss_count], dtype=torch.float64, device=self._device)
        self._loss_sum, self._loss_count = 0.0, 0
        total, count = self._ranks.total(sums).tolist()
        return total / max(count, 1.0)

    def _save(self) -> None:
        if self._ranks.writes:
            nets = self.algorithm.nets
            write_checkpoint(
                Checkpoint(
                    folder=checkpoint_folder(self.out, self.step),
                    task=self.data.task,
                    algorithm=self.settings.algorithm,
                    normaliser=self.data.numbers.to_dict(),
                    provenance=provenance(self._settings, seed=self.settings.seed),
                    step=self.step,
                ),
                weights=averaged_network(self.algorithm).state_dict(),
                training={
                    "nets": nets.state_dict(),
                    "optimisers": {name: o.state_dict() for name, o in self.algorithm.optimizers.items()},
                    "loss_sum": self._loss_sum,
                    "loss_count": self._loss_count,
                },
            )
            prune(self.out, self.settings.keep)
        self._ranks.wait()


def _device(name: str) -> torch.device:
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ConfigError(f"device: received {name!r}, but torch sees no CUDA device; allowed is cpu")
    device = torch.device(name)
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))  # torchrun: one device a process
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device


def _say_nothing(_line: str) -> None:
    """Processes other than the first are silent."""
