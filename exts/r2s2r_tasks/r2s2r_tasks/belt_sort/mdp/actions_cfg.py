"""Configuration of the action term; the implementation is in :mod:`.actions`."""

from collections.abc import Callable

from isaaclab.managers import ActionTermCfg
from isaaclab.utils import configclass


@configclass
class WristAndHandActionCfg(ActionTermCfg):
    """A wrist target in the base and 16 hand joint targets; see :mod:`r2s2r.contracts.action`.

    The arm controller takes its kinematics from the description that the robot is spawned from.
    """

    class_type: Callable | str = "{DIR}.actions:WristAndHandAction"

    asset_name: str = "robot"

    controller: str = "damped_least_squares"
    """One of :data:`r2s2r.contracts.world.ARM_CONTROLLERS`."""

    command_delay_s: float = 0.0
    """From sending arm joint targets to their effect [s]."""

    hand_delay_s: tuple[float, ...] = (0.0,) * 16
    """Dead time of each hand joint [s]."""

    hand_deadband: tuple[float, ...] = (0.0,) * 16
    """Half width of each hand joint's play [rad]."""

    hand_lag_s: tuple[float, ...] = (0.0,) * 16
    """Time constant of each hand joint [s]."""
