"""Rectified flow: straight paths from noise to actions, the loss of their velocity, and the way back along it.

A path goes from noise at flow time 0 to the action at flow time 1, x_t = (1 - t) noise + t action, so its velocity is
action - noise (Liu et al., "Flow straight and fast", 2022; Lipman et al., "Flow matching", 2022).
"""

from collections.abc import Callable

import torch

Velocity = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""(B, H, A) and flow times (B,) to velocities (B, H, A)."""


def flow_times(batch: int, generator: torch.Generator, device: torch.device) -> torch.Tensor:
    """Return flow times (B,) whose share of noise 1 - t is distributed as Beta(1.5, 1).

    Near the action the velocity is all but known from x_t; what has to be learned, above all which of several
    possible motions to take, is decided while x_t is mostly noise. So noisy times are drawn more often, as pi0 does
    (Black et al., 2024, appendix B). The inverse of that distribution's function s^1.5 is u^(2/3).
    """
    return 1 - torch.rand(batch, generator=generator, device=device).pow(2 / 3)


def masked_mean_square(error: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean square of `error` (B, H, A) over the actions that `mask` (B, H) calls real; 0 where none is.

    Padding counts neither above nor below the fraction line; what stands there may even be NaN.
    """
    valid = mask.unsqueeze(-1)
    square = torch.where(valid, error, 0.0).square().sum()
    return square / (mask.sum() * error.shape[-1]).clamp(min=1)


def flow_loss(
    velocity: Velocity, actions: torch.Tensor, mask: torch.Tensor, generator: torch.Generator
) -> torch.Tensor:
    """Return the rectified-flow loss of `velocity` on action chunks.

    Args:
        velocity: the network, its observation already given.
        actions: (B, H, A) normalised.
        mask: (B, H) bool, False where the chunk is padding.
        generator: where noise and flow times come from; of the actions' device.

    Returns:
        Scalar: mean over all numbers of valid actions in the batch.
    """
    # What stands in padding is nobody's action; it would otherwise reach the network as part of x_t.
    actions = torch.where(mask.unsqueeze(-1), actions, 0.0)
    noise = torch.randn(actions.shape, generator=generator, device=actions.device)
    time = flow_times(len(actions), generator, actions.device)
    on_path = torch.lerp(noise, actions, time[:, None, None])
    error = velocity(on_path, time).float() - (actions - noise)
    return masked_mean_square(error, mask)


def integrate(velocity: Velocity, noise: torch.Tensor, steps: int) -> torch.Tensor:
    """Return where `velocity` takes `noise` (B, H, A) from flow time 0 to 1, in `steps` Euler steps of equal length."""
    x = noise
    for step in range(steps):
        time = torch.full((len(x),), step / steps, device=x.device)
        x = x + velocity(x, time).float() / steps
    return x
