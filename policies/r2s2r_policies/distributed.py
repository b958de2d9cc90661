"""Data parallel training: every process has its share of each batch, gradients are averaged before each step."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.distributed as dist

from r2s2r.contracts.errors import TrainingError


@dataclass(frozen=True)
class Ranks:
    """This process among those that train together."""

    rank: int = 0
    world_size: int = 1

    @classmethod
    def join(cls, device: torch.device) -> "Ranks":
        """Join the processes that `torchrun` started; alone without it.

        Raises:
            TrainingError: the others cannot be reached.
        """
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls()
        if not dist.is_initialized():
            try:
                dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
            except (RuntimeError, ValueError) as error:
                raise TrainingError(f"torchrun: the other processes cannot be reached ({error})") from error
        return cls(dist.get_rank(), dist.get_world_size())

    @property
    def writes(self) -> bool:
        """Whether this is the process that writes files and tells how it goes."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until every process has come here."""
        if self.world_size > 1:
            dist.barrier()

    def leave(self) -> None:
        """Part from the others."""
        if self.world_size > 1 and dist.is_initialized():
            dist.destroy_process_group()

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """Return the sum of `values` over the processes."""
        if self.world_size > 1:
            values = values.clone()
            dist.all_reduce(values)
        return values

    def average_gradients(self, parameters: Iterable[torch.nn.Parameter], weight: float) -> None:
        """Replace gradients by their mean over the processes, each counted by its `weight`.

        With the number of loss terms as weight, the mean is that of the whole batch, however terms are spread.
        """
        if self.world_size == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        # One message instead of one a tensor; the last number is the sum of the weights.
        flat = torch.cat([*(gradient.flatten() * weight for gradient in gradients), gradients[0].new_tensor([weight])])
        dist.all_reduce(flat)
        flat /= flat[-1].clone()
        for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients] + [1])[:-1], strict=True):
            gradient.copy_(mean.view_as(gradient))
