"""What is printed: the black and white modules of a tag, upright as its maker publishes it."""

import cv2
import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.targets import MAX_TAG_ID

MODULES = 8
"""Modules along the edge of the black square of tag36h11: one of border on either side, six of code."""


def tag_print(tag_id: int) -> np.ndarray:
    """Return the modules (8, 8) uint8 of a tag, 0 black and 1 white, first row at the top of the upright print.

    OpenCV 4 draws tags of this family half a turn from the prints that the AprilTag authors publish, whose lower left
    corner AprilTag 3 counts first; here they are turned back.

    Raises:
        ConfigError: the family has no such id.
    """
    if not 0 <= tag_id <= MAX_TAG_ID:
        raise ConfigError(f"tag id {tag_id}: allowed are 0 to {MAX_TAG_ID}")
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)
    return np.rot90(dictionary.generateImageMarker(tag_id, MODULES), 2) // 255
