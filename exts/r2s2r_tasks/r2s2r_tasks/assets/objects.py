"""The things that ride on the belt: two classes, and other shapes that no demonstration has shown.

Each class is one scene slot. Every environment holds one variant of each slot: the physics engine wants the same
*kind* of collision shape in a slot of every environment, so a slot mixes sizes of one primitive, or convex meshes.
"""

from collections.abc import Sequence

import isaaclab.sim as sim_utils
from isaaclab.assets import RigidObjectCfg

BOX_SIZES = (
    (0.050, 0.050, 0.070),
    (0.044, 0.044, 0.085),
    (0.056, 0.046, 0.065),
    (0.046, 0.058, 0.075),
    (0.052, 0.052, 0.060),
    (0.048, 0.048, 0.090),
)
"""Full extents x, y, z [m] of the class *box*: cubes, slabs and towers that a 20 cm hand closes around."""

ROUND_SIZES = (
    (0.026, 0.070),
    (0.024, 0.085),
    (0.028, 0.065),
    (0.030, 0.075),
    (0.027, 0.060),
    (0.025, 0.090),
)
"""Radius and height [m] of the class *round*: tins and tubes, standing."""

BOX_COLOR, ROUND_COLOR = (0.8, 0.2, 0.1), (0.1, 0.35, 0.8)
"""Colours before randomisation, linear RGB."""

NOMINAL_MASS = 0.08
"""Mass [kg] before randomisation (facts: an 80 g box was grasped from the moving belt)."""

OBJECT_FRICTION = 1.0
"""Sliding friction before randomisation: rubbery paint on card."""


def _object_spawn(shapes: Sequence[sim_utils.ShapeCfg]) -> sim_utils.MultiAssetSpawnerCfg:
    return sim_utils.MultiAssetSpawnerCfg(
        assets_cfg=list(shapes),
        rigid_props=sim_utils.UsdPhysicsRigidBodyCfg(),
        collision_props=sim_utils.UsdPhysicsCollisionCfg(),
        mass_props=sim_utils.MassCfg(mass=NOMINAL_MASS),
    )


def _surface(color: tuple[float, float, float]) -> dict:
    return {
        "visual_material": sim_utils.PreviewSurfaceCfg(diffuse_color=color),
        "physics_material": sim_utils.RigidBodyMaterialCfg(
            static_friction=OBJECT_FRICTION, dynamic_friction=OBJECT_FRICTION
        ),
    }


def object_cfgs(novel: bool = False) -> dict[str, RigidObjectCfg]:
    """Return the scene slots of the two classes: with the shapes that demonstrations show, or with novel ones."""
    boxes, rounds = (_novel_shapes if novel else _nominal_shapes)()
    return {"box_object": _slot("Box", boxes), "round_object": _slot("Round", rounds)}


def _nominal_shapes() -> tuple[list[sim_utils.ShapeCfg], list[sim_utils.ShapeCfg]]:
    boxes = [sim_utils.CuboidCfg(size=size, **_surface(BOX_COLOR)) for size in BOX_SIZES]
    rounds = [sim_utils.CylinderCfg(radius=r, height=h, **_surface(ROUND_COLOR)) for r, h in ROUND_SIZES]
    return boxes, rounds


def _novel_shapes() -> tuple[list[sim_utils.ShapeCfg], list[sim_utils.ShapeCfg]]:
    boxes = [sim_utils.CuboidCfg(size=size, **_surface(BOX_COLOR)) for size in BOX_SIZES]
    rounds = [sim_utils.CapsuleCfg(radius=r, height=h, **_surface(ROUND_COLOR)) for r, h in ROUND_SIZES]
    return boxes, rounds


def _slot(name: str, shapes: Sequence[sim_utils.ShapeCfg]) -> RigidObjectCfg:
    return RigidObjectCfg(
        prim_path=f"{{ENV_REGEX_NS}}/{name}",
        spawn=_object_spawn(shapes),
        init_state=RigidObjectCfg.InitialStateCfg(pos=(0.52, -0.4, 0.16)),
    )
