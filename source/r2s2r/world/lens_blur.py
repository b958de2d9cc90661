"""Blur of the wrist camera's lens, from the still pictures that show most of the board."""

from collections.abc import Sequence

import cv2
import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import GroundingError
from r2s2r.recording.cell_log import CellLog
from r2s2r.recording.pictures import decode
from r2s2r.world.blur import edge_blur
from r2s2r.world.bundle import Bundle
from r2s2r.world.estimate import Estimate
from r2s2r.world.sightings import PictureTags

MOST_PICTURES = 12
"""Pictures that are measured: each has some hundred edges, and more say little more."""


def lens_blur(log: CellLog, pictures: Sequence[PictureTags], bundle: Bundle) -> tuple[Estimate | None, list[str]]:
    """Return `wrist_cameras.blur_sigma_px`, or None and the reason where no edge allows to measure it.

    Args:
        log: the recording.
        pictures: its tags.
        bundle: tells which pictures the arm rested in.
    """
    data = bundle.data
    still = set(data.frame[data.still & (data.camera == CAMERAS.index("wrist"))].tolist())
    seen = [p for p in pictures if p.camera == "wrist" and p.frame in still]
    seen = sorted(seen, key=lambda p: (-len(p.tags.ids), p.frame))[:MOST_PICTURES]
    try:
        blur = edge_blur([(_grey(log, picture.frame), picture.tags) for picture in seen])
    except GroundingError as error:
        return None, [str(error)]
    value, width = np.array([blur.sigma_px]), np.array([blur.half_width_px])
    return Estimate("wrist_cameras.blur_sigma_px", "vector", value, width, "px"), []


def _grey(log: CellLog, frame: int) -> np.ndarray:
    return cv2.cvtColor(decode(log.pictures["wrist"].png[frame]), cv2.COLOR_RGB2GRAY)
