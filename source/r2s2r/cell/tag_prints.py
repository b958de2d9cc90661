"""What the printer puts on paper for an AprilTag: black and white modules, the way the family's authors print them."""

from functools import cache

import cv2
import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.targets import MAX_TAG_ID

TAG_MODULES = 8
"""Modules along an edge of the black square: 6 of code and a border of one on either side (tag36h11)."""

PRINT_MODULES = TAG_MODULES + 2
"""Modules along an edge of the paper: the detector needs a white margin of one module around the black square."""


@cache
def tag_bits(tag_id: int) -> np.ndarray:
    """Return the print of a tag36h11 (10, 10) bool: True is white, row 0 is the upper one, with the white margin.

    OpenCV's dictionary holds the family turned by half a turn against the prints of its authors (`apriltag-imgs`),
    whose detector counts corners from the lower left of theirs, as `contracts.targets` does. Turned back here.

    Raises:
        ConfigError: the family has no such tag.
    """
    if not 0 <= tag_id <= MAX_TAG_ID:
        raise ConfigError(f"tag print: received id {tag_id}, allowed are 0 to {MAX_TAG_ID}")
    family = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)
    code = cv2.aruco.generateImageMarker(family, tag_id, TAG_MODULES, borderBits=1)
    bits = np.ones((PRINT_MODULES, PRINT_MODULES), dtype=bool)
    bits[1:-1, 1:-1] = code[::-1, ::-1] > 0
    bits.flags.writeable = False
    return bits


def module_corners(tag_size: float) -> np.ndarray:
    """Return the corners (10, 10, 4, 3) [m] of the modules of a print in the tag's frame, as :func:`tag_bits` has them.

    Four corners a module, from the lower left counter-clockwise. Neighbours share corners bit for bit: no ray slips
    through between them.

    Args:
        tag_size: edge of the black square [m].
    """
    lines = tag_size * (np.arange(PRINT_MODULES + 1) / TAG_MODULES - 0.5 - 1.0 / TAG_MODULES)
    grid = np.zeros((PRINT_MODULES + 1, PRINT_MODULES + 1, 3))
    grid[..., 0], grid[..., 1] = lines[None, :], lines[::-1, None]
    return np.stack([grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:], grid[:-1, :-1]], axis=2)
