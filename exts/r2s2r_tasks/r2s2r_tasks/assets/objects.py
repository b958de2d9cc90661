"""The things that ride on the belt: two classes, and other shapes that no demonstration has shown.

Each class is one scene slot. Every environment holds one variant of each slot: the physics engine wants the same
*kind* of collision shape in a slot of every environment, so a slot mixes sizes of one primitive, or holds one mesh:
Newton 1.6.1 gives MuJoCo Warp the mesh of environment 0 for all environments, other meshes would be drawn, not felt.
"""

from collections.abc import Sequence

import isaaclab.sim as sim_utils
from isaaclab.assets import RigidObjectCfg

from r2s2r.contracts.objects import BOX_SIZES, NOVEL_PAIRS, ROUND_SIZES
from r2s2r_tasks.assets.turned_cfg import TurnedCfg

BOX_COLOR, ROUND_COLOR = (0.8, 0.2, 0.1), (0.1, 0.35, 0.8)
"""Colours before randomisation, linear RGB."""

NOMINAL_MASS = 0.08
"""Mass [kg] before randomisation ; every environment draws its own."""

OBJECT_FRICTION = 1.0
"""Sliding friction before randomisation: rubbery paint on card."""


def _object_spawn(shapes: Sequence[sim_utils.SpawnerCfg]) -> sim_utils.MultiAssetSpawnerCfg:
    return sim_utils.MultiAssetSpawnerCfg(
        assets_cfg=list(shapes),
        rigid_props=sim_utils.UsdPhysicsRigidBodyCfg(),
        mass_props=sim_utils.MassCfg(mass=NOMINAL_MASS),
    )


def _surface(color: tuple[float, float, float]) -> dict:
    return {
        "visual_material": sim_utils.PreviewSurfaceCfg(diffuse_color=color),
        "physics_material": sim_utils.RigidBodyMaterialCfg(
            static_friction=OBJECT_FRICTION, dynamic_friction=OBJECT_FRICTION
        ),
    }


def object_cfgs(novel: int | None = None) -> dict[str, RigidObjectCfg]:
    """Return the scene slots of the two classes.

    Args:
        novel: index into :data:`NOVEL_PAIRS`; None for the shapes that demonstrations show.
    """
    boxes, rounds = _nominal_shapes() if novel is None else _novel_shapes(novel)
    return {"box_object": _slot("Box", boxes), "round_object": _slot("Round", rounds)}


def _nominal_shapes() -> tuple[Sequence[sim_utils.SpawnerCfg], Sequence[sim_utils.SpawnerCfg]]:
    collides = {"collision_props": sim_utils.UsdPhysicsCollisionCfg()}
    boxes = [sim_utils.CuboidCfg(size=size, **collides, **_surface(BOX_COLOR)) for size in BOX_SIZES]
    rounds = [sim_utils.CylinderCfg(radius=r, height=h, **collides, **_surface(ROUND_COLOR)) for r, h in ROUND_SIZES]
    return boxes, rounds


def _novel_shapes(pair: int) -> tuple[Sequence[sim_utils.SpawnerCfg], Sequence[sim_utils.SpawnerCfg]]:
    flat, turned = NOVEL_PAIRS[pair]
    box = TurnedCfg(**flat, **_hull(), **_surface(BOX_COLOR))
    return [box], [TurnedCfg(**turned, **_hull(), **_surface(ROUND_COLOR))]


def _hull() -> dict:
    return {
        "collision_props": [
            sim_utils.UsdPhysicsCollisionCfg(),
            sim_utils.UsdPhysicsMeshCollisionCfg(mesh_approximation_name="convexHull"),
        ]
    }


def _slot(name: str, shapes: Sequence[sim_utils.SpawnerCfg]) -> RigidObjectCfg:
    return RigidObjectCfg(
        prim_path=f"{{ENV_REGEX_NS}}/{name}",
        spawn=_object_spawn(shapes),
        init_state=RigidObjectCfg.InitialStateCfg(pos=(0.52, -0.4, 0.16)),
    )
