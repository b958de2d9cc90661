"""Which variant of a slot each environment holds, from the plan that the scene was cloned by."""

import isaaclab.sim as sim_utils
from isaaclab.cloner import ClonePlan

from r2s2r.contracts.errors import SimulationError


def spawned_shape(plan: ClonePlan, prim_path: str, env: int) -> sim_utils.ShapeCfg:
    """Return the shape that environment `env` holds in the slot at `prim_path`.

    Raises:
        SimulationError: the environment holds no such slot.
    """
    topology = plan.topology
    world = topology.world_prototype_layout[env] + 1
    members = topology.world_prototypes[
        topology.world_prototype_starts[world] : topology.world_prototype_starts[world + 1]
    ]
    for index in members:
        cfg = plan.asset_cfgs[index]
        if cfg.prim_path == prim_path:
            return cfg.spawn.assets_cfg[0]
    raise SimulationError(f"environment {env} holds nothing at {prim_path!r}")


def extents(shape: sim_utils.ShapeCfg) -> tuple[float, float, float]:
    """Return full extents x, y, z of a shape [m].

    Raises:
        SimulationError: the shape is of a kind that no slot uses.
    """
    if isinstance(shape, sim_utils.CuboidCfg | sim_utils.MeshCuboidCfg):
        return tuple(shape.size)
    diameter = 2 * shape.radius
    if isinstance(shape, sim_utils.CapsuleCfg | sim_utils.MeshCapsuleCfg):
        return diameter, diameter, shape.height + diameter
    if isinstance(shape, sim_utils.CylinderCfg | sim_utils.MeshCylinderCfg | sim_utils.MeshConeCfg):
        return diameter, diameter, shape.height
    raise SimulationError(f"extents of a {type(shape).__name__} are not known")


def describe(shape: sim_utils.ShapeCfg) -> str:
    """Return a short name for tables and files: `cuboid 50x50x70 mm`."""
    kind = type(shape).__name__.removesuffix("Cfg").removeprefix("Mesh").lower()
    return f"{kind} {'x'.join(f'{1000 * value:.0f}' for value in extents(shape))} mm"
