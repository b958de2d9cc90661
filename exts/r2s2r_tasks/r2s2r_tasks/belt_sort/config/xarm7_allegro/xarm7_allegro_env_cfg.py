"""Belt sorting with an xArm7 and an Allegro right hand."""

from isaaclab.utils import configclass

from r2s2r_tasks.belt_sort import belt_sort_env_cfg as belt_sort
from r2s2r_tasks.belt_sort.config.xarm7_allegro.apply_world import apply_world


@configclass
class XArm7AllegroBeltSortEnvCfg(belt_sort.BeltSortEnvCfg):
    """State task: joint positions and privileged state."""

    def __post_init__(self):
        super().__post_init__()
        apply_world(self, belt_sort.NOMINAL)
