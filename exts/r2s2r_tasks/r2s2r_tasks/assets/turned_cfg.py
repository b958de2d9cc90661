"""A convex solid turned around its vertical axis, with flat or round sides."""

from collections.abc import Callable
from dataclasses import MISSING

import isaaclab.sim as sim_utils
from isaaclab.utils import configclass


@configclass
class TurnedCfg(sim_utils.MeshCfg):
    """Spawn the convex hull of regular polygons stacked along z: prisms, wedges, frustums, cups, barrels."""

    func: Callable | str = "{DIR}.turned:spawn_turned"

    name: str = MISSING
    """What people call the shape."""

    sides: int = MISSING
    """Corners of each polygon; 24 look and roll like a circle."""

    profile: tuple[tuple[float, float], ...] = MISSING
    """Circumradius and height above the bottom of each polygon [m], from bottom to top."""
