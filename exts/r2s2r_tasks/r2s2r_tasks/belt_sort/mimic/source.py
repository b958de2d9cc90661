"""Turns demonstrations into what Mimic generates from."""

import asyncio
from collections.abc import Sequence

import numpy as np
import torch
from isaaclab.utils.datasets import EpisodeData
from isaaclab_mimic.datagen.datagen_info_pool import DataGenInfoPool

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.contracts.transforms import yaw_quat
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.mimic.mimic_env import BeltSortMimicEnv
from r2s2r_tasks.belt_sort.mimic.poses import action_from_pose, pose_matrix
from r2s2r_tasks.belt_sort.mimic.subtasks import BIN, HAND, TARGET


def source_episode(env: BeltSortMimicEnv, demo: Demonstration) -> EpisodeData:
    """Return `demo` as an episode recorded from `env` and annotated with its subtasks.

    Its T steps keep their wrist poses. Step t commands the wrist of step t + 1, since the arm follows a steady motion
    one control step late; the replay leads by the same (:attr:`~r2s2r.replay.cfg.ReplayCfg.lead_s`).
    """
    wrist = pose_matrix(_tensor(env, demo.wrist_pos_b, demo.wrist_quat_b))
    actions = action_from_pose(torch.cat((wrist[1:], wrist[-1:])), _tensor(env, demo.hand_joint_pos))
    target = pose_matrix(_tensor(env, demo.object_pos_b, yaw_quat(demo.object_yaw)))
    result = EpisodeData()
    result.data = {
        "actions": actions,
        "obs": {
            "datagen_info": {
                "eef_pose": {HAND: wrist},
                "target_eef_pose": env.action_to_target_eef_pose(actions),
                "object_pose": {TARGET: target, BIN: env.bin_pose(_tensor(env, demo.bin_pos_b).expand(len(demo), 3))},
                "subtask_term_signals": env.term_signals(target[:, :3, 3]),
            }
        },
    }
    return result


def source_pool(
    env: BeltSortMimicEnv, demos: Sequence[Demonstration], loop: asyncio.AbstractEventLoop
) -> DataGenInfoPool:
    """Return Mimic's pool of the source demonstrations `demos`; `loop` runs its coroutine that adds one."""
    pool = DataGenInfoPool(env, env.cfg, env.device)
    for demo in demos:
        loop.run_until_complete(pool.add_episode(source_episode(env, demo)))
    return pool


class ClassPool(DataGenInfoPool):
    """The source demonstrations of the class that one environment's target has at the moment.

    Mimic chooses a demonstration by poses alone, but one that sorts a box does not lead to the tins' bin.
    """

    def __init__(self, env: BeltSortMimicEnv, env_id: int, pools: Sequence[DataGenInfoPool]):
        """Choose among `pools`, one for each class, for the environment `env_id`."""
        super().__init__(env, env.cfg, env.device)
        self._env_id, self._pools, self._episode = env_id, pools, episode(env)

    @property
    def datagen_infos(self) -> list:
        return self._now.datagen_infos

    @property
    def subtask_boundaries(self) -> dict[str, list[list[tuple[int, int]]]]:
        return self._now.subtask_boundaries

    @property
    def _now(self) -> DataGenInfoPool:
        return self._pools[int(self._episode.target_class[self._env_id])]


def _tensor(env: BeltSortMimicEnv, *columns: np.ndarray) -> torch.Tensor:
    return torch.tensor(np.concatenate(columns, axis=-1), dtype=torch.float32, device=env.device)
