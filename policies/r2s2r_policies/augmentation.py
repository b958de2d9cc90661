"""What training does to pictures so that a policy does not hang on their exact framing and colour.

All of it is a few tensor operations over the batch, on the batch's own device, drawn from one generator.
"""

import torch
import torch.nn.functional as F

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the grey picture (ITU-R BT.601), which torchvision's jitter uses as well."""


def shifted(pictures: torch.Tensor, offsets: torch.Tensor, reach: int) -> torch.Tensor:
    """Return the pictures, each shifted by whole pixels; what comes in over the border repeats the border.

    A shift instead of a crop keeps the whole view at inference, where objects enter at the border (Yarats et al.,
    "Mastering visual continuous control", 2021).

    Args:
        pictures: (B, 3, S, S).
        offsets: (B, 2) integers, rows and columns [px]: pixel (r, c) of the result is (r + dr, c + dc) of the picture.
        reach: no offset is larger than this [px].

    Returns:
        (B, 3, S, S).
    """
    size = pictures.shape[-1]
    padded = F.pad(pictures, (reach,) * 4, mode="replicate")
    windows = padded.unfold(2, size, 1).unfold(3, size, 1)
    row = torch.arange(len(pictures), device=pictures.device)
    return windows[row, :, offsets[:, 0] + reach, offsets[:, 1] + reach]


def recoloured(
    pictures: torch.Tensor,
    brightness: torch.Tensor,
    contrast: torch.Tensor,
    saturation: torch.Tensor,
    gains: torch.Tensor,
) -> torch.Tensor:
    """Return the pictures in other colours, clipped to 0..1.

    The four changes are linear in a picture's colours, so they are applied as one 3 x 3 matrix and one offset.

    Args:
        pictures: (B, 3, S, S), 0..1.
        brightness: (B,) factor on everything.
        contrast: (B,) factor on the distance from the picture's mean grey.
        saturation: (B,) factor on the distance from a pixel's own grey.
        gains: (B, 3) factor on each channel.

    Returns:
        (B, 3, S, S), 0..1.
    """
    luma = pictures.new_tensor(LUMA)
    grey = luma.expand(3, 3)
    identity = torch.eye(3, device=pictures.device, dtype=pictures.dtype)
    matrix = saturation[:, None, None] * identity + (1 - saturation[:, None, None]) * grey
    colour = (brightness[:, None] * gains)[:, :, None]
    mean_grey = pictures.mean(dim=(2, 3)) @ luma
    offset = colour * ((1 - contrast) * mean_grey)[:, None, None]
    matrix = colour * contrast[:, None, None] * matrix
    flat = torch.baddbmm(offset, matrix, pictures.flatten(2))
    return flat.clamp_(0.0, 1.0).view_as(pictures)


def augmented(
    pictures: torch.Tensor, crop_px: int, colour_jitter: float, channel_jitter: float, generator: torch.Generator
) -> torch.Tensor:
    """Return the pictures shifted and recoloured at random, each for itself (fields of `PolicyCfg`).

    Pictures that lie behind each other in channels are of one camera and treated alike.

    Args:
        pictures: (B, 3 K, S, S), 0..1.
        crop_px: largest shift [px].
        colour_jitter: half-width of the logarithm of brightness, contrast and saturation.
        channel_jitter: half-width of the logarithm of each channel's gain.
        generator: where the draws come from; of the pictures' device.

    Returns:
        (B, 3 K, S, S), 0..1; the pictures themselves where everything is 0.
    """
    batch, device = len(pictures), pictures.device
    if crop_px:
        offsets = torch.randint(-crop_px, crop_px + 1, (batch, 2), generator=generator, device=device)
        pictures = shifted(pictures, offsets, crop_px)
    if colour_jitter or channel_jitter:
        spread = pictures.new_tensor([colour_jitter] * 3 + [channel_jitter] * 3)
        draws = 2 * torch.rand((batch, 6), generator=generator, device=device) - 1
        count = pictures.shape[1] // 3
        factors = torch.exp(draws * spread).repeat_interleave(count, dim=0)
        apart = pictures.reshape(batch * count, 3, *pictures.shape[2:])
        apart = recoloured(apart, factors[:, 0], factors[:, 1], factors[:, 2], factors[:, 3:])
        pictures = apart.view_as(pictures)
    return pictures
