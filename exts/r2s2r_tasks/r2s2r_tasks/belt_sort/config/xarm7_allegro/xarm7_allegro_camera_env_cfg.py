"""The camera variant: a head view and a fisheye view from the wrist."""

from collections.abc import Callable

from isaaclab.assets import VisualMaterialCfg
from isaaclab.managers import ObservationGroupCfg, ObservationTermCfg, SceneEntityCfg
from isaaclab.sensors import CameraCfg
from isaaclab.utils import configclass
from isaaclab_tasks.utils import PresetCfg, preset

from r2s2r_tasks.assets.cameras import head_camera_cfg, wrist_camera_cfg
from r2s2r_tasks.assets.xarm7_allegro import FLANGE_PRIM
from r2s2r_tasks.belt_sort.belt_sort_env_cfg import NOMINAL, BeltSortSceneCfg, ObservationsCfg
from r2s2r_tasks.belt_sort.config.xarm7_allegro.xarm7_allegro_env_cfg import XArm7AllegroBeltSortEnvCfg
from r2s2r_tasks.belt_sort.mdp import observations
from r2s2r_tasks.belt_sort.physics_cfg import RendererPresetCfg
from r2s2r_tasks.belt_sort.picture_size import PICTURE_SIZES


def by_size(camera: Callable[[int], CameraCfg]) -> PresetCfg:
    """Return a preset of the same camera with pictures of each size."""
    sizes = {f"rgb{size}": camera(size) for size in PICTURE_SIZES}
    return preset(default=sizes[f"rgb{PICTURE_SIZES[0]}"], **sizes)


@configclass
class CameraSceneCfg(BeltSortSceneCfg):
    """The scene with its two cameras, and the paint of its objects."""

    box_paint = VisualMaterialCfg(prim_path="{ENV_REGEX_NS}/Box/geometry/material", spawn=None)
    round_paint = VisualMaterialCfg(prim_path="{ENV_REGEX_NS}/Round/geometry/material", spawn=None)
    head_camera = by_size(lambda size: head_camera_cfg(NOMINAL.poses, size, size, RendererPresetCfg()))
    wrist_camera = by_size(
        lambda size: wrist_camera_cfg(NOMINAL.wrist_cameras, FLANGE_PRIM, size, size, RendererPresetCfg())
    )


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

    scene: CameraSceneCfg = CameraSceneCfg(num_envs=64, env_spacing=3.0)
    observations: CameraObservationsCfg = CameraObservationsCfg()

    def __post_init__(self):
        super().__post_init__()
        self.commands.episode.paint_names = ("box_paint", "round_paint")
