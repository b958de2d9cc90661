"""From human keypoints to where the robot hand's points should be.

Each robot finger copies the directions of the human finger's parts at its own lengths, so that bent stays bent and
straight stays straight; the fan in which a human holds the fingers becomes the robot's own. The thumb's tip keeps its
place relative to the knuckles, scaled by the fingers' lengths. Where human thumb and finger come close, the way from
one tip to the other, scaled, gets a weight of its own: a pinch stays a pinch.
"""

import numpy as np

from r2s2r.behavior.hand_model import FINGERTIPS, KNUCKLE_LINKS, MIDDLE_LINKS, HandModel
from r2s2r.behavior.hand_objective import MIDDLES, PINCHES, TIPS, VECTORS, HandGoals
from r2s2r.behavior.human_hand import HumanHand, splay_of
from r2s2r.behavior.palm_points import KNUCKLE, MIDDLE, THUMB_IP, THUMB_TIP, TIP
from r2s2r.contracts.joints import HAND_JOINTS

MIDDLE_WEIGHT = 0.09
"""Weight of the middle joints against the fingertips' 1: it settles which of the many postures with the same tips."""

PINCH_WEIGHT = 2.0
"""Weight of the way between two tips that touch, against the fingertips' 1: a pinch is kept where a thumb that is too
short cannot reach both."""

PINCH_FAR, PINCH_NEAR = 0.05, 0.03
"""Human distance between thumb and finger [m] below which the robot starts to keep it, and does so fully, scaled: where
DexPilot lets go and takes hold (arXiv 1910.03135, as dex_retargeting has it). With 8 cm a closing fist is taken for
pinches, and its fingers close in another order."""


class HandTargets:
    """What the robot's fingers copy from one person's."""

    def __init__(self, hand: HandModel, human: HumanHand):
        """Compare the two hands.

        Args:
            hand: the robot hand.
            human: the person's.
        """
        rest = hand.link_pos(np.zeros(len(HAND_JOINTS)), FINGERTIPS + MIDDLE_LINKS + KNUCKLE_LINKS)
        tips, middles, self._knuckles = rest[:4], rest[4:8], rest[8:]
        self._upper = _length(middles[1:] - self._knuckles) / np.array(human.first_m)
        self._lower = _length(tips[1:] - middles[1:]) / np.array(human.rest_m)
        self._scale = float(np.mean([self._upper[:2], self._lower[:2]]))
        self._thumb_last = float(_length(tips[0] - middles[0]))
        fan = splay_of(middles[1:] - self._knuckles) - np.array(human.splay)
        self._fan = np.stack([np.cos(fan), np.sin(fan)])

    def vectors(self, points: np.ndarray) -> np.ndarray:
        """Return the targets (..., V, 3) of `hand_objective.VECTORS` [m] for keypoints in the palm (..., 21, 3)."""
        knuckles, middles, tips = points[..., KNUCKLE, :], points[..., MIDDLE, :], points[..., TIP, :]
        thumb = points[..., THUMB_TIP, :]
        targets = np.empty((*points.shape[:-2], len(VECTORS), 3))
        finger_middles = self._knuckles + self._upper[:, None] * self._fanned(middles - knuckles)
        finger_tips = finger_middles + self._lower[:, None] * self._fanned(tips - middles)
        # The thumb stands against index and middle finger.
        from_knuckles = thumb - knuckles[..., :2, :].mean(axis=-2)
        thumb_tip = self._knuckles[:2].mean(axis=0) + self._scale * from_knuckles
        last = points[..., THUMB_IP, :] - thumb
        thumb_middle = thumb_tip + self._thumb_last * last / _length(last)[..., None]
        targets[..., TIPS, :] = np.concatenate([thumb_tip[..., None, :], finger_tips], axis=-2)
        targets[..., MIDDLES, :] = np.concatenate([thumb_middle[..., None, :], finger_middles], axis=-2)
        targets[..., PINCHES, :] = self._scale * (tips - thumb[..., None, :])
        return targets

    def weights(self, points: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """Return the weights (..., V) of the targets.

        A finger that is not measured is held where it was, but takes no part in a pinch. Where none is, all are zero.

        Args:
            points: keypoints in the palm (..., 21, 3) [m].
            measured: fingers that were (..., 4).
        """
        weights = np.empty((*points.shape[:-2], len(VECTORS)))
        weights[..., TIPS], weights[..., MIDDLES] = 1.0, MIDDLE_WEIGHT
        both = np.logical_and(measured[..., :1], measured[..., 1:])
        weights[..., PINCHES] = np.where(both, PINCH_WEIGHT * closeness(points), 0.0)
        return np.where(measured.any(axis=-1, keepdims=True), weights, 0.0)

    def _fanned(self, vectors: np.ndarray) -> np.ndarray:
        """Return the fingers' parts (..., 3, 3) turned about the palm's normal, from the human's fan to ours."""
        cos, sin = self._fan
        x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
        return np.stack([x, cos * y - sin * z, sin * y + cos * z], axis=-1)


def closeness(points: np.ndarray) -> np.ndarray:
    """Return how close the thumb's tip is to each finger's (..., 3): 0 from PINCH_FAR on, 1 up to PINCH_NEAR."""
    distance = _length(points[..., TIP, :] - points[..., None, THUMB_TIP, :])
    share = np.clip((PINCH_FAR - distance) / (PINCH_FAR - PINCH_NEAR), 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


def hand_goals(targets: HandTargets, points: np.ndarray, measured: np.ndarray, time_s: np.ndarray) -> HandGoals:
    """Return the goals of T frames of one recording.

    Args:
        targets: of this person.
        points: keypoints in the palm (T, 21, 3), measured or held [m].
        measured: which fingers were (T, 4).
        time_s: (T,) [s].
    """
    return HandGoals(targets.vectors(points), targets.weights(points, measured), np.diff(time_s, prepend=-np.inf))


def _length(vector: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vector, axis=-1)
