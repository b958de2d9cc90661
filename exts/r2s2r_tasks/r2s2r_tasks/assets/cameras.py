"""A world's cameras as Isaac Lab sensors. Both are given by OpenCV intrinsics, which each renderer honours exactly."""

import isaaclab.sim as sim_utils
import numpy as np
from isaaclab.renderers.renderer_cfg import RendererCfg
from isaaclab.sensors import CameraCfg

from r2s2r.contracts.transforms import quat_multiply, quat_rotate
from r2s2r.contracts.world import CellPoses, WristCameras

CLIPPING_RANGE = (0.005, 5.0)
"""Nearest and farthest distance drawn [m]: the fingers are centimetres away, the cell is 3 m wide."""


def head_camera_cfg(poses: CellPoses, width: int, height: int, renderer: RendererCfg) -> CameraCfg:
    """Return the fixed camera that looks at belt and bins; the environment's frame is the levelled world."""
    camera = poses.head_camera.resized(width, height)
    lens = sim_utils.OpenCvPinholeDistortionCfg(**_intrinsics(camera))
    base = np.array(poses.base_quat_w)
    pos = quat_rotate(base, np.array(poses.head_pos_b)).tolist()
    quat = quat_multiply(base, np.array(poses.head_quat_b)).tolist()
    return _camera("{ENV_REGEX_NS}/HeadCamera", camera, lens, pos, quat, renderer)


def wrist_camera_cfg(
    wrist: WristCameras, flange_prim: str, width: int, height: int, renderer: RendererCfg
) -> CameraCfg:
    """Return the fisheye camera that rides on the flange `flange_prim` of the robot."""
    camera = wrist.resized(width, height).camera
    lens = sim_utils.OpenCvFisheyeDistortionCfg(
        **_intrinsics(camera), k1=camera.k1, k2=camera.k2, k3=camera.k3, k4=camera.k4
    )
    path = f"{{ENV_REGEX_NS}}/Robot/{flange_prim}/WristCamera"
    return _camera(path, camera, lens, wrist.pos_flange, wrist.quat_flange, renderer)


def _intrinsics(camera) -> dict:
    """Return the intrinsics as renderers count: their pixel i reaches from i to i + 1, ours is centred at i."""
    return {
        "fx": camera.fx,
        "fy": camera.fy,
        "cx": camera.cx + 0.5,
        "cy": camera.cy + 0.5,
        "image_size": (camera.width, camera.height),
    }


def _camera(prim_path, camera, lens, pos, quat, renderer) -> CameraCfg:
    return CameraCfg(
        prim_path=prim_path,
        width=camera.width,
        height=camera.height,
        data_types=["rgb"],
        spawn=sim_utils.PinholeCameraCfg(clipping_range=CLIPPING_RANGE, distortion=lens),
        offset=CameraCfg.OffsetCfg(pos=tuple(pos), rot=tuple(quat), convention="ros"),
        # Without it the ray tracer keeps drawing from the pose at reset.
        update_latest_camera_pose=True,
        renderer_cfg=renderer,
    )
