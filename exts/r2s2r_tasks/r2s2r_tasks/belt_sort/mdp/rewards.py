"""A shaped reward: come near, lift, carry to the bin, leave it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from r2s2r.evaluation.judging import Outcome

from .observations import episode

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedRLEnv


def near(distance: torch.Tensor, scale: float) -> torch.Tensor:
    """Return 1 at distance 0, falling to 0.42 at `scale` [m] and towards 0 beyond: `1 - tanh^2`."""
    return 1.0 - torch.tanh(distance / scale) ** 2


def wrist_near_target(env: ManagerBasedRLEnv, grasp_centre_wrist: tuple[float, float, float], scale: float):
    """Reward the place between palm and fingers for being at the target (N,)."""
    from isaaclab.utils.math import quat_apply

    pose = _term_value(env, "wrist_pose_b")
    centre = torch.tensor(grasp_centre_wrist, device=env.device).repeat(env.num_envs, 1)
    grasp_pos = pose[:, :3] + quat_apply(pose[:, 3:], centre)
    return near((grasp_pos - _target_pos_b(env)).norm(dim=-1), scale)


def target_lifted(env: ManagerBasedRLEnv, rest_z: float, height: float) -> torch.Tensor:
    """Reward height of the target above the belt, 1 from `height` [m] on (N,)."""
    return ((_target_pos_b(env)[:, 2] - rest_z) / height).clamp(0.0, 1.0)


def target_near_bin(env: ManagerBasedRLEnv, rest_z: float, scale: float) -> torch.Tensor:
    """Reward a target off the belt for being near its bin, seen from above (N,)."""
    pos = _target_pos_b(env)
    away = (pos[:, :2] - episode(env).target_bin_b[:, :2]).norm(dim=-1)
    return near(away, scale) * (pos[:, 2] > rest_z)


def sorted_target(env: ManagerBasedRLEnv) -> torch.Tensor:
    """1 in the step in which an attempt succeeds (N,)."""
    judged = env.termination_manager.get_term_cfg("judged").func
    return (judged.outcome == Outcome.SUCCESS).float()


def _target_pos_b(env: ManagerBasedRLEnv) -> torch.Tensor:
    term = episode(env)
    return term.of_target(term.object_state_b()[0])


def _term_value(env: ManagerBasedRLEnv, name: str) -> torch.Tensor:
    """Return a privileged observation of the state after this step."""
    manager = env.observation_manager
    index = manager.active_terms["privileged"].index(name)
    return manager._group_obs_term_cfgs["privileged"][index].func(env)
