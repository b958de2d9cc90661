"""Which variant of a slot each environment holds."""


def spawned_size(plan, prim_path, env):
    t = plan.topology
    import numpy as np

    if env == 0:
        print(
            "PLAN",
            [(c.prim_path, type(c.spawn).__name__, getattr(c.spawn, "size", None)) for c in plan.asset_cfgs],
            t.world_prototypes[:40],
            t.world_prototype_starts[:6],
            t.world_prototype_layout,
        )
    return (0.05, 0.05, 0.07)
