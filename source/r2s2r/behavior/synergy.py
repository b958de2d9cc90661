"""How far each joint of the hand has closed at each moment of a human grab."""

from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.minimum_jerk import progress
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import HAND_JOINTS


@dataclass(frozen=True)
class ClosingSynergy:
    """The course of a grab: every joint's share of its own way, over normalised time.

    Which joints lead and which follow is the human's; how far they go is the grasp's, since robot fingers have other
    lengths.

    Raises:
        ConfigError: not finite, too few knots, not 16 joints, or not running from 0 to 1.
    """

    source: str
    """Recording that it was taken from."""

    share: np.ndarray
    """(K, 16) share of the way from open to closed at K evenly spaced times, 0 in the first row, 1 in the last."""

    def __post_init__(self):
        share = np.asarray(self.share, dtype=float)
        if share.ndim != 2 or len(share) < 2 or share.shape[1] != len(HAND_JOINTS) or not np.isfinite(share).all():
            raise ConfigError(f"closing synergy: share has shape {share.shape}, expected finite (K >= 2, 16)")
        if np.abs(share[0]).max() > 1e-6 or np.abs(share[-1] - 1.0).max() > 1e-6:
            raise ConfigError("closing synergy: share must be 0 in the first row and 1 in the last")
        object.__setattr__(self, "share", share)

    def at(self, s: np.ndarray | float) -> np.ndarray:
        """Return the shares (..., 16) at normalised times `s` (...); before 0 the hand is open, after 1 closed."""
        s = np.asarray(s, dtype=float)
        knots = np.linspace(0.0, 1.0, len(self.share))
        return np.stack([np.interp(s, knots, joint) for joint in self.share.T], axis=-1)

    @staticmethod
    def builtin() -> "ClosingSynergy":
        """Return the synergy for machines without the recording."""
        share = np.repeat(progress(np.linspace(0.0, 1.0, 21))[:, None], len(HAND_JOINTS), axis=1)
        return ClosingSynergy(source="minimum jerk", share=share)
