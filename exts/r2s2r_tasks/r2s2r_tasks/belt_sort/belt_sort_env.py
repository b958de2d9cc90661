"""The environment class: a manager-based environment that can be made after a world file."""

from pathlib import Path

from isaaclab.envs import ManagerBasedRLEnv

from r2s2r_tasks.belt_sort.config.xarm7_allegro.apply_world import apply_world


class BeltSortEnv(ManagerBasedRLEnv):
    """Belt sorting. `env.world=world.yaml` on any Isaac Lab command line makes the cell after that file."""

    def __init__(self, cfg, *args, **kwargs):
        if cfg.world is not None:
            # YAML comes with the extra `ground`; the task alone does without.
            from r2s2r.world.world_file import read_world

            apply_world(cfg, read_world(Path(cfg.world)))
        super().__init__(cfg, *args, **kwargs)
