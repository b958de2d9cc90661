"""Spawner of the robot that :mod:`r2s2r.robot.description` composes: no USD path has to be known beforehand."""

from collections.abc import Callable
from typing import Any

import isaaclab.sim as sim_utils
from isaaclab.utils import configclass


@configclass
class ComposedRobotCfg(sim_utils.UsdFileCfg):
    """Compose arm and hand, convert them to USD once, and spawn that file."""

    func: Callable | str = "{DIR}.composed_robot:spawn_composed_robot"

    usd_path: str = "composed"
    """Filled in when the robot is spawned; the file lies in the user's cache."""

    description: dict[str, Any] = {}
    """Which arm and which hand, and the mount between them: the fields of
    :class:`r2s2r.robot.description.RobotDescriptionCfg` that differ from its defaults."""
