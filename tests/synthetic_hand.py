"""A hand of straight parts, for tests: in the palm frame, x out of the palm, z along the fingers, wrist at zero."""

import numpy as np

KNUCKLES = np.array([[0.0, 0.025, 0.090], [0.0, 0.0, 0.095], [0.0, -0.020, 0.090], [0.0, -0.040, 0.080]])
"""Index, middle, ring, little finger of a right hand [m]."""

PARTS = (0.042, 0.025, 0.020)
"""Lengths of a finger's parts [m]."""

THUMB = np.array([[0.015, 0.030, 0.025], [0.033, 0.038, 0.031], [0.047, 0.044, 0.036], [0.060, 0.050, 0.040]])
"""Joints of a thumb before the palm, more than 8 cm from every fingertip unless the fingers are closed [m]."""


def hand_keypoints(bend: np.ndarray | tuple[float, float, float, float], handedness: str = "right") -> np.ndarray:
    """Return 21 keypoints (T, 21, 3) [m]; each joint of finger f is bent by `bend[..., f]` (T, 4) [rad]."""
    bend = np.atleast_2d(np.asarray(bend, dtype=float))
    points = np.zeros((len(bend), 21, 3))
    points[:, 1:5] = THUMB
    for finger in range(4):
        place = np.tile(KNUCKLES[finger], (len(bend), 1))
        points[:, 5 + 4 * finger] = place
        for joint, length in enumerate(PARTS, start=1):
            angle = joint * bend[:, finger]
            place = place + length * np.stack([np.sin(angle), 0.0 * angle, np.cos(angle)], axis=-1)
            points[:, 5 + 4 * finger + joint] = place
    if handedness == "left":
        points[..., 1] *= -1.0
    return points
