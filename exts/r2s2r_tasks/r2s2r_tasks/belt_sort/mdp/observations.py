"""What is seen: by a deployed policy (joints and pictures), and beside it the privileged state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import ManagerTermBase, ObservationTermCfg, SceneEntityCfg

from r2s2r.contracts.action import WRIST_LINK
from r2s2r.contracts.joints import ARM_JOINTS, ROBOT_JOINTS

from .base_frame import body_pose_b
from .blur import SMALLEST_SIGMA_PX, GaussianBlur
from .lamps import under_light

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedRLEnv

    from .episode import Episode


def episode(env: ManagerBasedRLEnv) -> Episode:
    """Return the term that holds the running episodes' draws."""
    return env.command_manager.get_term("episode")


class joint_pos(ManagerTermBase):
    """Joint positions as encoders read them (N, 23) [rad] in the order of `ROBOT_JOINTS`; true ones without a bias."""

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        self._robot = env.scene["robot"]
        self._ids = self._robot.find_joints(list(ROBOT_JOINTS), preserve_order=True, as_proxy=True)[0].torch
        bias = torch.zeros(len(ROBOT_JOINTS), device=env.device)
        bias[: len(ARM_JOINTS)] = torch.tensor(cfg.params.get("encoder_bias") or 0.0, device=env.device)
        self._bias = bias if bias.any() else None

    def __call__(self, env: ManagerBasedRLEnv, encoder_bias: tuple[float, ...] = ()) -> torch.Tensor:
        positions = self._robot.data.joint_pos.torch[:, self._ids]
        return positions if self._bias is None else positions + self._bias


class joint_vel(ManagerTermBase):
    """Joint velocities (N, 23) [rad/s] in the order of `ROBOT_JOINTS`."""

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        self._robot = env.scene["robot"]
        self._ids = self._robot.find_joints(list(ROBOT_JOINTS), preserve_order=True, as_proxy=True)[0].torch

    def __call__(self, env: ManagerBasedRLEnv) -> torch.Tensor:
        return self._robot.data.joint_vel.torch[:, self._ids]


class wrist_pose_b(ManagerTermBase):
    """Measured wrist pose in the base (N, 7): position [m], quaternion xyzw."""

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        self._robot = env.scene["robot"]
        self._body = self._robot.find_bodies(WRIST_LINK)[0][0]

    def __call__(self, env: ManagerBasedRLEnv) -> torch.Tensor:
        return body_pose_b(self._robot, self._body)


def object_states_b(env: ManagerBasedRLEnv) -> torch.Tensor:
    """Pose and velocity of each class's object in the base (N, C * 10): position, quaternion xyzw, linear velocity."""
    return episode(env).object_state_b().flatten(1)


def target_state_b(env: ManagerBasedRLEnv) -> torch.Tensor:
    """Pose and velocity of the target in the base (N, 10): position, quaternion xyzw, linear velocity."""
    return episode(env).target_state_b()


def target_and_bin(env: ManagerBasedRLEnv) -> torch.Tensor:
    """Target class as one-hot and its bin in the base (N, C + 3)."""
    return episode(env).command


def belt_speed(env: ManagerBasedRLEnv) -> torch.Tensor:
    """Speed of the belt's surface (N, 1) [m/s]."""
    return episode(env).belt_speed[:, None]


class image(ManagerTermBase):
    """RGB picture under the episode's lamps, blurred as the lens blurs (N, H, W, 3) uint8.

    Ray tracing costs more than physics: whoever needs no pictures for a while sets `enabled` to False and gets black.
    """

    def __init__(self, cfg: ObservationTermCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        camera = env.scene[cfg.params["sensor_cfg"].name]
        self.enabled = True
        sigma = cfg.params.get("blur_sigma_px", (0.0, 0.0))
        self._blur = GaussianBlur(sigma, env.device) if max(sigma) >= SMALLEST_SIGMA_PX else None
        self._black = torch.zeros(
            env.num_envs, camera.cfg.height, camera.cfg.width, 3, dtype=torch.uint8, device=env.device
        )

    def __call__(
        self, env: ManagerBasedRLEnv, sensor_cfg: SceneEntityCfg, blur_sigma_px: tuple[float, float] = (0.0, 0.0)
    ) -> torch.Tensor:
        if not self.enabled:
            return self._black
        lit = under_light(env.scene[sensor_cfg.name].data.output["rgb"].torch, episode(env).light_rgb)
        return lit if self._blur is None else self._blur(lit)
