"""What happens between the gradients of an algorithm and the step of its optimiser.

robomimic's algorithms compute the loss, its gradients and the step in one call. A hook before the step lets all of
them train in several processes, with clipped gradients and our learning rate, without another training loop.
"""

import math
from typing import Any

import torch

from r2s2r_policies.distributed import Ranks


class NotFinite(Exception):
    """A gradient is not finite; the weights are those before the step."""


class OptimiserHook:
    """Averages gradients over the processes, refuses what is not finite, clips, and sets the learning rate.

    Args:
        optimisers: those of an algorithm.
        ranks: this process among the others.
        full_rate: learning rate that :attr:`rate_factor` multiplies.
        clip: largest norm of the gradients of one optimiser.
    """

    def __init__(self, optimisers: list[torch.optim.Optimizer], ranks: Ranks, full_rate: float, clip: float):
        self._ranks, self._full_rate, self._clip = ranks, full_rate, clip
        self.rate_factor = 1.0
        """What the full learning rate is multiplied by at the next step."""
        self.weight = 1.0
        """How much this process's gradients count against those of the others."""
        self.norm = 0.0
        """Norm of the gradients at the last step, before clipping."""
        for optimiser in optimisers:
            optimiser.register_step_pre_hook(self._before_step)

    def _before_step(self, optimiser: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
        self._ranks.average_gradients(parameters, self.weight)
        self.norm = float(torch.nn.utils.clip_grad_norm_(parameters, self._clip))
        if not math.isfinite(self.norm):
            raise NotFinite
        for group in optimiser.param_groups:
            group["lr"] = self.rate

    @property
    def rate(self) -> float:
        """Learning rate of the next step."""
        return self.rate_factor * self._full_rate
