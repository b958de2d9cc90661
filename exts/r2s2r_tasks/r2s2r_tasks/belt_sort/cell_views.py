"""What the task's cameras show of a world, the robot in given postures: simulated pictures to lay over real ones."""

import numpy as np
import torch

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS, ROBOT_JOINTS
from r2s2r.contracts.world import World
from r2s2r_tasks.belt_sort.mdp.observations import wrist_pose_b
from r2s2r_tasks.belt_sort.session import belt_sort_env
from r2s2r_tasks.belt_sort.wrist_actions import wrist_actions

_AWAY = (-0.6, 0.0, 1.2)
"""Behind and above the robot, where neither camera looks [m]: the calibrated cell holds no objects."""


def cell_views(world: World, readings: np.ndarray, picture_size: int = 256) -> dict[str, np.ndarray]:
    """Return head and wrist pictures of the task in `world`, one environment for each posture.

    Args:
        world: what the cell is made after.
        readings: encoder readings (K, 23) [rad] in the order of ROBOT_JOINTS.
        picture_size: width and height of the pictures [px].

    Returns:
        `head` and `wrist`: (K, picture_size, picture_size, 3) uint8.

    Raises:
        ConfigError: readings of another shape, or a picture size that the task does not have.
    """
    readings = np.asarray(readings, dtype=float)
    if readings.ndim != 2 or readings.shape[1] != len(ROBOT_JOINTS) or not len(readings):
        raise ConfigError(
            f"cell views: received readings {readings.shape}, allowed is (1 or more, {len(ROBOT_JOINTS)})"
        )
    joint_pos = readings.copy()
    joint_pos[:, : len(ARM_JOINTS)] -= world.arm.encoder_bias
    with belt_sort_env(len(readings), seed=0, picture_size=picture_size, world=world) as env:
        env.reset()
        robot = env.scene["robot"]
        ids = robot.find_joints(list(ROBOT_JOINTS), preserve_order=True)[0]
        positions = robot.data.joint_pos.torch.clone()
        positions[:, ids] = torch.as_tensor(joint_pos, dtype=positions.dtype, device=env.device)
        robot.write_joint_position_to_sim_index(position=positions)
        for name in ("box_object", "round_object"):
            _put_away(env.scene[name], env.scene.env_origins)
        env.termination_manager.get_term_cfg("judged").func.reset()  # it would call the jump an accident
        env.action_manager.reset(torch.arange(len(readings), device=env.device))
        # Pictures belong to a step: the robot rests where it is for one.
        obs, *_ = env.step(wrist_actions(wrist_pose_b(None, env)(env), positions[:, ids][:, len(ARM_JOINTS) :]))
        return {camera: obs[f"{camera}_rgb"].cpu().numpy() for camera in ("head", "wrist")}


def _put_away(item, origins: torch.Tensor) -> None:
    pose = torch.zeros(len(origins), 7, device=origins.device)
    pose[:, :3] = origins + torch.tensor(_AWAY, device=origins.device)
    pose[:, 6] = 1.0
    item.write_root_pose_to_sim_index(root_pose=pose)
