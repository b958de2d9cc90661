"""What the joints of a finger do to each other: the whole hand in MuJoCo."""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
from mujoco.rollout import rollout

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.world import HandResponse
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.limits import HAND_LIMITS
from r2s2r.robot.urdf import read_urdf
from r2s2r.world.arm_model import driven, set_drive, set_passive
from r2s2r.world.joint_simulation import positions_at


class CoupledHand:
    """The hand on an arm that stands still, free of contacts, its weight compensated."""

    def __init__(self, hand: HandResponse, description: RobotDescription | None = None):
        """Build the model; of `hand` only the drives are used.

        Raises:
            RobotDescriptionError: the description is damaged.
        """
        root = read_urdf((description or compose()).urdf_path)
        for link in root.findall("link"):
            for shape in [*link.findall("visual"), *link.findall("collision")]:
                link.remove(shape)
        spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
        for name in ARM_JOINTS:
            spec.delete(spec.joint(name))
        spec.option.gravity = np.zeros(3)
        self.model = driven(spec, HAND_JOINTS, HAND_LIMITS.effort).compile()
        set_drive(self.model, np.array(hand.drive_stiffness), np.array(hand.drive_damping))
        count = len(HAND_JOINTS)
        set_passive(self.model, np.array(hand.armature), np.zeros(count), np.array(hand.coulomb_friction))

    @property
    def step_s(self) -> float:
        """Physics step [s]."""
        return float(self.model.opt.timestep)

    def inertia(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return the inertia (16) [kg m2] of what each joint moves, without rotors, at joint positions (16) [rad]."""
        data = mujoco.MjData(self.model)
        data.qpos[:] = joint_pos
        mujoco.mj_forward(self.model, data)
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, data, full)
        return np.diagonal(full) - self.model.dof_armature

    def positions(
        self, targets: np.ndarray, start: np.ndarray, start_speed: np.ndarray, time_s: np.ndarray
    ) -> np.ndarray:
        """Return joint positions (T, 16) [rad] at times (T,) [s].

        Args:
            targets: (S, 16) what the drives follow in each step [rad].
            start: (16,) positions at time zero [rad].
            start_speed: (16,) speeds there [rad/s].
            time_s: when they are asked for.
        """
        state = np.concatenate([[0.0], start, start_speed])
        states = np.asarray(rollout(self.model, mujoco.MjData(self.model), state, targets)[0])
        return positions_at(states[0], time_s, self.step_s)
