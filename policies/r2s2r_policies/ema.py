"""Averaged weights: what is deployed is the mean of the latest ones, which jitters less than any of them."""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

Tensors = tuple[torch.Tensor, ...] | list[torch.Tensor]


def decay_at(decay: float, averaged: int) -> float:
    """Return the decay of the update after `averaged` updates: `decay`, or less while training is young.

    (1 + n) / (10 + n) forgets the random first weights even where training ends before 1 / (1 - decay) steps.
    """
    return min(decay, (1 + averaged) / (10 + averaged))


def averaged_copy(network: nn.Module, decay: float) -> AveragedModel:
    """Return a copy of `network` whose `update_parameters(network)` moves it towards the network's weights.

    The copy is at `.module`, in evaluation mode and without gradients; its `state_dict` holds the number of updates.
    The first update copies.
    """

    def towards(averages: Tensors, weights: Tensors, averaged: torch.Tensor | int) -> None:
        get_ema_multi_avg_fn(decay_at(decay, int(averaged)))(averages, weights, averaged)

    return AveragedModel(network, multi_avg_fn=towards).eval().requires_grad_(False)
