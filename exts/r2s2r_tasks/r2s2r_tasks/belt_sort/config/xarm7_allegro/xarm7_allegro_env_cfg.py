"""Belt sorting with an xArm7 and an Allegro right hand."""

from isaaclab.utils import configclass

from r2s2r_tasks.assets.xarm7_allegro import robot_cfg
from r2s2r_tasks.belt_sort import belt_sort_env_cfg as belt_sort


@configclass
class XArm7AllegroBeltSortEnvCfg(belt_sort.BeltSortEnvCfg):
    """State task: joint positions and privileged state."""

    def __post_init__(self):
        super().__post_init__()
        self.scene.robot = robot_cfg(belt_sort.NOMINAL.arm, belt_sort.NOMINAL.hand)
