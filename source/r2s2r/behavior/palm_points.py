"""Keypoints of a human hand in the axes of its palm, and which fingers they measure."""

import numpy as np

from r2s2r.contracts.errors import RetargetingError
from r2s2r.contracts.transforms import matrix_from_quat
from r2s2r.recording.hand_recording import HandRecording, held_frames

FINGERS = ("thumb", "index", "middle", "ring")
"""Human fingers that the robot hand has, in the order of `hand_model.FINGERTIPS`; the little finger has no match."""

THUMB_IP, THUMB_TIP = 3, 4
"""Keypoints of the thumb that are needed."""

KNUCKLE, MIDDLE, LAST, TIP = (5, 9, 13), (6, 10, 14), (7, 11, 15), (8, 12, 16)
"""Keypoints of index, middle and ring finger; the last joint may be missing."""

_NEEDED = ((THUMB_IP, THUMB_TIP, *KNUCKLE[:2]), *zip(KNUCKLE, MIDDLE, TIP, strict=True))


def palm_axes(recording: HandRecording) -> np.ndarray:
    """Return the palm's axes (T, 3, 3) as columns: x out of the palm, z along the hand.

    A source that measures the wrist's orientation gives them; else z runs from the wrist to the middle knuckle and y
    across the knuckles towards the index finger.
    """
    return axes_of(recording.keypoints_m, recording.wrist_quat)


def axes_of(keypoints_m: np.ndarray, wrist_quat: np.ndarray | None) -> np.ndarray:
    """Return the axes (..., 3, 3) of :func:`palm_axes` of keypoints (..., 21, 3) and, if known, the wrist (..., 4)."""
    if wrist_quat is not None:
        return matrix_from_quat(wrist_quat)
    along = _unit(keypoints_m[..., 9, :] - keypoints_m[..., 0, :])
    across = keypoints_m[..., 5, :] - keypoints_m[..., 17, :]
    normal = _unit(np.cross(across, along))
    return np.stack([normal, np.cross(along, normal), along], axis=-1)


def in_palm(keypoints_m: np.ndarray, wrist_pos: np.ndarray | None, wrist_quat: np.ndarray | None) -> np.ndarray:
    """Return keypoints (..., 21, 3) in the palm's axes, relative to the wrist [m]."""
    wrist = keypoints_m[..., 0, :] if wrist_pos is None else wrist_pos
    return (keypoints_m - wrist[..., None, :]) @ axes_of(keypoints_m, wrist_quat)


def measured_fingers(points: np.ndarray) -> np.ndarray:
    """Return which of FINGERS (..., 4) bool have all the keypoints (..., 21, 3) that are needed; NaN: not measured."""
    seen = np.asarray(np.isfinite(points).all(axis=-1))
    return np.stack([seen[..., needed].all(axis=-1) for needed in _NEEDED], axis=-1)


def palm_points(recording: HandRecording) -> tuple[np.ndarray, np.ndarray]:
    """Return keypoints (T, 21, 3) in the palm [m], and which of FINGERS were measured (T, 4).

    A finger that is not measured stays where it was in the palm, before its first measurement where that finds it: a
    hidden tip left at zero would drag its finger along.

    Raises:
        RetargetingError: a left hand, or a finger that is not measured in any frame.
    """
    if recording.handedness != "right":
        raise RetargetingError(f"{recording.source}: a {recording.handedness} hand; the robot hand is a right one")
    points = in_palm(recording.keypoints_m, recording.wrist_pos, recording.wrist_quat)
    measured = measured_fingers(points)
    unseen = [finger for finger, seen in zip(FINGERS, np.any(measured, axis=0), strict=True) if not seen]
    if unseen:
        raise RetargetingError(
            f"{recording.source}: {', '.join(unseen)} not measured in any frame; "
            "knuckle, middle joint and tip of each finger are needed"
        )
    held = points.copy()
    for finger in range(len(FINGERS)):
        held[:, finger_keypoints(finger)] = points[held_frames(measured[:, finger]), finger_keypoints(finger)]
    return held, measured


def finger_keypoints(finger: int) -> slice:
    """Return the keypoints of a finger, numbered as in FINGERS."""
    return slice(1 + 4 * finger, 5 + 4 * finger)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)
