"""When the parts of a pick begin and end, found in the motion of wrist and hand alone.

Every event is the edge of one rise of a normalised signal: the hand closes, the height grows, the bin comes nearer. An
edge is where the rise slows down to a small share of its own fastest rate, so that the pace does not matter.
"""

from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.low_pass import low_pass

EDGE_SHARE = 0.08
"""A rise begins and ends where its rate is this share of its highest."""

REACH_TAIL = 0.088
"""What a minimum-jerk motion lasts before that edge, and after the other one, over the time between them: it has 8 % of
its highest speed 7.5 % of its duration after its begin, and 0.075 / (1 - 2 x 0.075) = 0.088."""

CUTOFF_HZ = 5.0
"""Cutoff of the low-pass that events are found behind [Hz]: a reach of 0.6 s fills it, sensor noise and the replay's
disturbances lie above it."""


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

    The signal is scaled by its own lowest and highest value first. From the middle the rise is followed either way
    until its rate falls below `edge_share` of the highest one met on that way, so that an earlier rise to a level in
    between is another one.
    """
    low, high = signal.min(), signal.max()
    share = (signal - low) / max(high - low, 1e-12)
    below = np.flatnonzero(share[: int(np.argmax(share >= 0.75))] < 0.5)
    middle = int(below[-1]) if len(below) else 0
    rate = np.gradient(share) if len(share) > 1 else np.zeros(1)
    return Rise(
        begin=middle - _slowed(rate[middle::-1], edge_share),
        end=middle + _slowed(rate[middle:], edge_share),
    )


def _slowed(rate: np.ndarray, edge_share: float) -> int:
    """Return the first step at which `rate` (T,) is below `edge_share` of its highest value until then, or the last."""
    slow = rate < edge_share * np.maximum.accumulate(rate)
    return int(slow.argmax()) if slow.any() else len(rate) - 1


@dataclass(frozen=True)
class PickEvents:
    """Steps at which the parts of one pick begin."""

    onset: int
    """The wrist leaves its resting place."""
    ride: int
    """The wrist has arrived and rides along with the object."""
    close: int
    """The hand begins to close."""
    closed: int
    """The hand has closed."""
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


@dataclass(frozen=True)
class Holding:
    """The hand around the transport, in which it surely holds the object."""

    carrying: int
    """Step half way to the bin."""

    opened: np.ndarray
    """(T,) distance of the posture from the one in that step, over all joints [rad]."""

    @property
    def closing(self) -> int:
        """Step before `carrying` in which the posture was farthest away."""
        return int(self.opened[: self.carrying + 1].argmax())

    @property
    def opening(self) -> int:
        """Step after `carrying` in which the posture is farthest away."""
        return self.carrying + int(self.opened[self.carrying :].argmax())


def find_holding(wrist_pos_b: np.ndarray, hand_joint_pos: np.ndarray, bin_pos_b: np.ndarray, rate_hz: float) -> Holding:
    """Return how the hand (T, 16) [rad] comes to its posture of the transport and leaves it again.

    The wrist (T, 3) [m] is under way with the object when it was last half as far from the bin (3,) as it ever is.
    Whatever the grasp is like, wrap or pinch, its fingers keep their targets then.
    """
    away = _horizontal(low_pass(wrist_pos_b, rate_hz, CUTOFF_HZ), bin_pos_b)
    nearest = int(away.argmin())
    far = np.flatnonzero(away[: nearest + 1] >= 0.5 * (away[: nearest + 1].max() + away[nearest]))
    posture = low_pass(hand_joint_pos, rate_hz, CUTOFF_HZ)
    return Holding(int(far[-1]), np.linalg.norm(posture - posture[far[-1]], axis=1))


def find_events(
    wrist_pos_b: np.ndarray,
    holding: Holding,
    belt_velocity_b: np.ndarray | None,
    bin_pos_b: np.ndarray,
    rate_hz: float,
) -> PickEvents:
    """Return the events of a pick whose hand closes before the transport and opens after it.

    Args:
        wrist_pos_b: (T, 3) [m].
        holding: from :func:`find_holding`.
        belt_velocity_b: (3,) [m/s]; None: the hand's own while it closes.
        bin_pos_b: (3,) centre of the bin's floor [m].
        rate_hz: steps a second.
    """
    pos, last = low_pass(wrist_pos_b, rate_hz, CUTOFF_HZ), len(wrist_pos_b) - 1
    closing = _rise(-holding.opened, holding.closing, holding.carrying)
    close, closed = closing.begin, max(closing.end, closing.begin + 1)
    opening = _rise(holding.opened, holding.carrying, holding.opening)
    release = max(opening.begin, close)
    leaves = _rise(np.linalg.norm(pos - pos[release], axis=1), release, last).begin
    retreat = min(max(min(opening.end, leaves), release + 1), last)
    top = close + int(pos[close : release + 1, 2].argmax())
    lift = min(max(_reach(pos[:, 2], close, top).begin, close + 1), last)
    transport = min(max(_reach(-_horizontal(pos, bin_pos_b), lift, release).begin, lift + 1), last)
    velocity = mean_velocity(pos, close, lift, rate_hz) if belt_velocity_b is None else belt_velocity_b
    onset = _reach(np.linalg.norm(pos - pos[0], axis=1), 0, close).begin
    place = pos[close] + np.outer(np.arange(len(pos)) - close, velocity / rate_hz)
    ride = _reach(-np.linalg.norm(pos - place, axis=1), onset, close).end
    end = _reach(np.linalg.norm(pos - pos[retreat], axis=1), retreat, last).end
    return PickEvents(onset, ride, close, closed, lift, transport, release, retreat, end)


def _rise(signal: np.ndarray, begin: int, end: int) -> Rise:
    """Return the rise of `signal` (T,) between two steps."""
    rise = find_rise(signal[begin : max(begin, end) + 1])
    return Rise(begin + rise.begin, begin + rise.end)


def _reach(signal: np.ndarray, begin: int, end: int) -> Rise:
    """Return the minimum-jerk motion whose edges are those of the rise between two steps."""
    rise = find_rise(signal[begin : max(begin, end) + 1]).as_reach(max(begin, end) + 1 - begin)
    return Rise(begin + rise.begin, begin + rise.end)


def mean_velocity(pos: np.ndarray, begin: int, end: int, rate_hz: float) -> np.ndarray:
    """Return the mean horizontal velocity (3,) [m/s] of positions (T, 3) [m] between two steps."""
    return (pos[end] - pos[begin]) * (1.0, 1.0, 0.0) * rate_hz / max(end - begin, 1)


def _horizontal(pos: np.ndarray, point: np.ndarray) -> np.ndarray:
    return np.linalg.norm(pos[:, :2] - point[:2], axis=1)
