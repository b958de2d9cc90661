"""Left or right hand, told from the keypoints alone: fingers bend towards the palm, never towards the back."""

import numpy as np

CURL_DECIDES = 0.2
"""Mean share of the fingers' way that leads out of the palm or the back, above which a frame is evidence. Stretched
fingers bend back by up to 0.1."""

_FINGER_BASES, _FINGER_MIDDLES, _FINGER_TIPS = (5, 9, 13, 17), (6, 10, 14, 18), (8, 12, 16, 20)


def measured_chirality(points: np.ndarray, along: np.ndarray | None = None) -> str:
    """Return `right`, `left` or `undecided` for a hand's keypoints.

    Args:
        points: keypoints (T, 21, 3) in MediaPipe order [m], NaN where not measured.
        along: direction of the hand (T, 3) in the same frame, where the source measures it; else from the wrist to the
            middle knuckle.
    """
    curl = right_hand_curl(points, along)
    evidence = curl[np.abs(curl) > CURL_DECIDES]
    if not len(evidence):
        return "undecided"
    return "right" if np.mean(evidence > 0.0) > 0.5 else "left"


def right_hand_curl(points: np.ndarray, along: np.ndarray | None = None) -> np.ndarray:
    """Return the mean share (T,) of the fingers' way that leads out of a *right* hand's palm; NaN if not measured.

    Across the knuckles from pinky to index, crossed with the way along the hand, points out of a right palm and out of
    the back of a left hand. The middle joints stand in for knuckles that are not measured.
    """
    bases = np.where(np.isfinite(points[:, _FINGER_BASES]), points[:, _FINGER_BASES], points[:, _FINGER_MIDDLES])
    if along is None:
        along = bases[:, 1] - points[:, 0]
    normal = _unit(np.cross(bases[:, 0] - bases[:, 3], along))
    share = np.einsum("tfi,ti->tf", _unit(points[:, _FINGER_TIPS] - bases), normal)
    known = np.isfinite(share)
    total = np.where(known, share, 0.0).sum(axis=1)
    return np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.maximum(np.linalg.norm(vector, axis=-1, keepdims=True), 1e-12)
