"""Build a bin from five boxes; see :mod:`r2s2r_tasks.assets.bin_cfg`."""

import isaaclab.sim as sim_utils
from isaaclab.sim.utils import clone, create_prim
from pxr import Usd

from r2s2r_tasks.assets.bin_cfg import BinCfg


@clone
def spawn_bin(
    prim_path: str,
    cfg: BinCfg,
    translation: tuple[float, float, float] | None = None,
    orientation: tuple[float, float, float, float] | None = None,
    **kwargs,
) -> Usd.Prim:
    """Spawn an open bin of static colliders at `prim_path`."""
    prim = create_prim(prim_path, prim_type="Xform", translation=translation, orientation=orientation)
    for name, (size, position) in bin_panels(cfg).items():
        panel = sim_utils.CuboidCfg(
            size=size,
            collision_props=sim_utils.UsdPhysicsCollisionCfg(),
            visual_material=sim_utils.PreviewSurfaceCfg(diffuse_color=cfg.color),
            physics_material=sim_utils.RigidBodyMaterialCfg(
                static_friction=cfg.friction, dynamic_friction=cfg.friction
            ),
        )
        panel.func(f"{prim_path}/{name}", panel, translation=position)
    return prim


def bin_panels(cfg: BinCfg) -> dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]]:
    """Return name -> (size, centre) [m] of the five boxes in the bin's frame."""
    x, y = cfg.inner_size
    t, height = cfg.thickness, cfg.wall_height
    middle = height / 2
    return {
        "floor": ((x + 2 * t, y + 2 * t, t), (0.0, 0.0, t / 2)),
        "wall_front": ((t, y + 2 * t, height), ((x + t) / 2, 0.0, middle)),
        "wall_back": ((t, y + 2 * t, height), (-(x + t) / 2, 0.0, middle)),
        "wall_left": ((x, t, height), (0.0, (y + t) / 2, middle)),
        "wall_right": ((x, t, height), (0.0, -(y + t) / 2, middle)),
    }
