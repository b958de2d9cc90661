"""Configuration of the action term; the implementation is in :mod:`.actions`."""

from collections.abc import Callable
from typing import Any

from isaaclab.managers import ActionTermCfg
from isaaclab.utils import configclass


@configclass
class WristAndHandActionCfg(ActionTermCfg):
    """A wrist target in the base and 16 hand joint targets; see :mod:`r2s2r.contracts.action`."""

    class_type: Callable | str = "{DIR}.actions:WristAndHandAction"

    asset_name: str = "robot"

    description: dict[str, Any] = {}
    """The robot whose kinematics the arm controller uses, as in
    :class:`r2s2r_tasks.assets.composed_robot_cfg.ComposedRobotCfg`."""
