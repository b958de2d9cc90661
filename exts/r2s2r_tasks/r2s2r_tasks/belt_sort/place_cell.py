"""Puts belt and bins where a world's poses say, and has attempts judged there."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from r2s2r.contracts.transforms import quat_multiply, quat_rotate, yaw_quat
from r2s2r.contracts.world import OBJECT_CLASSES, CellPoses, nominal_poses
from r2s2r.evaluation.judging import judging_cfg

BELT_THICKNESS = 0.04
"""[m]"""

_ALONG_Y = yaw_quat(-0.5 * math.pi)
"""The belt's box lies along y, its frame has x along the motion."""


def place_cell(cfg: Any, poses: CellPoses) -> None:
    """Put belt and bins of the task configuration `cfg` where `poses` says, and judge attempts there.

    The environment's axes are those of the levelled world, its origin is the robot base's, so that everything known in
    the base is turned by the base's orientation.
    """
    scene, episode = cfg.scene, cfg.commands.episode
    belt_pos, belt_quat = np.array(poses.belt_pos_b), np.array(poses.belt_quat_b)
    below = quat_rotate(belt_quat, np.array([0.0, 0.0, -BELT_THICKNESS / 2]))
    _put(scene.belt, poses, belt_pos + below, quat_multiply(belt_quat, _ALONG_Y))
    for item, name in zip((scene.box_bin, scene.round_bin), OBJECT_CLASSES, strict=True):
        _put(item, poses, np.array(poses.bin_pos_b[name]), np.array([0.0, 0.0, 0.0, 1.0]))
        item.spawn.inner_size, item.spawn.wall_height = tuple(poses.bin_size[:2]), poses.bin_size[2]
    planned = nominal_poses()
    episode.bin_pos_b = tuple(poses.bin_pos_b[name] for name in OBJECT_CLASSES)
    episode.belt_pose_b = (*poses.belt_pos_b, *poses.belt_quat_b)
    episode.nominal_belt_pose_b = (*planned.belt_pos_b, *planned.belt_quat_b)
    episode.belt_speed_scale = poses.belt_speed_scale
    cfg.terminations.judged.params["judging"] = asdict(judging_cfg(poses))


def _put(item: Any, poses: CellPoses, pos_b: np.ndarray, quat_b: np.ndarray) -> None:
    base = np.array(poses.base_quat_w)
    item.init_state.pos = tuple(quat_rotate(base, pos_b).tolist())
    item.init_state.rot = tuple(quat_multiply(base, quat_b).tolist())
