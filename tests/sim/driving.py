"""How these tests drive the task: actions from poses, objects put somewhere, the state by name."""

import math
from collections.abc import Sequence

import torch
from isaaclab.assets import RigidObject
from isaaclab.envs import ManagerBasedRLEnv
from isaaclab.utils.math import matrix_from_quat

from r2s2r_tasks.belt_sort.episode_recorder import STATE_NAMES
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.mdp.terminations import judged

Obs = dict[str, torch.Tensor]


def state(obs: Obs, prefix: str) -> torch.Tensor:
    """Return the columns of the privileged state whose names begin with `prefix` (N, K)."""
    return obs["privileged"][:, [i for i, name in enumerate(STATE_NAMES) if name.startswith(prefix)]].clone()


def wrist_pose_b(obs: Obs) -> torch.Tensor:
    """Return the measured wrist pose (N, 7): position [m], quaternion xyzw."""
    return torch.cat((state(obs, "wrist_pos_b"), state(obs, "wrist_quat_b")), dim=-1)


def action(wrist_pos_b: torch.Tensor, wrist_quat_b: torch.Tensor, hand_joint_pos: torch.Tensor) -> torch.Tensor:
    """Return actions (N, 25) of wrist positions (N, 3), quaternions xyzw (N, 4) and hand joint targets (N, 16)."""
    rotation = matrix_from_quat(wrist_quat_b)
    return torch.cat((wrist_pos_b, rotation[:, :, 0], rotation[:, :, 1], hand_joint_pos), dim=-1)


def stay(obs: Obs) -> torch.Tensor:
    """Return the actions (N, 25) that keep wrist and hand where they are."""
    wrist = wrist_pose_b(obs)
    return action(wrist[:, :3], wrist[:, 3:], obs["policy"][:, 7:].clone())


def restart(env: ManagerBasedRLEnv, seed: int) -> Obs:
    """Reset `env` to the very episodes, and random numbers, that it had after the last restart with `seed`."""
    n = env.num_envs
    episode(env).upcoming[:] = torch.arange(n, dtype=torch.int32)
    return env.reset(seed=seed)[0]


def judge(env: ManagerBasedRLEnv) -> judged:
    """Return the term that judges attempts."""
    return env.termination_manager.get_term_cfg("judged").func


def put(
    env: ManagerBasedRLEnv,
    item: RigidObject,
    pos_b: torch.Tensor | Sequence[float],
    env_ids: Sequence[int],
    vel_b: Sequence[float] = (0.0, 0.0, 0.0),
    yaw: float = 0.0,
) -> None:
    """Put `item` upright into the environments `env_ids` (M).

    At `pos_b` (3,) or (M, 3) [m] with velocity `vel_b` [m/s], turned by `yaw` [rad] about the vertical. The judge
    takes the new places as a beginning; it would call the jump an accident.
    """
    ids = torch.tensor(env_ids, dtype=torch.int32)
    pose = torch.zeros(len(ids), 7)
    pose[:, :3] = env.scene.env_origins[ids.long()] + torch.as_tensor(pos_b)
    pose[:, 5], pose[:, 6] = math.sin(yaw / 2), math.cos(yaw / 2)
    velocity = torch.zeros(len(ids), 6)
    velocity[:, :3] = torch.tensor(vel_b)
    item.write_root_pose_to_sim_index(root_pose=pose, env_ids=ids)
    item.write_root_velocity_to_sim_index(root_velocity=velocity, env_ids=ids)
    judge(env).reset(ids.long())
