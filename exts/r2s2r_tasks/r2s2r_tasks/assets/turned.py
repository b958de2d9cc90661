"""Build a turned solid; see :mod:`r2s2r_tasks.assets.turned_cfg`."""

import numpy as np
import trimesh
from isaaclab.sim.spawners.meshes.meshes import _spawn_mesh_geom_from_mesh
from isaaclab.sim.utils import clone
from pxr import Usd

from r2s2r_tasks.assets.turned_cfg import TurnedCfg


@clone
def spawn_turned(
    prim_path: str,
    cfg: TurnedCfg,
    translation: tuple[float, float, float] | None = None,
    orientation: tuple[float, float, float, float] | None = None,
    **kwargs,
) -> Usd.Prim:
    """Spawn the solid at `prim_path`, its origin half way up its axis."""
    return _spawn_mesh_geom_from_mesh(prim_path, cfg, turned_mesh(cfg), translation, orientation)


def turned_mesh(cfg: TurnedCfg) -> trimesh.Trimesh:
    """Return the convex hull of the polygons of `cfg`, centred on half its height."""
    angle = 2.0 * np.pi * (np.arange(cfg.sides) + 0.5) / cfg.sides
    middle = 0.5 * (cfg.profile[0][1] + cfg.profile[-1][1])
    rings = [
        np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(cfg.sides, z - middle)], axis=-1)
        for radius, z in cfg.profile
    ]
    return trimesh.convex.convex_hull(np.concatenate(rings))
