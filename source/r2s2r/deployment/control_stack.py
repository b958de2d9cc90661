"""Between a policy's action and the cell's drives: what the controller of a physical cell does."""

import numpy as np
import warp as wp

from r2s2r.contracts.action import (
    ACTION_DIM,
    HAND_JOINT_POS,
    POLICY_RATE_HZ,
    WRIST_LINK,
    WRIST_POS,
    WRIST_ROT6D,
    check_actions,
)
from r2s2r.contracts.cell import Cell, CellInfo
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS, ROBOT_JOINTS
from r2s2r.contracts.transforms import quat_from_matrix, rot6d_from_matrix
from r2s2r.control.kinematics import serial_chain
from r2s2r.control.weighted_ik import WeightedIK, WeightedIKCfg
from r2s2r.robot.description import compose
from r2s2r.robot.limits import HAND_LIMITS

SUBSTEPS = 4
"""Arm targets sent in one step of the policy: 120 a second, as often as the simulated task sends them."""

_ARM = slice(0, len(ARM_JOINTS))
_HAND = slice(len(ARM_JOINTS), len(ROBOT_JOINTS))


class ControlStack:
    """Sends actions to a cell at the policy's rate, as the simulated task does with the grounded controller.

    The wrist target goes through the weighted inverse kinematics, on the chain of the arm maker's calibration sheet
    where there is one; arm targets move in a straight line in joint space from one step to the next, hand targets jump
    and stay within their limits.
    """

    def __init__(self, info: CellInfo):
        """Prepare the arm's chain.

        Args:
            info: what is known of the cell.

        Raises:
            RobotDescriptionError: the robot's description is missing or damaged.
        """
        chain = serial_chain(compose().urdf_path, WRIST_LINK)
        if info.factory_kinematics is not None:
            chain = chain.moved(np.array(info.factory_kinematics))
        self._chain = chain
        self._ik = WeightedIK(chain, 1, cfg=WeightedIKCfg(rate_hz=POLICY_RATE_HZ))
        self._target = wp.zeros((1, len(ARM_JOINTS)), dtype=wp.float32, device="cpu")
        self._joint_pos_target = np.full(len(ROBOT_JOINTS), np.nan)
        self._due_s: float | None = None

    def reset(self, joint_pos: np.ndarray) -> None:
        """Begin at joint positions (23) [rad], in the order of `ROBOT_JOINTS`.

        Raises:
            ConfigError: they are not 23 finite numbers.
        """
        joint_pos = np.asarray(joint_pos, dtype=float)
        if joint_pos.shape != (len(ROBOT_JOINTS),) or not np.isfinite(joint_pos).all():
            raise ConfigError(f"control stack: joint_pos is {joint_pos.tolist()}, expected {len(ROBOT_JOINTS)} numbers")
        self._joint_pos_target = joint_pos.copy()
        self._target.numpy()[0] = joint_pos[_ARM]
        self._due_s = None

    def command(self, cell: Cell, action: np.ndarray) -> None:
        """Send one action (25); afterwards 1 / 30 s has passed on the cell's clock.

        The steps follow an even grid: what the caller takes between two of them is waited for less. Who takes longer
        than a step begins the grid anew.

        Raises:
            ConfigError: it has another width or is not finite, or :meth:`reset` was not called.
        """
        action = check_actions(action, "control stack")
        if np.isnan(self._joint_pos_target).any():
            raise ConfigError("control stack: no joint position to start from; call reset first")
        start = self._joint_pos_target[_ARM].copy()
        self._ik.solve(wp.array(action[None], dtype=wp.float32, device="cpu"), self._target)
        self._joint_pos_target[_ARM] = self._target.numpy()[0]
        self._joint_pos_target[_HAND] = np.clip(action[HAND_JOINT_POS], HAND_LIMITS.lower, HAND_LIMITS.upper)
        way = self._joint_pos_target[_ARM] - start
        now_s, step_s = cell.now(), 1.0 / POLICY_RATE_HZ
        begin_s = now_s if self._due_s is None or now_s - self._due_s > step_s else self._due_s
        self._due_s = begin_s + step_s
        cell.command_hand(self._joint_pos_target[_HAND])
        for substep in range(1, SUBSTEPS + 1):
            cell.command_arm(start + substep / SUBSTEPS * way)
            cell.wait(max(begin_s + substep / SUBSTEPS * step_s - cell.now(), 0.0))

    @property
    def joint_pos_target(self) -> np.ndarray:
        """Joint targets (23) [rad] at the end of the last step, in the order of `ROBOT_JOINTS`."""
        return self._joint_pos_target.copy()

    @property
    def followable(self) -> bool:
        """Whether the arm can follow the last step's wrist target within its joints' speed and position limits."""
        return bool(self._ik.followable.numpy()[0])

    def wrist_pose_b(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return the wrist in the base (7), position [m] and quaternion xyzw, at joint positions (>= 7) [rad]."""
        matrix = self._chain.wrist_pose(np.asarray(joint_pos, dtype=float)[_ARM])
        return np.concatenate([matrix[:3, 3], quat_from_matrix(matrix[:3, :3])])

    def rest_action(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return the action (25) that keeps a robot at joint positions (23) [rad] where it is."""
        joint_pos = np.asarray(joint_pos, dtype=float)
        matrix, action = self._chain.wrist_pose(joint_pos[_ARM]), np.empty(ACTION_DIM, dtype=np.float32)
        action[WRIST_POS], action[WRIST_ROT6D] = matrix[:3, 3], rot6d_from_matrix(matrix[:3, :3])
        action[HAND_JOINT_POS] = joint_pos[_HAND]
        return action
