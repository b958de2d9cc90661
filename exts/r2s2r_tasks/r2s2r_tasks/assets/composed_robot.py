"""Compose, convert and spawn the robot; see :mod:`r2s2r_tasks.assets.composed_robot_cfg`."""

from isaaclab.sim.spawners.from_files import spawn_from_usd
from pxr import Usd

from r2s2r.robot.description import RobotDescriptionCfg, compose
from r2s2r_tasks.assets.composed_robot_cfg import ComposedRobotCfg
from r2s2r_tasks.assets.robot_usd import robot_usd


def spawn_composed_robot(prim_path: str, cfg: ComposedRobotCfg, *args, **kwargs) -> Usd.Prim:
    """Spawn the robot of `cfg.description` at `prim_path`; further arguments as for any USD file."""
    cfg.usd_path = str(robot_usd(compose(RobotDescriptionCfg(**cfg.description))))
    return spawn_from_usd(prim_path, cfg, *args, **kwargs)
