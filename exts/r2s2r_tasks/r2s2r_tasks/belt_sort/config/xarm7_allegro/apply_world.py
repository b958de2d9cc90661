"""Makes the task after a world: poses, robot, action term, observations, cameras."""

from typing import Any

from r2s2r.contracts.world import World
from r2s2r_tasks.assets.cameras import head_camera_cfg, wrist_camera_cfg
from r2s2r_tasks.assets.xarm7_allegro import FLANGE_PRIM, robot_cfg
from r2s2r_tasks.belt_sort.place_cell import place_cell


def apply_world(cfg: Any, world: World) -> None:
    """Write `world` into the task configuration `cfg`, whose presets are resolved or still the defaults.

    | factor | what follows it |
    |---|---|
    | `wrist_cameras` | lens and mount of the wrist camera, blur of its pictures |
    | `poses` | belt, bins, head camera, orientation of the base, speed of the belt |
    | `arm` | kinematics, drives, friction, controller, command delay, encoder bias of the observation |
    | `hand` | drives, dead time, play and lag of the fingers' targets |
    """
    arm, hand = world.arm, world.hand
    place_cell(cfg, world.poses)
    cfg.scene.robot = robot_cfg(arm, hand, world.poses.base_quat_w)
    action = cfg.actions.wrist_and_hand
    action.controller, action.command_delay_s = arm.controller, arm.command_delay_s
    action.hand_delay_s, action.hand_deadband, action.hand_lag_s = hand.delay_s, hand.deadband, hand.lag_s
    cfg.observations.policy.joint_pos.params = {"encoder_bias": arm.encoder_bias}
    if hasattr(cfg.scene.wrist_camera, "width"):  # resolved: a preset has no size yet
        _place_cameras(cfg, world)


def _place_cameras(cfg: Any, world: World) -> None:
    head, wrist = cfg.scene.head_camera, cfg.scene.wrist_camera
    cfg.scene.head_camera = head_camera_cfg(world.poses, head.width, head.height, head.renderer_cfg)
    cfg.scene.wrist_camera = wrist_camera_cfg(
        world.wrist_cameras, FLANGE_PRIM, wrist.width, wrist.height, wrist.renderer_cfg
    )
    lens, blur = world.wrist_cameras.camera, world.wrist_cameras.blur_sigma_px
    # Pictures are squeezed to their size, so that a round blur becomes an oval one.
    blur_px = (blur * wrist.width / lens.width, blur * wrist.height / lens.height)
    cfg.observations.wrist_rgb.rgb.params["blur_sigma_px"] = blur_px
