"""The action term: the world's arm controller between wrist targets and joints, and its hand response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
import warp as wp
from isaaclab.managers import ActionTerm

from r2s2r.contracts.action import ACTION_DIM, HAND_JOINT_POS, WRIST_LINK
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS, ROBOT_JOINTS
from r2s2r.contracts.world import nominal_hand
from r2s2r.control.damped_least_squares import DampedLeastSquares, DampedLeastSquaresCfg
from r2s2r.control.delay_ring import DelayRing
from r2s2r.control.hand_response import BatchHandResponse
from r2s2r.control.kinematics import serial_chain
from r2s2r.control.weighted_ik import WeightedIK, WeightedIKCfg
from r2s2r.robot.description import RobotDescriptionCfg, compose

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedEnv

    from .actions_cfg import WristAndHandActionCfg


@wp.kernel(enable_backward=False)
def _interpolate(
    start: wp.array2d(dtype=wp.float32),
    end: wp.array2d(dtype=wp.float32),
    share: float,
    # outputs
    between: wp.array2d(dtype=wp.float32),
):
    env, joint = wp.tid()
    between[env, joint] = wp.lerp(start[env, joint], end[env, joint], share)


CONTROLLERS = {
    "damped_least_squares": (DampedLeastSquares, DampedLeastSquaresCfg),
    "weighted_ik": (WeightedIK, WeightedIKCfg),
}
"""Each of :data:`r2s2r.contracts.world.ARM_CONTROLLERS` with its configuration."""


class WristAndHandAction(ActionTerm):
    """Turns wrist targets into arm joint targets by the world's controller, and passes hand targets on.

    Both are joint positions for the simulator's drives. Arm targets move in a straight line in joint space from one
    control step to the next and arrive after the arm's delay; hand targets jump, and go through the hand's response.
    """

    cfg: WristAndHandActionCfg
    _asset: Articulation

    def __init__(self, cfg: WristAndHandActionCfg, env: ManagerBasedEnv):
        super().__init__(cfg, env)
        n, device = self.num_envs, self.device
        self._arm_ids = self._asset.find_joints(list(ARM_JOINTS), preserve_order=True, as_proxy=True)[0]
        self._hand_ids = self._asset.find_joints(list(HAND_JOINTS), preserve_order=True, as_proxy=True)[0]
        self._command = self._asset.actuators.target_command
        chain = serial_chain(compose(RobotDescriptionCfg(**self._asset.cfg.spawn.description)).urdf_path, WRIST_LINK)
        controller, controller_cfg = CONTROLLERS[cfg.controller]
        self._controller = controller(chain, n, device, controller_cfg(rate_hz=1.0 / env.step_dt))
        delays = (cfg.command_delay_s,) * len(ARM_JOINTS)
        self._arm_delay = DelayRing(delays, env.physics_dt, n, device)
        response = {"delay_s": cfg.hand_delay_s, "deadband": cfg.hand_deadband, "lag_s": cfg.hand_lag_s}
        self._hand_response = BatchHandResponse(replace(nominal_hand(), **response), env.physics_dt, n, device)
        self._raw = torch.zeros(n, ACTION_DIM, device=device)
        self._joint_pos_target = torch.zeros(n, len(ROBOT_JOINTS), device=device)
        self._arm_target = torch.zeros(n, len(ARM_JOINTS), device=device)
        self._arm_start = torch.zeros_like(self._arm_target)
        self._arm_line = (wp.from_torch(self._arm_start), wp.from_torch(self._arm_target))
        self._arm_now = wp.zeros_like(self._arm_line[0])
        self._hand_target = torch.zeros(n, len(HAND_JOINTS), device=device)
        self._hand_now = torch.zeros_like(self._hand_target)
        self._limits = self._asset.data.joint_pos_limits.torch[:, self._hand_ids.torch]
        self._substep = 0

    @property
    def action_dim(self) -> int:
        return ACTION_DIM

    @property
    def raw_actions(self) -> torch.Tensor:
        return self._raw

    @property
    def processed_actions(self) -> torch.Tensor:
        """Joint position targets that were sent (N, 23), in the order of `ROBOT_JOINTS` [rad]."""
        return self._joint_pos_target

    @property
    def followable(self) -> torch.Tensor:
        """Whether the arm can follow this step's target within its joints' speed and position limits (N,) bool."""
        return wp.to_torch(self._controller.followable)

    def process_actions(self, actions: torch.Tensor):
        self._raw[:] = actions
        self._arm_start.copy_(self._arm_target)
        self._controller.solve(wp.from_torch(self._raw), self._arm_line[1])
        hand = self._raw[:, HAND_JOINT_POS]
        hand = torch.where(torch.isfinite(hand), hand, self._joint_pos_target[:, len(ARM_JOINTS) :])
        self._joint_pos_target[:, : len(ARM_JOINTS)] = self._arm_target
        self._joint_pos_target[:, len(ARM_JOINTS) :] = hand.clamp(self._limits[..., 0], self._limits[..., 1])
        self._hand_target.copy_(self._joint_pos_target[:, len(ARM_JOINTS) :])
        if self._hand_response.identity:
            self._command.set_position_index(value=self._hand_target, joint_ids=self._hand_ids.warp)
        self._substep = 0

    def apply_actions(self):
        self._substep += 1
        share = self._substep / self._env.cfg.decimation
        # A kernel, since between two physics steps a tensor operation finds its code out of the processor's caches.
        wp.launch(
            _interpolate,
            dim=self._arm_now.shape,
            inputs=[*self._arm_line, share],
            outputs=[self._arm_now],
            device=self.device,
        )
        if not self._arm_delay.identity:
            self._arm_delay.step(self._arm_now, self._arm_now)
        self._command.set_position_index(value=self._arm_now, joint_ids=self._arm_ids.warp)
        if not self._hand_response.identity:
            self._hand_response.step(wp.from_torch(self._hand_target), wp.from_torch(self._hand_now))
            self._command.set_position_index(value=self._hand_now, joint_ids=self._hand_ids.warp)

    def reset(self, env_ids: Sequence[int] | None = None, **kwargs) -> None:
        ids = slice(None) if env_ids is None else env_ids
        joint_pos = self._asset.data.joint_pos.torch
        self._raw[ids] = 0.0
        self._arm_target[ids] = joint_pos[ids][:, self._arm_ids.torch]
        self._arm_start[ids] = self._arm_target[ids]
        self._joint_pos_target[ids] = torch.cat(
            (self._arm_target[ids], joint_pos[ids][:, self._hand_ids.torch]), dim=-1
        )
        self._hand_target[ids] = self._joint_pos_target[ids][:, len(ARM_JOINTS) :]
        reset_ids = (
            None
            if env_ids is None
            else wp.from_torch(torch.arange(self.num_envs, dtype=torch.int32, device=self.device)[env_ids])
        )
        self._arm_delay.reset(self._arm_line[1], reset_ids)
        self._hand_response.reset(wp.from_torch(self._hand_target), reset_ids)

    def state(self) -> dict[str, np.ndarray]:
        """Return the last targets and what is on its way to the drives, copied to the host; part of a snapshot."""
        parts = {"arm": self._arm_delay.state(), "hand": self._hand_response.state()}
        parts["target"] = {name: values.cpu().numpy().copy() for name, values in self._targets().items()}
        return {f"{owner}.{name}": values for owner, part in parts.items() for name, values in part.items()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from what :meth:`state` returned.

        Raises:
            ConfigError: a buffer is missing, unknown or of another shape.
        """
        for owner, buffers in (("arm", self._arm_delay), ("hand", self._hand_response)):
            buffers.set_state(_part(state, owner))
        kept = _part(state, "target")
        for name, values in self._targets().items():
            if np.shape(kept.get(name)) != tuple(values.shape):
                raise ConfigError(f"snapshot target.{name}: received {np.shape(kept.get(name))}, needed {values.shape}")
        for name, values in self._targets().items():
            values.copy_(torch.from_numpy(kept[name]))

    def _targets(self) -> dict[str, torch.Tensor]:
        return {
            "arm_start": self._arm_start,
            "arm": self._arm_target,
            "hand": self._hand_target,
            "joint_pos": self._joint_pos_target,
        }


def _part(state: dict[str, np.ndarray], owner: str) -> dict[str, np.ndarray]:
    return {name.partition(".")[2]: values for name, values in state.items() if name.startswith(f"{owner}.")}
