"""When an attempt has succeeded, and why one has failed: judged the same way in every simulator and on the real cell.

The rules are arithmetic on arrays of N attempts and work on NumPy arrays and torch tensors alike, on any device.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import matrix_from_quat
from r2s2r.contracts.world import OBJECT_CLASSES, CellPoses

Array = Any
"""A NumPy array or a torch tensor."""

SMALLEST = 1e-6
"""Of lengths, times and speeds in the settings; each has to be positive."""

RIDING_HEIGHT = 0.08
"""An object whose centre is less than this above the belt's surface rides on it, one that is higher is carried [m]."""

HOLD_ROUNDING_S = 1e-3
"""Slack on hold times [s]: 15 steps of 1/30 s add up to 0.5 in single and to 0.49999999999999994 in double precision;
without it the same motion would be judged one control step later in NumPy than in torch."""


class Outcome(IntEnum):
    """What became of an attempt. Everything after `SUCCESS` is the reason of a failure."""

    RUNNING = 0
    SUCCESS = 1
    WRONG_BIN = 2
    LEFT_BELT = 3
    DROPPED = 4
    TIMEOUT = 5
    UNSTABLE = 6
    CONTACT_OVERFLOW = 7
    LATE_CLOSE = 8

    @property
    def label(self) -> str:
        """Lower-case name for tables and files."""
        return self.name.lower()


RULES = {
    Outcome.WRONG_BIN: "the target settled in the other class's bin",
    Outcome.LEFT_BELT: "the target rode past the end of the reachable belt",
    Outcome.DROPPED: "the target fell outside belt and bins",
    Outcome.TIMEOUT: "the target was not settled in its bin when time was up",
    Outcome.UNSTABLE: "the simulated state was not finite or ran away",
    Outcome.CONTACT_OVERFLOW: "more contacts than the simulator holds for one environment",
    Outcome.LATE_CLOSE: "the wrist did not arrive at the object within the allowed wait",
}
"""The rule that each failure broke, in words."""


@dataclass(frozen=True)
class JudgingCfg:
    """Geometry and limits of the verdict, in the robot's base frame.

    Raises:
        ConfigError: a length, time or speed is not positive, a place is not finite, or there are not as many bins as
            classes.
    """

    bin_pos_b: tuple[tuple[float, float, float], ...]
    """Middle of each class's bin floor [m], in the order of the class index."""

    bin_inner_size: tuple[float, float] = (0.24, 0.24)
    """Inner extents of a bin, x and y [m]."""

    bin_height: float = 0.12
    """Height of a bin's walls [m]; an object whose centre is below it and between the walls is in the bin."""

    belt_end_y: float = 0.45
    """The belt's y beyond which the arm cannot follow an object [m]."""

    belt_x: tuple[float, float] = (0.395, 0.645)
    """Extent of the belt across its motion [m]."""

    belt_top_z: float = 0.10
    """Height of the belt's surface [m]."""

    dropped_below_z: float = 0.08
    """An object whose centre is lower than this and not in a bin has been dropped [m]; the belt's surface is higher."""

    settled_speed: float = 0.1
    """An object slower than this has settled [m/s]. A tin may roll on between the walls of its bin; to leave it,
    it would have to be faster than sqrt(2 g h) = 1.5 m/s for walls of 12 cm."""

    hold_s: float = 0.5
    """How long it has to lie still in the bin [s]: passing through does not count."""

    runaway_speed: float = 5.0
    """An object faster than this is a numerical accident [m/s]: a fall from 1 m ends at 4.4 m/s."""

    def __post_init__(self):
        for name in ("bin_height", "settled_speed", "hold_s", "runaway_speed"):
            set_number(self, name, SMALLEST, 100.0)
        for name in ("belt_end_y", "belt_top_z", "dropped_below_z"):
            set_number(self, name)
        set_vector(self, "bin_inner_size", 2, SMALLEST, 100.0)
        set_vector(self, "belt_x", 2)
        if not self.belt_x[0] < self.belt_x[1]:
            raise ConfigError(f"JudgingCfg.belt_x: received {self.belt_x}, allowed is low < high")
        shapes = [np.shape(pos) for pos in self.bin_pos_b]
        if shapes != [(3,)] * len(OBJECT_CLASSES) or not np.isfinite(self.bin_pos_b).all():
            raise ConfigError(
                f"JudgingCfg.bin_pos_b: received {self.bin_pos_b}, allowed are 3 finite numbers "
                f"for each of {', '.join(OBJECT_CLASSES)}"
            )


def judging_cfg(poses: CellPoses) -> JudgingCfg:
    """Return the limits that attempts in a cell with these poses are judged by."""
    x, _, top = poses.belt_pos_b
    rotation = matrix_from_quat(np.array(poses.belt_quat_b))
    half = JudgingCfg.belt_end_y  # of the stretch that is judged
    # A belt that is slightly turned or tilted is judged by the upright box around that stretch.
    across = 0.5 * poses.belt_size[1] + abs(rotation[0, 0]) * half
    drop = abs(rotation[2, 0]) * half
    return JudgingCfg(
        bin_pos_b=tuple((x, y, z) for x, y, z in (poses.bin_pos_b[name] for name in OBJECT_CLASSES)),
        bin_inner_size=(poses.bin_size[0], poses.bin_size[1]),
        bin_height=poses.bin_size[2],
        belt_top_z=top - drop,
        belt_x=(x - across, x + across),
        dropped_below_z=top - drop - 0.02,
    )


def in_bin(cfg: JudgingCfg, object_pos_b: Array, bin_index: int) -> Array:
    """Return whether each object's centre (N, 3) lies within floor and walls of bin `bin_index` (N,) bool."""
    x, y, z = cfg.bin_pos_b[bin_index]
    half_x, half_y = cfg.bin_inner_size[0] / 2, cfg.bin_inner_size[1] / 2
    inside = (abs(object_pos_b[:, 0] - x) < half_x) & (abs(object_pos_b[:, 1] - y) < half_y)
    return inside & (object_pos_b[:, 2] > z) & (object_pos_b[:, 2] < z + cfg.bin_height)


def advance_hold(
    cfg: JudgingCfg, held_s: Array, object_pos_b: Array, object_speed: Array, target_class: Array, dt: float
) -> tuple[Array, Array]:
    """Return for how long each target has been lying still, in its own bin and in another one.

    Args:
        cfg: limits.
        held_s: times so far (N, 2) [s]: own bin, other bin.
        object_pos_b: centre of the target (N, 3) [m].
        object_speed: its speed (N,) [m/s].
        target_class: its class index (N,).
        dt: time since the last call [s].

    Returns:
        The two times (N,), (N,) [s]; zero where the target is elsewhere or moves.
    """
    still = object_speed < cfg.settled_speed
    own = still & False
    other = still & False
    for index in range(len(cfg.bin_pos_b)):
        inside = in_bin(cfg, object_pos_b, index) & still
        mine = target_class == index
        own = own | (inside & mine)
        other = other | (inside & ~mine)
    return (held_s[:, 0] + dt) * own, (held_s[:, 1] + dt) * other


def verdict(cfg: JudgingCfg, held_s: Array, object_pos_b: Array, object_speed: Array) -> Array:
    """Return the :class:`Outcome` of each attempt by the state of its target (N,) of integers.

    Time-outs, numerical accidents and late closing are set by whoever observes them.

    Args:
        cfg: limits.
        held_s: output of :func:`advance_hold`, stacked (N, 2) [s].
        object_pos_b: centre of the target (N, 3) [m].
        object_speed: its speed (N,) [m/s].
    """
    low = object_pos_b[:, 2] < cfg.dropped_below_z
    in_any_bin = low & False
    for index in range(len(cfg.bin_pos_b)):
        in_any_bin = in_any_bin | in_bin(cfg, object_pos_b, index)
    dropped = low & ~in_any_bin
    result = low * int(Outcome.RUNNING)
    enough = cfg.hold_s - HOLD_ROUNDING_S
    for condition, outcome in (
        (_past_end(cfg, object_pos_b), Outcome.LEFT_BELT),
        (dropped, Outcome.DROPPED),
        (held_s[:, 1] >= enough, Outcome.WRONG_BIN),
        (held_s[:, 0] >= enough, Outcome.SUCCESS),
        (_broken(cfg, object_pos_b, object_speed), Outcome.UNSTABLE),
    ):
        result = result * ~condition + int(outcome) * condition
    return result


def _past_end(cfg: JudgingCfg, object_pos_b: Array) -> Array:
    x, y, above = object_pos_b[:, 0], object_pos_b[:, 1], object_pos_b[:, 2] - cfg.belt_top_z
    on_belt = (above > 0) & (above < RIDING_HEIGHT) & (x > cfg.belt_x[0]) & (x < cfg.belt_x[1])
    return on_belt & (y > cfg.belt_end_y)


def _broken(cfg: JudgingCfg, object_pos_b: Array, object_speed: Array) -> Array:
    finite = (abs(object_pos_b) < float("inf")).all(-1)  # false for NaN, which compares with nothing
    return ~(finite & (object_speed < cfg.runaway_speed))


def count_reasons(outcomes: np.ndarray) -> dict[str, int]:
    """Return how many attempts ended each way, failures only, most frequent first."""
    counts = {o.label: int((np.asarray(outcomes) == o).sum()) for o in RULES}
    return dict(sorted(((k, n) for k, n in counts.items() if n), key=lambda item: (-item[1], item[0])))


def rate(successes: int, attempts: int) -> str:
    """Return a success rate in words: `12/16 (75.0 %)`, or `0/0 (n/a)` where nothing was tried."""
    share = f"{100 * successes / attempts:.1f} %" if attempts else "n/a"
    return f"{successes}/{attempts} ({share})"
