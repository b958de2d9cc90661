"""The action: a wrist target in the robot base and 16 hand joint targets, 25 numbers at 30 Hz.

The *wrist* frame is the Allegro's palm frame (`hand_palm_link`): x out of the palm, z along the fingers. Its pose in
the base is what the arm controller of a world turns into joint targets, so the same action means the same intent in
a grounded and in an ungrounded world.
"""

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import HAND_JOINTS

POLICY_RATE_HZ = 30.0
"""Actions and observations per second."""

WRIST_LINK = "hand_palm_link"
"""Link whose pose in the base the action commands."""

ACTION_SPACE = "wrist_pose_b+hand_joint_pos"
"""Tag that every file of actions carries; a reader refuses another one."""

ROTATION_LAYOUT = "rot6d_columns_xy"
"""Rotation layout tag: the first two columns of R_base_wrist, x column first (Zhou et al., CVPR 2019)."""

WRIST_POS = slice(0, 3)
WRIST_ROT6D = slice(3, 9)
HAND_JOINT_POS = slice(9, 25)

ACTION_NAMES = (
    *(f"wrist_pos_b.{axis}" for axis in "xyz"),
    *(f"wrist_rot6d_b.{column}{axis}" for column in "xy" for axis in "xyz"),
    *HAND_JOINTS,
)
"""Name of every action number in order (25)."""

ACTION_DIM = len(ACTION_NAMES)


def check_action_space(received: str, where: str) -> None:
    """Refuse actions that mean something else.

    Raises:
        ConfigError: `received` is not :data:`ACTION_SPACE`.
    """
    if received != ACTION_SPACE:
        raise ConfigError(f"{where}: action space {received!r}, expected {ACTION_SPACE!r}; convert it first")


def check_actions(actions: np.ndarray, where: str) -> np.ndarray:
    """Return `actions` (..., 25) as float32, refusing another width and non-finite numbers."""
    actions = np.asarray(actions, dtype=np.float32)
    if actions.shape[-1] != ACTION_DIM:
        raise ConfigError(f"{where}: actions of width {actions.shape[-1]}, expected {ACTION_DIM}")
    if not np.isfinite(actions).all():
        row, column = np.argwhere(~np.isfinite(actions.reshape(-1, ACTION_DIM)))[0]
        raise ConfigError(f"{where}: action {ACTION_NAMES[column]} is not finite in row {row}")
    return actions
