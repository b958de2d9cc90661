"""Actions as policies learn them: told from where the wrist is, instead of from the robot's base.

A network that is asked for absolute wrist targets first has to learn the arm's kinematics, to millimetres over a metre
of workspace, before anything of the task shows in its error (relative trajectories: Chi et al., "Universal manipulation
interface", 2024). Where the wrist is follows from the joints of the observation by the described kinematics; an arm
that is built otherwise is off by the same millimetres while training and afterwards.
"""

import numpy as np

from r2s2r.contracts.action import ACTION_NAMES, WRIST_LINK, WRIST_POS, WRIST_ROT6D
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS, ROBOT_JOINTS
from r2s2r.contracts.transforms import rot6d_from_matrix
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import compose

STATE_NAMES = (*ROBOT_JOINTS, *ACTION_NAMES[: WRIST_ROT6D.stop])
"""Columns of the robot's state (32): its joints, and the wrist's pose in the base that follows from them."""

TURN = "wrist_turn_rot6d"
"""Begin of the names of what says how the wrist turns."""

LEARNED_NAMES = (
    *(f"wrist_move_b.{axis}" for axis in "xyz"),
    *(f"{TURN}.{column}{axis}" for column in "xy" for axis in "xyz"),
    *HAND_JOINTS,
)
"""Columns of a learned action (25): the way of the wrist along the base's axes, its new axes x and y told in its old
frame, and the hand's joint targets as they are."""

_ARM = slice(0, len(ARM_JOINTS))


class WristFrame:
    """Changes actions between the base and the wrist of an observation.

    Raises:
        RobotDescriptionError: the robot's description is missing or damaged.
    """

    def __init__(self):
        self._chain = serial_chain(compose().urdf_path, WRIST_LINK)

    def state(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return the robot's state (..., 32) float32, columns `STATE_NAMES`, at joint positions (..., 23) [rad]."""
        wrist = self._chain.wrist_pose(joint_pos[..., _ARM])
        parts = (joint_pos, wrist[..., :3, 3], rot6d_from_matrix(wrist[..., :3, :3]))
        return np.concatenate(parts, axis=-1, dtype=np.float32)

    def relative(self, actions: np.ndarray, joint_pos: np.ndarray) -> np.ndarray:
        """Return learned actions (..., 25) float32 for actions (..., 25) seen from joint positions (..., 23) [rad].

        Leading axes are broadcast: a chunk (B, H, 25) is seen from one observation (B, 1, 23), or each action of a
        sequence from its own.
        """
        wrist = self._chain.wrist_pose(joint_pos[..., _ARM])
        learned = np.array(actions, dtype=np.float64)
        learned[..., WRIST_POS] -= wrist[..., :3, 3]
        learned[..., WRIST_ROT6D] = _turned(wrist[..., :3, :3].swapaxes(-1, -2), learned[..., WRIST_ROT6D])
        return learned.astype(np.float32)

    def absolute(self, learned: np.ndarray, joint_pos: np.ndarray) -> np.ndarray:
        """Return the actions (..., 25) float32 that :meth:`relative` turned into `learned`."""
        wrist = self._chain.wrist_pose(joint_pos[..., _ARM])
        actions = np.array(learned, dtype=np.float64)
        actions[..., WRIST_POS] += wrist[..., :3, 3]
        actions[..., WRIST_ROT6D] = _turned(wrist[..., :3, :3], actions[..., WRIST_ROT6D])
        return actions.astype(np.float32)


def _turned(matrix: np.ndarray, rot6d: np.ndarray) -> np.ndarray:
    """Return two axes (..., 6), each multiplied by `matrix` (..., 3, 3)."""
    axes = rot6d.reshape(*rot6d.shape[:-1], 2, 3)
    return (axes @ matrix.swapaxes(-1, -2)).reshape(rot6d.shape)
