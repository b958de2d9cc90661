"""What of a human hand belongs to the person and not to the motion: the lengths of the fingers and their usual fan."""

from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.palm_points import KNUCKLE, LAST, MIDDLE, TIP, palm_points
from r2s2r.contracts.checks import set_vector
from r2s2r.recording.hand_recording import HandRecording

FORWARD = 0.7
"""A finger's first part points forward where this share of its length lies along the hand."""


@dataclass(frozen=True)
class HumanHand:
    """Index, middle and ring finger of one person.

    Raises:
        ConfigError: a length is not within 5 mm to 0.2 m, or a splay beyond 1 rad.
    """

    first_m: tuple[float, ...]
    """Lengths from knuckle to middle joint (3) [m]."""
    rest_m: tuple[float, ...]
    """Lengths from middle joint over the last joint to the tip (3) [m]."""
    splay: tuple[float, ...]
    """Usual angle between each finger and the hand's length, about the palm's normal (3) [rad]."""

    def __post_init__(self):
        set_vector(self, "first_m", len(KNUCKLE), 0.005, 0.2)
        set_vector(self, "rest_m", len(KNUCKLE), 0.005, 0.2)
        set_vector(self, "splay", len(KNUCKLE), -1.0, 1.0)

    @staticmethod
    def measure(recording: HandRecording) -> "HumanHand":
        """Return the medians over a recording.

        Raises:
            RetargetingError: a left hand, or a finger that is not measured in any frame.
        """
        return HumanHand.of_points(palm_points(recording)[0])

    @staticmethod
    def of_points(points: np.ndarray) -> "HumanHand":
        """Return the medians over keypoints in the palm (T, 21, 3) [m]."""
        first_part = points[:, MIDDLE] - points[:, KNUCKLE]
        first = np.median(_length(first_part), axis=0)
        parts = _length(points[:, LAST] - points[:, MIDDLE]) + _length(points[:, TIP] - points[:, LAST])
        # Where the last joint is not always measured the stretched finger gives the length.
        stretched = np.quantile(_length(points[:, TIP] - points[:, MIDDLE]), 0.95, axis=0)
        rest = np.median(parts, axis=0)
        rest = np.where(np.isfinite(rest), rest, stretched)
        return HumanHand(tuple(first), tuple(rest), tuple(_usual_splay(first_part)))


def splay_of(first_part: np.ndarray) -> np.ndarray:
    """Return the angle (...) [rad] of a finger's first part (..., 3) to the hand's length, about the palm's normal."""
    return np.arctan2(-first_part[..., 1], first_part[..., 2])


def _usual_splay(first_part: np.ndarray) -> np.ndarray:
    """Return each finger's median splay (F,) over the frames (T, F, 3) in which its first part points forward."""
    forward = first_part[..., 2] > FORWARD * _length(first_part)
    splay = np.where(forward, splay_of(first_part), np.nan)
    seen = forward.any(axis=0)
    usual = np.zeros(first_part.shape[1])
    usual[seen] = np.nanmedian(splay[:, seen], axis=0)
    return usual


def _length(vector: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vector, axis=-1)
