"""The camera variant: a head view and a fisheye view from the wrist."""

from isaaclab.managers import ObservationGroupCfg, ObservationTermCfg, SceneEntityCfg
from isaaclab.utils import configclass

from r2s2r_tasks.assets.cameras import head_camera_cfg, wrist_camera_cfg
from r2s2r_tasks.assets.xarm7_allegro import FLANGE_PRIM
from r2s2r_tasks.belt_sort.belt_sort_env_cfg import NOMINAL, ObservationsCfg
from r2s2r_tasks.belt_sort.config.xarm7_allegro.xarm7_allegro_env_cfg import XArm7AllegroBeltSortEnvCfg
from r2s2r_tasks.belt_sort.mdp import observations
from r2s2r_tasks.belt_sort.physics_cfg import RendererPresetCfg


@configclass
class CameraObservationsCfg(ObservationsCfg):
    """Two pictures beside the joints, each a group of its own."""

    @configclass
    class HeadCfg(ObservationGroupCfg):
        """Head view."""

        rgb = ObservationTermCfg(func=observations.image, params={"sensor_cfg": SceneEntityCfg("head_camera")})

    @configclass
    class WristCfg(ObservationGroupCfg):
        """Wrist view."""

        rgb = ObservationTermCfg(func=observations.image, params={"sensor_cfg": SceneEntityCfg("wrist_camera")})

    head_rgb: HeadCfg = HeadCfg()
    wrist_rgb: WristCfg = WristCfg()


@configclass
class XArm7AllegroBeltSortCameraEnvCfg(XArm7AllegroBeltSortEnvCfg):
    """Belt sorting with pictures."""

    observations: CameraObservationsCfg = CameraObservationsCfg()

    image_size: int = 64
    """Width and height of both pictures [px]."""

    def __post_init__(self):
        super().__post_init__()
        size, renderer = self.image_size, RendererPresetCfg()
        self.scene.head_camera = head_camera_cfg(NOMINAL.poses, size, size, renderer)
        self.scene.wrist_camera = wrist_camera_cfg(NOMINAL.wrist_cameras, FLANGE_PRIM, size, size, renderer)
