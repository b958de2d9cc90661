"""Blur of the lens as an operator on pictures, on the device."""

import math

import torch
import warp as wp

from .lamps import to_linear, to_srgb

SMALLEST_SIGMA_PX = 0.2
"""Below it [px] a pixel's neighbour gets less than exp(-1 / (2 x 0.2^2)) = 4e-6 of its light: nothing in 8 bits."""

_REACH = 4.0
"""Weights are cut at this many sigmas, where they are below 4e-4 of the largest."""


@wp.kernel(enable_backward=False)
def _blur_rows(
    rgb: wp.array4d(dtype=wp.uint8),
    weights: wp.array(dtype=wp.float32),
    # outputs
    blurred: wp.array4d(dtype=wp.float32),
):
    env, row, column, channel = wp.tid()
    half = weights.shape[0] // 2
    last = rgb.shape[2] - 1
    light = wp.float32(0.0)
    for k in range(-half, half + 1):
        light += weights[k + half] * to_linear(float(rgb[env, row, wp.clamp(column + k, 0, last), channel]) / 255.0)
    blurred[env, row, column, channel] = light


@wp.kernel(enable_backward=False)
def _blur_columns(
    light: wp.array4d(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32),
    # outputs
    rgb: wp.array4d(dtype=wp.uint8),
):
    env, row, column, channel = wp.tid()
    half = weights.shape[0] // 2
    last = light.shape[1] - 1
    value = wp.float32(0.0)
    for k in range(-half, half + 1):
        value += weights[k + half] * light[env, wp.clamp(row + k, 0, last), column, channel]
    rgb[env, row, column, channel] = wp.uint8(wp.clamp(to_srgb(value) * 255.0 + 0.5, 0.0, 255.0))


class GaussianBlur:
    """Blurs sRGB pictures by a Gaussian in linear light; beyond its border a picture goes on as at the border."""

    def __init__(self, sigma_px: tuple[float, float], device: str):
        """Prepare the weights.

        Args:
            sigma_px: along x and y [px].
            device: where the pictures are.
        """
        self._weights = [wp.array(_weights(sigma), dtype=wp.float32, device=str(device)) for sigma in sigma_px]
        self._light: torch.Tensor | None = None

    def __call__(self, rgb: torch.Tensor) -> torch.Tensor:
        """Return the blurred pictures (N, H, W, 3) uint8 on the same device."""
        if self._light is None or self._light.shape != rgb.shape:
            self._light = torch.empty(rgb.shape, dtype=torch.float32, device=rgb.device)
        light, blurred, device = wp.from_torch(self._light), torch.empty_like(rgb), str(rgb.device)
        inputs = [wp.from_torch(rgb.contiguous()), self._weights[0]]
        wp.launch(_blur_rows, dim=rgb.shape, inputs=inputs, outputs=[light], device=device)
        inputs = [light, self._weights[1]]
        wp.launch(_blur_columns, dim=rgb.shape, inputs=inputs, outputs=[wp.from_torch(blurred)], device=device)
        return blurred


def _weights(sigma: float) -> list[float]:
    """Return the share of light that each neighbour gets: a Gaussian averaged over its pixel."""
    half = math.ceil(_REACH * sigma)
    edges = [math.erf((k - 0.5) / (math.sqrt(2.0) * max(sigma, 1e-6))) for k in range(-half, half + 2)]
    shares = [high - low for low, high in zip(edges, edges[1:], strict=False)]
    return [share / sum(shares) for share in shares]
