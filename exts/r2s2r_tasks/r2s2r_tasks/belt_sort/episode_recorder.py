"""Keeps the steps of all running attempts on the device until they end."""

import numpy as np
import torch
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.contracts.action import ACTION_DIM
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.joints import ROBOT_JOINTS

STATE_NAMES = (
    *(f"joint_pos.{name}" for name in ROBOT_JOINTS),
    *(f"joint_vel.{name}" for name in ROBOT_JOINTS),
    *(f"wrist_pos_b.{axis}" for axis in "xyz"),
    *(f"wrist_quat_b.{axis}" for axis in "xyzw"),
    *(
        f"{slot}_{quantity}_b.{axis}"
        for slot in ("box", "round")
        for quantity, axes in (("pos", "xyz"), ("quat", "xyzw"), ("vel", "xyz"))
        for axis in axes
    ),
    "target_is_box",
    "target_is_round",
    *(f"target_bin_b.{axis}" for axis in "xyz"),
    "belt_speed",
)
"""Columns of the privileged group, in the order of its terms."""


class EpisodeRecorder:
    """Device-resident buffers (N, T, ...): one write a step, one copy to the host for each attempt that is taken.

    Pictures are made later, of what is kept; see :mod:`r2s2r_tasks.belt_sort.film`.
    """

    def __init__(self, env: ManagerBasedRLEnv):
        n, t, device = env.num_envs, env.max_episode_length, env.device
        self._rows = torch.arange(n, device=device)
        self._steps = torch.zeros(n, dtype=torch.int64, device=device)
        self._buffers = {
            "actions": torch.zeros(n, t, ACTION_DIM, device=device),
            "joint_pos": torch.zeros(n, t, len(ROBOT_JOINTS), device=device),
            "states": torch.zeros(n, t, len(STATE_NAMES), device=device),
            "joint_pos_target": torch.zeros(n, t, len(ROBOT_JOINTS), device=device),
            "followable": torch.zeros(n, t, dtype=torch.bool, device=device),
            "tracked": torch.zeros(n, t, dtype=torch.bool, device=device),
            "disturbed": torch.zeros(n, t, dtype=torch.bool, device=device),
            "rewards": torch.zeros(n, t, device=device),
        }

    def observe(
        self, obs: dict[str, torch.Tensor], actions: torch.Tensor, tracked: torch.Tensor, disturbed: torch.Tensor
    ) -> None:
        """Keep what is seen and what is about to be done, before the step.

        Args:
            obs: observations.
            actions: next actions (N, 25).
            tracked: whether the human was tracked in the demonstration's step (N,) bool.
            disturbed: whether the wrist is being pushed away (N,) bool.
        """
        self._put("joint_pos", obs["policy"])
        self._put("states", obs["privileged"])
        self._put("actions", actions)
        self._put("tracked", tracked)
        self._put("disturbed", disturbed)

    def acted(self, reward: torch.Tensor, sent: torch.Tensor, followable: torch.Tensor) -> None:
        """Keep what the step brought: reward (N,), sent joint targets (N, 23), whether they can be followed (N,)."""
        self._put("rewards", reward)
        self._put("joint_pos_target", sent)
        self._put("followable", followable)
        self._steps += 1

    def forget(self, env_ids: torch.Tensor) -> None:
        """Start anew in the environments `env_ids` (M,)."""
        self._steps[env_ids] = 0

    def take(self, env_id: int, success: bool, source_demo: str, attributes: dict) -> Episode:
        """Return the attempt that has just ended in environment `env_id` as an episode on the host."""
        steps = int(self._steps[env_id])
        kept = {name: buffer[env_id, :steps].cpu().numpy().copy() for name, buffer in self._buffers.items()}
        dones = np.zeros(steps, dtype=np.int64)
        dones[-1] = 1
        return Episode(
            actions=kept["actions"],
            obs={"joint_pos": kept["joint_pos"]},
            states=kept["states"],
            state_names=STATE_NAMES,
            commands={name: kept[name] for name in ("joint_pos_target", "followable", "tracked", "disturbed")},
            rewards=kept["rewards"],
            dones=dones,
            success=success,
            source_demo=source_demo,
            attributes=attributes,
        )

    def _put(self, name: str, values: torch.Tensor) -> None:
        self._buffers[name][self._rows, self._steps] = values
