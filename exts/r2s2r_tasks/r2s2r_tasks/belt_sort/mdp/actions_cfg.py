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
