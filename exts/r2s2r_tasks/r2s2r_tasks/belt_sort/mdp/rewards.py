"""A shaped reward: come near, lift, carry to the bin, leave it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import ManagerTermBase, RewardTermCfg
from isaaclab.utils.math import quat_apply

from r2s2r.evaluation.judging import Outcome

from .observations import episode, wrist_pose_b

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedRLEnv

    from .terminations import judged


def near(distance: torch.Tensor, scale: float) -> torch.Tensor:
    """Return 1 at distance 0, falling to 0.42 at `scale` [m] and towards 0 beyond: `1 - tanh^2`."""
    return 1.0 - torch.tanh(distance / scale) ** 2


class wrist_near_target(ManagerTermBase):
    """Reward the place between palm and fingers for being at the target (N,)."""

    def __init__(self, cfg: RewardTermCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        self._wrist_pose_b = wrist_pose_b(None, env)
        self._centre = torch.tensor(cfg.params["grasp_centre_wrist"], device=env.device).repeat(env.num_envs, 1)

    def __call__(
        self, env: ManagerBasedRLEnv, grasp_centre_wrist: tuple[float, float, float], scale: float
    ) -> torch.Tensor:
        pose = self._wrist_pose_b(env)
        grasp_pos = pose[:, :3] + quat_apply(pose[:, 3:], self._centre)
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
    return (_judged(env).outcome == Outcome.SUCCESS).float()


def _target_pos_b(env: ManagerBasedRLEnv) -> torch.Tensor:
    """Return where the target is after this step (N, 3): it has been judged before it is rewarded."""
    return _judged(env).target_pos_b


def _judged(env: ManagerBasedRLEnv) -> judged:
    return env.termination_manager.get_term_cfg("judged").func
