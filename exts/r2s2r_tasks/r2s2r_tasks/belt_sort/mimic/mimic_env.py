"""The environment as Isaac Lab Mimic's data generator wants it."""

from collections.abc import Sequence

import torch
from isaaclab.envs import ManagerBasedRLMimicEnv
from isaaclab.utils.math import make_pose

from r2s2r.evaluation.judging import RIDING_HEIGHT
from r2s2r_tasks.belt_sort.belt_sort_env import BeltSortEnv
from r2s2r_tasks.belt_sort.mdp.observations import episode, wrist_pose_b
from r2s2r_tasks.belt_sort.mimic.poses import action_from_pose, hand_from_action, pose_from_action, pose_matrix
from r2s2r_tasks.belt_sort.mimic.subtasks import BIN, HAND, LIFTED, TARGET


class BeltSortMimicEnv(BeltSortEnv, ManagerBasedRLMimicEnv):
    """Belt sorting in Mimic's terms: poses (4, 4) in the robot base, the hand's joints as gripper."""

    def __init__(self, cfg, *args, **kwargs):
        super().__init__(cfg, *args, **kwargs)
        self._wrist_pose_b = wrist_pose_b(None, self)

    def get_robot_eef_pose(self, eef_name: str, env_ids: Sequence[int] | None = None) -> torch.Tensor:
        """Return measured wrist poses (M, 4, 4)."""
        return pose_matrix(self._wrist_pose_b(self)[_rows(env_ids)])

    def get_object_poses(self, env_ids: Sequence[int] | None = None) -> dict[str, torch.Tensor]:
        """Return poses of the target and of its bin (M, 4, 4)."""
        rows, term = _rows(env_ids), episode(self)
        return {TARGET: pose_matrix(term.target_state_b()[rows]), BIN: self.bin_pose(term.target_bin_b[rows])}

    def bin_pose(self, bin_pos_b: torch.Tensor) -> torch.Tensor:
        """Return poses (M, 4, 4) of upright bins, middles of whose floors are at (M, 3) [m]."""
        return make_pose(bin_pos_b, torch.eye(3, device=self.device).expand(len(bin_pos_b), 3, 3))

    def get_subtask_term_signals(self, env_ids: Sequence[int] | None = None) -> dict[str, torch.Tensor]:
        """Return whether the first subtask is over (M,) bool."""
        return self.term_signals(episode(self).target_state_b()[_rows(env_ids), :3])

    def term_signals(self, target_pos_b: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return whether the first subtask is over (...) bool where the target is at (..., 3) [m]: it is carried."""
        judging = self.termination_manager.get_term_cfg("judged").params["judging"]
        return {LIFTED: target_pos_b[..., 2] > judging["belt_top_z"] + RIDING_HEIGHT}

    def target_eef_pose_to_action(
        self,
        target_eef_pose_dict: dict[str, torch.Tensor],
        gripper_action_dict: dict[str, torch.Tensor],
        action_noise_dict: dict[str, float] | None = None,
        env_id: int = 0,
    ) -> torch.Tensor:
        """Return the action (25,) of a wrist pose (4, 4) and hand joint targets (16,), its wrist part disturbed."""
        action = action_from_pose(target_eef_pose_dict[HAND], gripper_action_dict[HAND])
        if action_noise_dict is not None:
            action[:9] += action_noise_dict[HAND] * torch.randn(9, device=action.device)
        return action

    def action_to_target_eef_pose(self, action: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the wrist poses (M, 4, 4) of actions (M, 25)."""
        return {HAND: pose_from_action(action)}

    def actions_to_gripper_actions(self, actions: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the hand joint targets (..., 16) of actions (..., 25)."""
        return {HAND: hand_from_action(actions)}


def _rows(env_ids: Sequence[int] | None) -> Sequence[int] | slice:
    return slice(None) if env_ids is None else env_ids
