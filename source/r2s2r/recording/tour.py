"""Ways between stops: straight in joint space, minimum jerk in time, in an order that takes little time."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.transforms import pose_apply
from r2s2r.control.kinematics import SerialChain
from r2s2r.control.minimum_jerk import PEAK_SPEED_RATIO, progress
from r2s2r.recording.clearance import Clearance
from r2s2r.robot.limits import ARM_ACCELERATION_LIMIT, ARM_LIMITS, TOOL_SPEED_LIMIT

PEAK_ACCELERATION_RATIO = 10.0 / 3.0**0.5
"""Highest acceleration of a minimum-jerk motion over its length, for a motion of one second."""

FINGERTIP_FLANGE = np.array([0.0, 0.0, 0.255])
"""Where straight fingers end on the flange [m]: what is fastest when the wrist turns."""


@dataclass(frozen=True)
class MoveCfg:
    """How fast the arm goes from stop to stop.

    Raises:
        ConfigError: a value is out of range.
    """

    speed_share: float = 0.5
    """Share of the vendor's joint speeds (180 deg/s)."""
    acceleration_share: float = 0.4
    """Share of the vendor's joint acceleration (20 rad/s2)."""
    tool_speed_share: float = 0.8
    """Share of the vendor's tool speed (1 m/s), at the fingertips."""
    shortest_s: float = 0.3
    """Shortest move [s]."""

    def __post_init__(self):
        for name in ("speed_share", "acceleration_share", "tool_speed_share"):
            set_number(self, name, 0.01, 1.0)
        set_number(self, "shortest_s", 0.01, 60.0)


@dataclass(frozen=True)
class Move:
    """One way from rest to rest."""

    first: np.ndarray
    """Arm joint positions (7) [rad] at its begin."""
    second: np.ndarray
    """Arm joint positions (7) [rad] at its end."""
    duration_s: float
    """Time from rest to rest [s]."""

    def joint_pos(self, time_s: np.ndarray | float) -> np.ndarray:
        """Return arm joint targets (..., 7) [rad] at times (...) [s] from its begin; at rest outside."""
        share = progress(np.asarray(time_s, dtype=float)[..., None] / self.duration_s)
        return self.first + share * (self.second - self.first)


def plan_move(chain: SerialChain, first: np.ndarray, second: np.ndarray, cfg: MoveCfg) -> Move:
    """Return the quickest move that keeps the shares of the vendor's limits of joints and tool."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    duration = float(joint_times(first, second, cfg))
    share = np.linspace(0.0, 1.0, 33)
    flange = chain.wrist_pose(first + progress(share)[:, None] * (second - first))
    way = np.linalg.norm(np.diff(pose_apply(flange, FINGERTIP_FLANGE), axis=0), axis=1)
    fastest = way.max() * (len(share) - 1)  # for a move of one second
    return Move(first, second, max(duration, fastest / (cfg.tool_speed_share * TOOL_SPEED_LIMIT)))


def joint_times(first: np.ndarray, second: np.ndarray, cfg: MoveCfg) -> np.ndarray:
    """Return the times (...) [s] that joint speeds and accelerations allow from `first` to `second` (..., 7) [rad]."""
    way = np.abs(np.asarray(second) - np.asarray(first))
    by_speed = PEAK_SPEED_RATIO * way / (cfg.speed_share * ARM_LIMITS.velocity)
    by_acceleration = np.sqrt(PEAK_ACCELERATION_RATIO * way / (cfg.acceleration_share * ARM_ACCELERATION_LIMIT))
    return np.maximum(np.maximum(by_speed, by_acceleration).max(axis=-1), cfg.shortest_s)


def plan_tour(
    stops: np.ndarray, home: np.ndarray, last: np.ndarray, clearance: Clearance, cfg: MoveCfg
) -> tuple[np.ndarray, ...]:
    """Return an order of stops that takes little time from `home` to `last`, on free ways only.

    Where the straight way from one to the next is not free, it leads over `home`, so the ways from there have to be.
    Nearest neighbour, improved by reversing stretches (2-opt; Croes, Operations Research 6(6), 1958).

    Args:
        stops: arm joint positions (N, 7) [rad].
        home: where it begins (7) [rad].
        last: where it ends (7) [rad].
        clearance: where the arm may be.
        cfg: how fast it goes.

    Returns:
        For each stop and for `last` the postures (1 or 2, 7) [rad] to go to, one after the other.

    Raises:
        ConfigError: the way from `home` to a stop or to `last` is not free.
    """
    home = np.asarray(home)
    nodes = np.concatenate([home[None], stops, np.asarray(last)[None]])
    if not clearance.free_between(home, nodes).all():
        raise ConfigError(f"tour of {len(stops)} stops: the straight way from {home.tolist()} rad to one is not free")
    i, k = np.triu_indices(len(nodes), 1)
    from_home = joint_times(home, nodes, cfg)
    free = np.ones((len(nodes), len(nodes)), dtype=bool)
    cost = np.zeros((len(nodes), len(nodes)))
    free[i, k] = clearance.free_between(nodes[i], nodes[k])
    cost[i, k] = np.where(free[i, k], joint_times(nodes[i], nodes[k], cfg), from_home[i] + from_home[k])
    free, cost = free & free.T, cost + cost.T
    order = _shortened(_nearest(cost), cost)
    return tuple(
        nodes[[there]] if free[here, there] else np.stack([home, nodes[there]])
        for here, there in zip(order[:-1], order[1:], strict=True)
    )


def check_way(clearance: Clearance, first: np.ndarray, second: np.ndarray) -> None:
    """Refuse to go straight from `first` to `second` (7) [rad] where that is not free.

    Raises:
        RecordingError: it is not.
    """
    if not bool(clearance.free_between(np.asarray(first), np.asarray(second), steps=40)):
        raise RecordingError(
            f"the arm stands at {np.round(first, 2).tolist()} rad, from where the straight way to "
            f"{np.round(second, 2).tolist()} rad is not free; bring it there by hand first"
        )


def _nearest(cost: np.ndarray) -> np.ndarray:
    """Return an order of all nodes from the first to the last, each time to the nearest that is left."""
    order, left = [0], set(range(1, len(cost) - 1))
    while left:
        order.append(min(left, key=lambda k: (cost[order[-1], k], k)))
        left.remove(order[-1])
    return np.array([*order, len(cost) - 1])


def _shortened(order: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return `order` after all reversals of a stretch that shorten it; its ends stay."""
    shorter = True
    while shorter:
        shorter = False
        for a in range(len(order) - 3):
            for b in range(a + 2, len(order) - 1):
                old = cost[order[a], order[a + 1]] + cost[order[b], order[b + 1]]
                new = cost[order[a], order[b]] + cost[order[a + 1], order[b + 1]]
                if new < old - 1e-9:
                    order[a + 1 : b + 1] = order[a + 1 : b + 1][::-1].copy()
                    shorter = True
    return order
