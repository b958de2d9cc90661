"""When the parts of a pick begin and end, found in the motion of wrist and hand alone.

Every event is the edge of one rise of a normalised signal: the hand closes, the height grows, the bin comes nearer. An
edge is where the rise slows down to a small share of its own fastest rate, so that the pace does not matter.
"""

from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.low_pass import low_pass
from r2s2r.contracts.joints import HAND_JOINTS

EDGE_SHARE = 0.08
"""A rise begins and ends where its rate is this share of its highest."""

REACH_TAIL = 0.088
"""What a minimum-jerk motion lasts before that edge, and after the other one, over the time between them: it has 8 % of
its highest speed 7.5 % of its duration after its begin, and 0.075 / (1 - 2 x 0.075) = 0.088."""

CUTOFF_HZ = 5.0
"""Cutoff of the low-pass that events are found behind [Hz]: a reach of 0.6 s fills it, sensor noise and the replay's
disturbances lie above it."""

BENDING = tuple(i for i in range(len(HAND_JOINTS)) if i % 4)
"""Joints that bend: all but each finger's abduction and the thumb's rotation."""


@dataclass(frozen=True)
class Rise:
    """One way of a normalised signal from 0 to 1, by index."""

    begin: int
    end: int

    def as_reach(self, steps: int) -> "Rise":
        """Return begin and end of the minimum-jerk motion of which these are the edges, within 0..steps - 1."""
        tail = round(REACH_TAIL * (self.end - self.begin))
        return Rise(max(self.begin - tail, 0), min(self.end + tail, steps - 1))


def find_rise(signal: np.ndarray, edge_share: float = EDGE_SHARE) -> Rise:
    """Return the last rise of `signal` (T,) through its middle before it reaches three quarters for the first time.

    The signal is scaled by its own lowest and highest value first; its rate is searched outwards from the fastest
    moment between one and three quarters.
    """
    low, high = signal.min(), signal.max()
    share = (signal - low) / max(high - low, 1e-12)
    late = int(np.argmax(share >= 0.75))
    below = np.flatnonzero(share[:late] < 0.25)
    early = int(below[-1]) if len(below) else 0
    rate = np.gradient(share)
    fastest = early + int(rate[early : late + 1].argmax())
    slow = rate < edge_share * rate[fastest]
    before, after = np.flatnonzero(slow[:fastest]), np.flatnonzero(slow[fastest:])
    return Rise(
        begin=int(before[-1]) if len(before) else 0,
        end=fastest + int(after[0]) if len(after) else len(signal) - 1,
    )


@dataclass(frozen=True)
class PickEvents:
    """Steps at which the parts of one pick begin."""

    onset: int
    """The wrist leaves its resting place."""
    ride: int
    """The wrist has arrived and rides along with the object."""
    close: int
    """The hand begins to close."""
    lift: int
    """The wrist begins to rise."""
    transport: int
    """The bin begins to come nearer."""
    release: int
    """The hand begins to open."""
    retreat: int
    """The hand is open."""
    end: int
    """The wrist has come to rest again, or the recording ends."""


def bend_share(hand_joint_pos: np.ndarray, rate_hz: float) -> np.ndarray:
    """Return how far the hand (T, 16) [rad] is from its most open (0) to its most bent posture (1), (T,)."""
    posture = low_pass(hand_joint_pos, rate_hz, CUTOFF_HZ)
    bend = posture[:, BENDING].sum(axis=1)
    opened = posture[int(bend.argmin())]
    way = posture[int(bend.argmax())] - opened
    return (posture - opened) @ way / max(float(way @ way), 1e-12)


def held(bent: np.ndarray) -> slice:
    """Return the longest run of steps in which the hand is more than half closed; empty where there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], bent > 0.5, [0]]).astype(np.int8)))
    runs = edges.reshape(-1, 2)
    if not len(runs):
        return slice(0, 0)
    begin, end = runs[int((runs[:, 1] - runs[:, 0]).argmax())]
    return slice(int(begin), int(end))


def find_events(
    wrist_pos_b: np.ndarray,
    bent: np.ndarray,
    holding: slice,
    belt_velocity_b: np.ndarray | None,
    bin_pos_b: np.ndarray,
    rate_hz: float,
) -> PickEvents:
    """Return the events of a pick that grasps and releases.

    Args:
        wrist_pos_b: (T, 3) [m].
        bent: (T,) from :func:`bend_share`.
        holding: from :func:`held`, within the recording on both sides.
        belt_velocity_b: (3,) [m/s]; None: the hand's own while it closes.
        bin_pos_b: (3,) centre of the bin's floor [m].
        rate_hz: steps a second.
    """
    pos = low_pass(wrist_pos_b, rate_hz, CUTOFF_HZ)
    close = _closing(bent, holding)
    opening = _opening(bent, holding)
    release, retreat = opening.begin, min(max(opening.end, opening.begin + 1), len(pos) - 1)
    top = close + int(pos[close : release + 1, 2].argmax())
    lift = close + _reach(pos[close : top + 1, 2]).begin
    away = np.linalg.norm(pos[:, :2] - bin_pos_b[:2], axis=1)
    transport = lift + _reach(-away[lift : release + 1]).begin
    velocity = _riding_velocity(pos, close, lift, rate_hz) if belt_velocity_b is None else belt_velocity_b
    onset = _reach(np.linalg.norm(pos - pos[0], axis=1)[: close + 1]).begin
    place = pos[close] + np.outer(np.arange(onset - close, 1) / rate_hz, velocity)
    ride = onset + _reach(-np.linalg.norm(pos[onset : close + 1] - place, axis=1)).end
    end = retreat + _reach(np.linalg.norm(pos - pos[retreat], axis=1)[retreat:]).end
    return PickEvents(onset, ride, close, max(lift, close + 1), max(transport, lift + 1), release, retreat, end)


def _reach(signal: np.ndarray) -> Rise:
    return find_rise(signal).as_reach(len(signal))


def _closing(bent: np.ndarray, holding: slice) -> int:
    last_open = int(bent[: holding.start + 1].argmin())
    return last_open + find_rise(bent[last_open : holding.stop]).begin


def _opening(bent: np.ndarray, holding: slice) -> Rise:
    after = bent[holding.stop :]
    next_open = holding.stop + int((after <= after.min() + 0.05).argmax())
    opening = find_rise(-bent[holding.start : next_open + 1])
    return Rise(holding.start + opening.begin, holding.start + opening.end)


def _riding_velocity(pos: np.ndarray, close: int, lift: int, rate_hz: float) -> np.ndarray:
    velocity = (pos[max(lift, close + 1)] - pos[close]) / (max(lift - close, 1) / rate_hz)
    return velocity * (1.0, 1.0, 0.0)
