"""Motion of the virtual cell: MuJoCo's C engine with commands that arrive late, and a short memory of what was."""

import math

import mujoco
import numpy as np

from r2s2r.cell.command_path import DelayedHold, HandPath
from r2s2r.cell.draws import Streams, matrix
from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.joint_effects import JointEffects
from r2s2r.cell.loose_body import LOST_BELOW, LooseBody
from r2s2r.cell.model import BELT, ITEM, TIMESTEP_S, cell_model, object_name
from r2s2r.cell.motion_memory import MotionMemory
from r2s2r.cell.placing import start_pose_b
from r2s2r.cell.scene_state import SceneState
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS, ROBOT_JOINTS
from r2s2r.contracts.trials import Trial
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.ready import READY_ARM, READY_HAND

MEMORY_S = 0.3
"""How long motion is remembered [s]: stamp delay, exposure, readout and one step of waiting together."""

BELT_ACCELERATION = 0.5
"""How fast the belt reaches a new speed [m/s2]: nothing slides on it at that rate (friction 1.0)."""

_A, _J = len(ARM_JOINTS), len(ROBOT_JOINTS)


class CellPhysics:
    """The moving part of a cell. It starts with the robot at rest at the ready pose.

    Without a trial the belt stands and there is nothing on it; in a trial it runs, and the objects ride along.
    """

    def __init__(
        self,
        hidden: HiddenWorld,
        description: RobotDescription | None = None,
        trial: Trial | None = None,
        streams: Streams | None = None,
    ):
        """Build the model.

        Args:
            hidden: the truth.
            description: the robot; None for the default one.
            trial: what rides on the belt and how fast; None: the block can be placed.
            streams: draw the noise; None: those of the cell's seed.

        Raises:
            RobotDescriptionError: the description is damaged.
        """
        world, start = hidden.world, np.array([*READY_ARM, *READY_HAND])
        objects, streams = () if trial is None else trial.objects(), streams or Streams(hidden.seed)
        self._model = cell_model(world, description or compose(), objects)
        self._data, self._scratch = mujoco.MjData(self._model), mujoco.MjData(self._model)
        self._links = [self._model.body(i).name for i in range(self._model.nbody)]
        self._belt = self._data.joint(BELT)
        names = tuple(object_name(index) for index in range(len(objects))) or (ITEM,)
        self._loose = {name: LooseBody(self._model, self._data, name) for name in names}
        self._torques = _JointTorques(hidden.joints, np.array(world.arm.coulomb_friction))
        self._start_s, self._steps = hidden.clock_start_s, 0
        self._data.qpos[:_J] = start
        self._arm, self._hand = DelayedHold(start[:_A]), HandPath(world.hand, start[_A:], self.time_s)
        self._hand_target = start[_A:]
        self._arm_delay_s = world.arm.command_delay_s
        self._jitter, self._jitter_s = streams("command_jitter"), hidden.timing.command_jitter_s
        self._belt_scale = world.poses.belt_speed_scale
        self._belt_goal, self._belt_speed, self._belt_travel = 0.0, 0.0, 0.0
        self._memory = MotionMemory(math.ceil(MEMORY_S / TIMESTEP_S), self._start_s, TIMESTEP_S)
        if trial is not None:
            self._begin(hidden, trial)
        self._remember()

    @property
    def belt_speed(self) -> float:
        """How fast the belt's surface moves [m/s]."""
        return self._belt_speed

    @property
    def time_s(self) -> float:
        """Host time that the motion has reached [s]."""
        return self._start_s + self._steps * TIMESTEP_S

    def command_arm(self, sent_s: float, joint_pos: np.ndarray) -> None:
        """Take arm targets (7) [rad] sent at `sent_s` [s]; they reach the drives after delay and jitter."""
        self._arm.push(sent_s + self._arm_delay_s + self._jitter.normal(0.0, self._jitter_s), joint_pos)

    def command_hand(self, sent_s: float, joint_pos: np.ndarray) -> None:
        """Take hand targets (16) [rad] sent at `sent_s` [s]."""
        self._hand.push(sent_s + self._jitter.normal(0.0, self._jitter_s), joint_pos)

    def command_belt(self, speed: float) -> None:
        """Take the belt's speed [m/s]; what it reaches is scaled."""
        self._belt_goal = speed * self._belt_scale

    def place_item(self, T_base_item: np.ndarray) -> None:
        """Put the block at a pose (4, 4), at rest.

        Raises:
            ConfigError: this is a trial.
        """
        if ITEM not in self._loose:
            raise ConfigError("virtual cell: the block cannot be placed in a trial, whose objects ride on the belt")
        self._loose[ITEM].put(T_base_item)

    def advance(self, until_s: float) -> None:
        """Move on until `until_s` [s] or just beyond."""
        while self.time_s < until_s:
            self._step()

    def joint_pos(self, time_s: np.ndarray) -> np.ndarray:
        """Return true joint positions (T, 23) [rad] at recent times (T,) [s].

        Raises:
            SimulationError: a time is not remembered any more, or not reached yet.
        """
        return self._memory.at(time_s)[:, :_J]

    def scene_at(self, time_s: float) -> SceneState:
        """Return where everything was at a recent time [s].

        Raises:
            SimulationError: the time is not remembered any more, or not reached yet.
        """
        row = self._memory.at(np.array([time_s]))[0]
        scratch = self._scratch
        scratch.qpos[:_J], scratch.qpos[_J + 1 :] = row[:_J], row[_J + 1 :]
        mujoco.mj_kinematics(self._model, scratch)
        poses = np.tile(np.eye(4), (len(self._links), 1, 1))
        poses[:, :3, :3], poses[:, :3, 3] = scratch.xmat.reshape(-1, 3, 3), scratch.xpos
        placed = dict(zip(self._links, poses, strict=True))
        loose = {name: placed.pop(name) for name in (BELT, *self._loose)}
        item = loose.get(ITEM)
        item = None if item is None or item[2, 3] <= LOST_BELOW else item
        objects = tuple(loose[name] for name in self._loose if name != ITEM)
        return SceneState(time_s, placed, item, objects, float(row[_J]), row[:_J])

    def _begin(self, hidden: HiddenWorld, trial: Trial) -> None:
        """Let the belt run at its speed, with the objects on it."""
        poses = hidden.world.poses
        self._belt_goal = self._belt_speed = trial.belt_speed * self._belt_scale
        along = matrix(poses.belt_pos_b, poses.belt_quat_b)[:3, 0]
        for body, item in zip(self._loose.values(), trial.objects(), strict=True):
            body.put(start_pose_b(poses, item), along * self._belt_speed)

    def _step(self) -> None:
        data, end_s = self._data, self.time_s + TIMESTEP_S
        data.ctrl[:_A] = self._arm.mean(self.time_s, end_s)
        before, self._hand_target = self._hand_target, self._hand.advance(end_s)
        data.ctrl[_A:] = 0.5 * (before + self._hand_target)
        self._move_belt()
        self._torques.apply(self._model, data)
        mujoco.mj_step(self._model, data)
        self._steps += 1
        for body in self._loose.values():
            if body.is_lost:
                body.take_away()
        self._remember()

    def _move_belt(self) -> None:
        """An endless belt: its body stays where it is and keeps its speed."""
        change = BELT_ACCELERATION * TIMESTEP_S
        self._belt_speed += min(max(self._belt_goal - self._belt_speed, -change), change)
        self._belt_travel += self._belt_speed * TIMESTEP_S
        self._belt.qpos[0], self._belt.qvel[0] = 0.0, self._belt_speed

    def _remember(self) -> None:
        places, rates = zip(*(body.motion() for body in self._loose.values()), strict=True)
        pos = np.concatenate([self._data.qpos[:_J], [self._belt_travel], *places])
        vel = np.concatenate([self._data.qvel[:_J], [self._belt_speed], *rates])
        self._memory.add(pos, vel)


class _JointTorques:
    """Friction that changes over a turn, and cables, at the arm's joints."""

    def __init__(self, effects: JointEffects, coulomb: np.ndarray):
        self._coulomb = coulomb
        self._share, self._count = np.array(effects.ripple_share), np.array(effects.ripple_count)
        self._phase, self._rest = np.array(effects.ripple_phase), np.array(effects.cable_rest)
        self._stiffness, self._hardening = np.array(effects.cable_stiffness), np.array(effects.cable_hardening)

    def apply(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Set the friction of the next step and the pull of the cables."""
        joint_pos = data.qpos[:_A]
        model.dof_frictionloss[:_A] = self._coulomb * (
            1.0 + self._share * np.sin(self._count * joint_pos + self._phase)
        )
        way = joint_pos - self._rest
        data.qfrc_applied[:_A] = -way * (self._stiffness + self._hardening * way**2)
