"""Which variant of a slot each environment holds, from the plan that the scene was cloned by."""

import isaaclab.sim as sim_utils
from isaaclab.cloner import ClonePlan

from r2s2r.contracts.errors import SimulationError
from r2s2r_tasks.assets.turned_cfg import TurnedCfg


def spawned_shape(plan: ClonePlan, prim_path: str, env: int) -> sim_utils.SpawnerCfg:
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


def extents(shape: sim_utils.SpawnerCfg) -> tuple[float, float, float]:
    """Return full extents x, y, z of a shape [m]; those of a turned solid are of the circle around it.

    Raises:
        SimulationError: the shape is of a kind that no slot uses.
    """
    if isinstance(shape, sim_utils.CuboidCfg):
        return tuple(shape.size)
    if isinstance(shape, sim_utils.CylinderCfg):
        return 2 * shape.radius, 2 * shape.radius, shape.height
    if isinstance(shape, TurnedCfg):
        widest = 2 * max(radius for radius, _ in shape.profile)
        return widest, widest, shape.profile[-1][1] - shape.profile[0][1]
    raise SimulationError(f"extents of a {type(shape).__name__} are not known")


def describe(shape: sim_utils.SpawnerCfg) -> str:
    """Return a short name for tables and files: `cuboid 50x50x70 mm`."""
    kind = shape.name if isinstance(shape, TurnedCfg) else type(shape).__name__.removesuffix("Cfg").lower()
    return f"{kind} {'x'.join(f'{1000 * value:.0f}' for value in extents(shape))} mm"
