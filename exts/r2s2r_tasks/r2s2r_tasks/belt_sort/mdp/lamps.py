"""Coloured lamps as an operator on pictures.

The ray tracer's lamps are all white and one for all environments. Light is linear: where all lamps have one colour,
the picture under that colour is the white picture's linear radiance times the colour, channel by channel. So the
operator below is exact for the ray tracer, and lets every environment have its own lamps.
"""

import torch
import warp as wp


@wp.kernel(enable_backward=False)
def _tint(
    rgb: wp.array4d(dtype=wp.uint8),
    light_rgb: wp.array2d(dtype=wp.float32),
    # outputs
    tinted: wp.array4d(dtype=wp.uint8),
):
    env, row, column = wp.tid()
    for channel in range(3):
        light = light_rgb[env, channel]
        value = rgb[env, row, column, channel]
        if light != 1.0:
            linear = to_linear(float(value) / 255.0) * light
            value = wp.uint8(wp.clamp(to_srgb(linear) * 255.0 + 0.5, 0.0, 255.0))
        tinted[env, row, column, channel] = value


@wp.func
def to_linear(value: float):
    """IEC 61966-2-1."""
    if value <= 0.04045:
        return value / 12.92
    return wp.pow((value + 0.055) / 1.055, 2.4)


@wp.func
def to_srgb(value: float):
    """IEC 61966-2-1."""
    if value <= 0.0031308:
        return 12.92 * value
    return 1.055 * wp.pow(value, 1.0 / 2.4) - 0.055


def under_light(rgb: torch.Tensor, light_rgb: torch.Tensor) -> torch.Tensor:
    """Return pictures taken under white lamps as they look under lamps of another colour.

    Args:
        rgb: sRGB pictures (N, H, W, 3) uint8.
        light_rgb: colour of the lamps, linear RGB (N, 3).

    Returns:
        sRGB pictures (N, H, W, 3) uint8, on the same device; equal to `rgb` where the light is white.
    """
    tinted = torch.empty_like(rgb)
    wp.launch(
        _tint,
        dim=rgb.shape[:3],
        inputs=[wp.from_torch(rgb.contiguous()), wp.from_torch(light_rgb.contiguous())],
        outputs=[wp.from_torch(tinted)],
        device=str(rgb.device),
    )
    return tinted
