"""Rollouts whose content does not matter, of the right shapes."""

import numpy as np

from r2s2r.evaluation.rollout import Rollout
from r2s2r.evaluation.trial_result import TrialResult


def rollout_of(rng: np.random.Generator, result: TrialResult, steps: int = 40, asked: int = 5, size: int = 64):
    """Return a rollout of `steps` steps in which the policy was asked `asked` times, every 8 steps."""
    smooth = (
        rng.integers(40, 200, (2, asked, 8, 8, 3), dtype=np.uint8).repeat(size // 8, axis=2).repeat(size // 8, axis=3)
    )
    return Rollout(
        time_s=100.0 + np.arange(steps) / 30.0,
        joint_pos=rng.normal(size=(steps, 23)).astype(np.float32),
        actions=rng.normal(size=(steps, 25)).astype(np.float32),
        target_pose_b=rng.normal(size=(steps, 7)).astype(np.float32),
        decision_step=np.arange(0, 8 * asked, 8, dtype=np.int32),
        start_index=np.full(asked, 3, dtype=np.int32),
        head_rgb=smooth[0],
        wrist_rgb=smooth[1],
        decision_joint_pos=rng.normal(size=(asked, 23)).astype(np.float32),
        chunks=rng.normal(size=(asked, 16, 25)).astype(np.float32),
        meta={**result.to_dict(), "success": result.success},
    )
