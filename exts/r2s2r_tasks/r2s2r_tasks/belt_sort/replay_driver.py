"""Connects the batch replay of the core with the environment: what it observes, and when attempts begin."""

import numpy as np
import torch
import warp as wp
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.replay.batch import BatchReplay
from r2s2r_tasks.belt_sort.mdp.observations import episode, wrist_pose_b


class ReplayDriver:
    """Gives the environment's next actions (N, 25). Everything stays on the device."""

    def __init__(self, env: ManagerBasedRLEnv, replay: BatchReplay):
        self.replay = replay
        self._env = env
        self._episode = episode(env)
        self._wrist_pose_b = wrist_pose_b(None, env)
        self._actions = wp.to_torch(replay.actions)

    def begin_all(self, demo: np.ndarray | None = None) -> None:
        """Start new attempts in all environments, with demonstration `demo` (N,) instead of one drawn by class."""
        self.begin(torch.arange(self._env.num_envs, device=self._env.device))
        if demo is not None:
            self.replay.assign(demo)

    def begin(self, env_ids: torch.Tensor) -> None:
        """Start new attempts in `env_ids` (M,), whose episodes have just been drawn."""
        if len(env_ids):
            self.replay.start(
                wp.from_torch(env_ids.to(torch.int32)),
                wp.from_torch(self._episode.number),
                wp.from_torch(self._episode.target_class),
            )

    def actions(self) -> torch.Tensor:
        """Return the next action of every environment (N, 25)."""
        self.replay.step(
            wp.from_torch(self._episode.target_state_b()[:, :7].contiguous(), dtype=wp.transform),
            wp.from_torch(self._episode.belt_speed),
            wp.from_torch(self._episode.target_bin_b, dtype=wp.vec3),
            wp.from_torch(self._wrist_pose_b(self._env)[:, :3].contiguous(), dtype=wp.vec3),
        )
        return self._actions
