"""Axes of hand sources and of the palm. Ours: world z up; wrist x out of the palm, z along the fingers."""

import numpy as np

Z_UP_FROM_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""From x right, y up, z towards the user (Leap Motion, OpenXR, WebXR, ARKit) to x right, y away from the user, z up."""

Z_UP_FROM = {
    "z": np.eye(3),
    "y": Z_UP_FROM_Y_UP,
    "-y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}
"""Rotation into our world for each axis of a file that may point up; `-y` is that of a level camera."""


def knuckle_axes(points: np.ndarray, handedness: str) -> np.ndarray:
    """Return the palm's axes (..., 3, 3) as columns, told from keypoints (..., 21, 3); NaN where not measured.

    z runs from the wrist to the middle knuckle, x out of the palm across the row of knuckles from pinky to index.
    """
    along = _unit(points[..., 9, :] - points[..., 0, :])
    across = points[..., 5, :] - points[..., 17, :]
    normal = _unit(np.cross(across, along)) * (1.0 if handedness == "right" else -1.0)
    return np.stack([normal, np.cross(along, normal), along], axis=-1)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.maximum(np.linalg.norm(vector, axis=-1, keepdims=True), 1e-12)
