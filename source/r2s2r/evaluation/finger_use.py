"""How many fingers take part in a grasp, by what the hand was told: in demonstrations, data sets and rollouts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.behavior.motion_features import FINGERS
from r2s2r.contracts.action import HAND_JOINT_POS, POLICY_RATE_HZ, WRIST_POS
from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.intervals import wilson_interval

LOW_M = 0.02
"""The hand is down while its commanded height is within this of the episode's lowest [m]."""

CLOSING_S = 1.5
"""Longest time before the lift in which the closing is looked for [s]: people close in 0.7 s and wait up to half a
second; what the hand does on its way down, such as shaping itself for a pinch, is longer ago."""

MIN_CLOSING_RAD = 0.5
"""Way over the 16 joints from which on the hand has closed at all [rad], as behavior.phases asks of a recording."""

TAKES_PART = 0.25
"""A finger takes part if it goes at least this share of the way of the one that goes furthest."""


@dataclass(frozen=True)
class FingerUse:
    """How the hands of N episodes closed."""

    shares: np.ndarray
    """(C, 4) each finger's share of the closing in the C episodes that closed, in the order of FINGERS."""
    never_closed: int

    @property
    def fingers(self) -> np.ndarray:
        """(C,) how many take part in each."""
        return _taking_part(self.shares).sum(axis=1)

    @property
    def effective(self) -> np.ndarray:
        """(C,) 1 / sum of squared shares: n where n fingers go the same way and the others none."""
        return 1.0 / np.square(self.shares).sum(axis=1)

    @property
    def pinches(self) -> int:
        """Closings in which the thumb and exactly one other finger take part."""
        part = _taking_part(self.shares)
        return int((part[:, list(FINGERS).index("thumb")] & (part.sum(axis=1) == 2)).sum())

    def counts(self) -> dict[str, int]:
        """Return how many episodes closed with 1 to 4 fingers, and how many not at all."""
        told = {f"{n} finger{'s' * (n > 1)}": int((self.fingers == n).sum()) for n in range(1, len(FINGERS) + 1)}
        return {**told, "never closed": self.never_closed}

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values; the intervals are Wilson's."""
        closed = len(self.shares)
        return {
            "episodes": closed + self.never_closed,
            "fingers": self.counts(),
            "effective_fingers": float(self.effective.mean()) if closed else None,
            "shares": dict(zip(FINGERS, self.shares.mean(axis=0).tolist(), strict=True)) if closed else None,
            "pinches": self.pinches,
            "pinch_share": self.pinches / closed if closed else None,
            "pinch_interval": wilson_interval(self.pinches, closed),
        }


def finger_use(actions: Iterable[np.ndarray]) -> FingerUse:
    """Return how hands closed in episodes, each given by its actions (T, 25).

    The hand closes before it is lifted: from the posture within the last 1.5 s before the lift that is furthest from
    the one at the lift, each finger goes a way in joint space. Joints do not tell by themselves: a pinch may close by
    straightening. What was commanded counts, not what was reached: an object stops a finger that takes part.

    Raises:
        ConfigError: there is no episode.
    """
    shares, never = [], 0
    for one in actions:
        way = _closing(np.asarray(one, dtype=float))
        if np.linalg.norm(way) < MIN_CLOSING_RAD:
            never += 1
        else:
            lengths = np.array([np.linalg.norm(way[joints]) for joints in FINGERS.values()])
            shares.append(lengths / lengths.sum())
    if not shares and not never:
        raise ConfigError("finger use: no episodes, at least one is needed")
    return FingerUse(np.array(shares).reshape(-1, len(FINGERS)), never)


def _closing(actions: np.ndarray) -> np.ndarray:
    """Return how far each joint (16,) [rad] goes before the hand is lifted, in an episode's actions (T, 25)."""
    height, hand = actions[:, WRIST_POS][:, 2], actions[:, HAND_JOINT_POS]
    lift = int(np.flatnonzero(height <= height.min() + LOW_M)[-1])
    before = hand[max(lift - round(CLOSING_S * POLICY_RATE_HZ), 0) : lift + 1]
    begin = int(np.linalg.norm(before - hand[lift], axis=1).argmax())
    return hand[lift] - before[begin]


def _taking_part(shares: np.ndarray) -> np.ndarray:
    return shares >= TAKES_PART * shares.max(axis=1, keepdims=True, initial=0.0)
