"""An open bin: a floor and four walls, fixed to the table."""

from collections.abc import Callable

import isaaclab.sim as sim_utils
from isaaclab.utils import configclass


@configclass
class BinCfg(sim_utils.SpawnerCfg):
    """Spawn one open bin; its origin is the middle of the floor's underside."""

    func: Callable | str = "{DIR}.bin:spawn_bin"

    inner_size: tuple[float, float] = (0.24, 0.24)
    """Inner extents x, y [m]."""

    wall_height: float = 0.12
    """Height of the walls above the table [m]."""

    thickness: float = 0.01
    """Of walls and floor [m]: thicker than an object falls in one physics step (1.5 m/s at 120 Hz: 12.5 mm)."""

    color: tuple[float, float, float] = (0.6, 0.6, 0.6)
    """Diffuse colour, linear RGB in 0..1."""

    friction: float = 0.8
    """Sliding friction of all its sides."""
