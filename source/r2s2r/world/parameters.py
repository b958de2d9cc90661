"""The names under which fits, reports and benchmarks speak of a world's parameters."""

import numpy as np

from r2s2r.contracts.world import World

LENS = ("fx", "fy", "cx", "cy", "k1", "k2", "k3", "k4")
"""Order of `wrist_cameras.lens`."""

HEAD_LENS = ("fx", "fy", "cx", "cy")
"""Order of `poses.head_lens`."""


def parameters(world: World) -> dict[str, np.ndarray]:
    """Return every parameter that grounding can fit, by the name of its estimate.

    Vectors (n,), rotations as quaternion xyzw (4,), poses as position and quaternion (7,).
    """
    wrist, poses, arm, hand = world.wrist_cameras, world.poses, world.arm, world.hand
    return {
        "wrist_cameras.lens": np.array([getattr(wrist.camera, name) for name in LENS]),
        "wrist_cameras.mount": np.array([*wrist.pos_flange, *wrist.quat_flange]),
        "wrist_cameras.blur_sigma_px": np.array([wrist.blur_sigma_px]),
        "poses.head": np.array([*poses.head_pos_b, *poses.head_quat_b]),
        "poses.head_lens": np.array([getattr(poses.head_camera, name) for name in HEAD_LENS]),
        "poses.base_quat_w": np.array(poses.base_quat_w),
        "poses.belt": np.array([*poses.belt_pos_b, *poses.belt_quat_b]),
        "poses.belt_speed_scale": np.array([poses.belt_speed_scale]),
        "arm.armature": np.array(arm.armature),
        "arm.viscous_friction": np.array(arm.viscous_friction),
        "arm.coulomb_friction": np.array(arm.coulomb_friction),
        "arm.encoder_bias": np.array(arm.encoder_bias),
        "arm.command_delay_s": np.array([arm.command_delay_s]),
        "arm.kinematic_offsets": np.array(arm.kinematic_offsets).ravel(),
        "hand.delay_s": np.array(hand.delay_s),
        "hand.deadband": np.array(hand.deadband),
        "hand.lag_s": np.array(hand.lag_s),
    }
