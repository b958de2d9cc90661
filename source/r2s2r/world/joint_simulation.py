"""Many candidates of joint parameters simulated at once against one excerpt of a recording."""

import copy
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from r2s2r.contracts.world import ArmModel
from r2s2r.world.arm_model import set_drive, set_passive
from r2s2r.world.joint_excerpt import JointExcerpt

_STABLE = 2.5
"""Largest damping rate times step that is trusted; Runge-Kutta's limit is 2.78."""

_FAR = 1e3
"""Position [rad] and speed [rad/s] that no joint reaches."""

_FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS


@dataclass(frozen=True)
class JointParameters:
    """What is identified of J joints; units and meaning as in :class:`r2s2r.contracts.world.ArmModel`."""

    armature: np.ndarray
    """(J,) [kg m2]."""
    viscous_friction: np.ndarray
    """(J,) [N m s/rad]."""
    coulomb_friction: np.ndarray
    """(J,) [N m]."""
    encoder_bias: np.ndarray
    """(J,) [rad]."""
    command_delay_s: float
    """[s]."""
    stiffness_scale: np.ndarray
    """(J,) true position gain over the one that the recording states; one unless gains are fitted."""

    @classmethod
    def of(cls, arm: ArmModel) -> "JointParameters":
        """Return the parameters of an arm."""
        rows = (arm.armature, arm.viscous_friction, arm.coulomb_friction, arm.encoder_bias)
        return cls.of_rows(np.array(rows), arm.command_delay_s)

    @classmethod
    def of_rows(cls, rows: np.ndarray, command_delay_s: float) -> "JointParameters":
        """Return parameters from armature, viscous and Coulomb friction and bias as rows (4, J); gains as stated."""
        armature, viscous, coulomb, bias = np.asarray(rows, dtype=float)
        return cls(armature, viscous, coulomb, bias, float(command_delay_s), np.ones(len(armature)))


class JointSimulator:
    """Rolls out a model of J driven hinges (:func:`r2s2r.world.arm_model.driven`) in parallel threads."""

    def __init__(self, spec: mujoco.MjSpec, threads: int | None = None):
        """Compile `spec`; `threads`: None for one on each core."""
        self.spec = spec
        self.model = spec.compile()
        threads = threads or os.cpu_count() or 1
        self._data = [mujoco.MjData(self.model) for _ in range(threads)]
        self._rollout = Rollout(nthread=threads)
        self._state_size = mujoco.mj_stateSize(self.model, _FULL.value)

    @property
    def joint_count(self) -> int:
        """J."""
        return self.model.nv

    @property
    def step_s(self) -> float:
        """Physics step [s]."""
        return float(self.model.opt.timestep)

    def inertia(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return the composite inertia (J,) [kg m2] of the links about each joint, without armature."""
        return np.diagonal(self._mass_matrix(joint_pos)).copy()

    def _mass_matrix(self, joint_pos: np.ndarray) -> np.ndarray:
        model, data = copy.copy(self.model), mujoco.MjData(self.model)
        model.dof_armature[:] = 0.0
        data.qpos[:] = joint_pos
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        return full

    def least_armature(self, excerpt: JointExcerpt) -> np.ndarray:
        """Return the armature (J,) [kg m2] below which a step of Runge-Kutta does not follow an excerpt's drives.

        A damped joint alone, D / I, is stable up to 2.78 steps; what moves beside it is left out on the safe side.
        """
        apparent = 1.0 / np.diagonal(np.linalg.inv(self._mass_matrix(excerpt.start_reading)))
        return np.maximum(0.0, excerpt.damping * self.step_s / _STABLE - apparent)

    def candidate(self, parameters: JointParameters, excerpt: JointExcerpt) -> mujoco.MjModel:
        """Return a model with these parameters and the excerpt's gains."""
        model = copy.copy(self.model)
        set_drive(model, parameters.stiffness_scale * excerpt.stiffness, excerpt.damping)
        set_passive(model, parameters.armature, parameters.viscous_friction, parameters.coulomb_friction)
        return model

    def states(
        self, models: Sequence[mujoco.MjModel], parameters: Sequence[JointParameters], excerpt: JointExcerpt
    ) -> np.ndarray:
        """Return time, positions and speeds (C, S, 1 + 2 J) after each step of C candidates.

        A candidate that blows up stands far away instead, so that a search turns back.
        """
        step_count = int(np.ceil(excerpt.duration_s / self.step_s)) + 1
        edges = np.arange(step_count + 1) * self.step_s
        means: dict[float, np.ndarray] = {}
        for candidate in parameters:
            if candidate.command_delay_s not in means:
                means[candidate.command_delay_s] = excerpt.command.means(edges - candidate.command_delay_s)
        control = np.stack([means[candidate.command_delay_s] for candidate in parameters])
        start = np.zeros((len(parameters), self._state_size))
        count = self.joint_count
        start[:, 1 : 1 + count] = [excerpt.start_reading - candidate.encoder_bias for candidate in parameters]
        start[:, 1 + count : 1 + 2 * count] = excerpt.start_speed
        with _without_warnings():
            states, _ = self._rollout.rollout(list(models), self._data, start, control, chunk_size=1)
        return _without_blow_ups(np.asarray(states)[:, :, : 1 + 2 * count], edges[1:])

    def readings(self, parameters: Sequence[JointParameters], excerpt: JointExcerpt) -> np.ndarray:
        """Return what the encoders of C candidates would have read at the excerpt's stamps (C, T, J) [rad]."""
        models = [self.candidate(candidate, excerpt) for candidate in parameters]
        states = self.states(models, parameters, excerpt)
        bias = np.stack([candidate.encoder_bias for candidate in parameters])
        return positions_at(states, excerpt.time_s, self.step_s) + bias[:, None, :]


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep MuJoCo from printing and from writing a log file when a candidate blows up: that is told otherwise."""
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(None)


def _without_blow_ups(states: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    size = np.max(np.abs(states[:, :, 1:]), axis=(1, 2))
    blown = ~(size < _FAR) | (states[:, -1, 0] < time_s[-1] - 1e-6)
    states[blown] = _FAR
    states[blown, :, 0] = time_s
    return states


def positions_at(states: np.ndarray, time_s: np.ndarray, step_s: float) -> np.ndarray:
    """Return positions (..., T, J) at `time_s` from states (..., S, 1 + 2 J) after each step, by cubic Hermite pieces.

    State k belongs to time (k + 1) steps.
    """
    count = (states.shape[-1] - 1) // 2
    scaled = time_s / step_s - 1.0
    index = np.clip(np.floor(scaled).astype(int), 0, states.shape[-2] - 2)
    x = (scaled - index)[:, None]
    pos, speed = states[..., 1 : 1 + count], step_s * states[..., 1 + count :]
    return (
        (1.0 + 2.0 * x) * (1.0 - x) ** 2 * pos[..., index, :]
        + x * (1.0 - x) ** 2 * speed[..., index, :]
        + x**2 * (3.0 - 2.0 * x) * pos[..., index + 1, :]
        + x**2 * (x - 1.0) * speed[..., index + 1, :]
    )
