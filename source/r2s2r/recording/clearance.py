"""Where the arm may be during calibration: above everything that lies on the table, and clear of itself."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.transforms import pose_inverse
from r2s2r.control.robot_boxes import RobotBoxes, lowest, overlap

_BODY = ("link_base", "link1", "link2", "link3")
"""What the wrist must not meet."""

_FOREARM = ("link4", "link5")
"""What the hand and what is screwed to the flange must not meet."""

_THUMB = tuple(f"hand_link_{k}" for k in range(12, 16))
"""Links of the thumb."""

_UPRIGHT = ("link_base", "link1", "link2")
"""Links that stand on the table and do not come near it."""


@dataclass(frozen=True)
class ClearanceCfg:
    """How far the arm keeps off.

    Raises:
        ConfigError: a value is out of range.
    """

    floor: float = 0.22
    """Lowest height of forearm, wrist and hand over the base's origin [m]: 3 cm over the corner of a board that lies
    3 cm too high and 8 degrees askew, 8 cm over the block on the belt."""
    front: float = 0.88
    """Farthest reach along the base's x [m]: the head camera stands at 1.0 m, give or take 3 cm."""
    distance: float = 0.015
    """Distance kept between hand, wrist and the rest of the arm [m]."""

    def __post_init__(self):
        set_number(self, "floor", 0.0, 2.0)
        set_number(self, "front", 0.1, 10.0)
        set_number(self, "distance", 0.0, 0.2)


class Clearance:
    """Tells whether arm postures are free."""

    def __init__(self, robot: RobotBoxes, cfg: ClearanceCfg | None = None):
        """Sort the robot's boxes into groups.

        Args:
            robot: boxes with all that is screwed to the flange, the hand in the posture that it has meanwhile.
            cfg: distances; None for the defaults.
        """
        self.cfg = cfg or ClearanceCfg()
        # Two boxes for the hand's twenty: what is planned looks at many postures.
        self._robot = _with_one_box(_with_one_box(robot, "thumb", _THUMB), "fingers", ("hand_",))
        self._high = ~self._robot.select(_UPRIGHT)
        body, forearm = self._robot.select(_BODY), self._robot.select(_FOREARM)
        carried = self._robot.joints == len(robot.chain.names) - 1
        wrist = carried | self._robot.select(("link6",))
        carried &= ~self._robot.select(("link7",))  # the flange itself is always near the forearm, and cannot meet it
        pairs = np.argwhere((wrist[:, None] & body) | (carried[:, None] & forearm))
        self._first, self._second = pairs.T

    def free(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return which arm postures (..., 7) [rad] are free (...) bool."""
        poses, half = self._robot.poses(joint_pos), self._robot.half
        high = np.asarray(lowest(poses, half)[..., self._high].min(axis=-1) >= self.cfg.floor)
        reach = poses[..., 0, 3] + np.sum(np.abs(poses[..., 0, :3]) * half, axis=-1)
        near = np.asarray(reach.max(axis=-1) <= self.cfg.front)
        i, k = self._first, self._second
        grown = half[i] + self.cfg.distance
        meets = overlap(poses[..., i, :, :], grown, poses[..., k, :, :], half[k]).any(axis=-1)
        return high & near & ~np.asarray(meets)

    def free_between(self, first: np.ndarray, second: np.ndarray, steps: int = 24) -> np.ndarray:
        """Return which straight ways in joint space from `first` (..., 7) to `second` (..., 7) are free (...) bool."""
        way = np.asarray(second) - np.asarray(first)
        share = np.linspace(0.0, 1.0, steps + 1).reshape(-1, *(1,) * way.ndim)
        return np.asarray(self.free(first + share * way).all(axis=0))


def _with_one_box(robot: RobotBoxes, name: str, links: tuple[str, ...]) -> RobotBoxes:
    """Return the robot with one box, along the flange's axes, around all boxes of `links`, which the flange carries."""
    inside = robot.select(links)
    frames = pose_inverse(robot.chain.tip) @ robot.frames[inside]
    reach = np.sum(np.abs(frames[..., :3, :3]) * robot.half[inside][:, None], axis=-1)
    low, high = (frames[:, :3, 3] - reach).min(axis=0), (frames[:, :3, 3] + reach).max(axis=0)
    middle = np.eye(4)
    middle[:3, 3] = 0.5 * (low + high)
    names = tuple(link for link, taken in zip(robot.names, inside, strict=True) if not taken)
    rest = RobotBoxes(robot.chain, names, robot.joints[~inside], robot.frames[~inside], robot.half[~inside])
    return rest.with_box(name, middle, 0.5 * (high - low))
