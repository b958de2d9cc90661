"""The vectors of the hand's objective at known postures, for tests."""

import numpy as np

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_objective import POINTS, VECTORS


def vectors_at(hand: HandModel, joint_pos: np.ndarray) -> np.ndarray:
    """Return the vectors (T, V, 3) [m] of postures (T, 16) [rad]."""
    points = np.concatenate([hand.link_pos(joint_pos, POINTS), np.zeros((len(joint_pos), 1, 3))], axis=1)
    to, start = np.array(VECTORS).T
    return points[:, to] - points[:, start]
