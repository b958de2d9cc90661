"""Pictures as data sets store them: uint8, height x width x RGB."""

from typing import Any

import numpy as np

from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset.problem import Problem

IMAGE_CHANNELS = 3


def to_uint8_hwc(image: np.ndarray, where: str = "image") -> np.ndarray:
    """Return pictures (..., H, W, 3) or (..., 3, H, W) as uint8 (..., H, W, 3).

    uint8 is taken as 0..255, floating point as 0..1. The last axis is the channel axis when it has three entries.

    Raises:
        DatasetError: neither axis has three entries, another type, not finite, negative or above 1.
    """
    image = np.asarray(image)
    if image.ndim < 3 or IMAGE_CHANNELS not in (image.shape[-1], image.shape[-3]):
        raise DatasetError(f"{where}: shape {image.shape}, allowed are (..., H, W, 3) and (..., 3, H, W)")
    if image.shape[-1] != IMAGE_CHANNELS:
        image = np.moveaxis(image, -3, -1)
    if image.dtype == np.uint8:
        return np.ascontiguousarray(image)
    if not np.issubdtype(image.dtype, np.floating):
        raise DatasetError(f"{where}: type {image.dtype}, allowed are uint8 (0..255) and floating point (0..1)")
    low, high = float(image.min(initial=0.0)), float(image.max(initial=0.0))
    # Written so that NaN fails too.
    if not (low >= 0.0 and high <= 1.0):
        raise DatasetError(f"{where}: floating-point pictures from {low:g} to {high:g}, allowed is 0 to 1")
    return np.rint(image * 255.0).astype(np.uint8)


def stored_image_problem(image: Any, where: str) -> Problem | None:
    """Return what is wrong with pictures that should be stored as uint8 (T, H, W, 3); looks at type and shape only."""
    if image.ndim == 4 and image.dtype == np.uint8 and image.shape[-1] == IMAGE_CHANNELS:
        return None
    allowed = "uint8 (T, H, W, 3) RGB; r2s2r.dataset.images.to_uint8_hwc converts"
    return Problem(where, f"pictures of {image.dtype} {tuple(image.shape)}", allowed)


def frame_step_problem(frame_step: np.ndarray, step: np.ndarray, where: str) -> Problem | None:
    """Return what is wrong when pictures were not taken at the step of the row in which they are stored.

    Args:
        frame_step: Step at which each row's pictures were taken (T,).
        step: Step of each row's state (T,).
        where: Path of `frame_step`.
    """
    difference = np.asarray(step, dtype=np.int64) - np.asarray(frame_step, dtype=np.int64)
    wrong = np.flatnonzero(difference)
    if not wrong.size:
        return None
    offsets, counts = np.unique(difference[wrong], return_counts=True)
    share = f"{int(counts.max())} of {difference.size} rows, first in row {int(wrong[0])}"
    what = f"pictures lag states by offset {int(offsets[counts.argmax()])} in {share}"
    return Problem(where, what, "offset 0: each picture was taken at its own row's step")
