"""A simulated picture over a real one: its edges in colour, so that the eye sees where they part."""

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.palette import rgb

_CANNY = (40.0, 110.0)
"""Thresholds of the edges' contrast (of 8-bit grey): outlines of arm, hand, belt and bins, but not their shading."""


def edges_over(picture: np.ndarray, simulated: np.ndarray, colour: str) -> np.ndarray:
    """Return `picture` in pale grey with the edges of `simulated` in `colour`.

    Args:
        picture: real (H, W, 3) uint8.
        simulated: of the same size (H, W, 3) uint8.
        colour: `#rrggbb`.

    Raises:
        ConfigError: the two differ in size.
    """
    if picture.shape != simulated.shape:
        raise ConfigError(f"overlay: simulated picture {simulated.shape} over {picture.shape}; the sizes must agree")
    import cv2  # with the extra `ground`

    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    paper = np.repeat((95 + 0.62 * grey[..., None]).astype(np.uint8), 3, axis=-1)
    edges = cv2.Canny(cv2.cvtColor(simulated, cv2.COLOR_RGB2GRAY), *_CANNY) > 0
    paper[edges] = rgb(colour)
    return paper
