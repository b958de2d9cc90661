"""What is drawn for each episode, and the scene that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
import warp as wp
from isaaclab.managers import CommandTerm
from isaaclab.utils.math import combine_frame_transforms, quat_apply, quat_mul

from r2s2r.contracts.transforms import matrix_from_quat, quat_conjugate, quat_multiply
from r2s2r_tasks.assets.spawned import describe, extents, spawned_shape

from .base_frame import object_state_b

if TYPE_CHECKING:
    from isaaclab.assets import Articulation, RigidObject
    from isaaclab.envs import ManagerBasedRLEnv

    from .episode_cfg import EpisodeCfg

CLEARANCE = 0.001
"""Height above the belt at which objects start [m]: no contact yet, no drop worth the name."""

_PAINT_STREAM = wp.constant(0x3C6EF372)
"""Mixed into the seed: colours must not follow places, which are drawn from seed and number as well."""


_LIGHT_STREAM = wp.constant(0x1B873593)
"""Mixed into the seed likewise for the lamps."""


@wp.func
def _uniform(state: wp.uint32, low: float, high: float):
    return low + (high - low) * wp.randf(state)


@wp.kernel(enable_backward=False)
def _draw(
    env_ids: wp.array(dtype=wp.int32),
    seed: int,
    ranges: wp.array(dtype=wp.vec2),
    first_class_share: float,
    episode_number: wp.array(dtype=wp.int32),
    # outputs
    target_class: wp.array(dtype=wp.int64),
    layout: wp.array2d(dtype=wp.float32),
):
    """Draw the episode of each environment (rows of `layout`: target x, y, yaw; other x, y, yaw; belt speed)."""
    env = env_ids[wp.tid()]
    state = wp.rand_init(seed, episode_number[env])
    target_class[env] = wp.where(wp.randf(state) < first_class_share, wp.int64(0), wp.int64(1))
    x = _uniform(state, ranges[0][0], ranges[0][1])
    y = _uniform(state, ranges[1][0], ranges[1][1])
    layout[env, 0] = x
    layout[env, 1] = y
    layout[env, 2] = _uniform(state, ranges[3][0], ranges[3][1])
    layout[env, 3] = _uniform(state, ranges[0][0], ranges[0][1])
    layout[env, 4] = y - _uniform(state, ranges[2][0], ranges[2][1])
    layout[env, 5] = _uniform(state, ranges[3][0], ranges[3][1])
    layout[env, 6] = _uniform(state, ranges[4][0], ranges[4][1])


@wp.kernel(enable_backward=False)
def _draw_paint(
    env_ids: wp.array(dtype=wp.int32),
    seed: int,
    low: wp.vec3,
    high: wp.vec3,
    episode_number: wp.array(dtype=wp.int32),
    # outputs
    paint: wp.array2d(dtype=wp.vec3),
):
    """Draw the colour of each object (N, C) of some environments."""
    env = env_ids[wp.tid()]
    state = wp.rand_init(seed ^ _PAINT_STREAM, episode_number[env])
    for item in range(paint.shape[1]):
        share = wp.vec3(wp.randf(state), wp.randf(state), wp.randf(state))
        paint[env, item] = low + wp.cw_mul(high - low, share)


@wp.kernel(enable_backward=False)
def _draw_light(
    env_ids: wp.array(dtype=wp.int32),
    seed: int,
    undimmed: wp.vec3,
    dimming: float,
    episode_number: wp.array(dtype=wp.int32),
    # outputs
    light_rgb: wp.array(dtype=wp.vec3),
):
    """Draw the colour of the lamps (N,) of some environments."""
    env = env_ids[wp.tid()]
    state = wp.rand_init(seed ^ _LIGHT_STREAM, episode_number[env])
    lost = dimming * wp.vec3(wp.randf(state), wp.randf(state), wp.randf(state))
    light_rgb[env] = undimmed - wp.cw_mul(undimmed, lost)


class Episode(CommandTerm):
    """Draws each episode and sets the scene. Its command says which class is the target and where its bin stands.

    Episode `e` of environment `i` of `N` has the number `e * N + i` unless :attr:`upcoming` is set to another one, and
    its draw depends on seed and number alone: the same layout comes out again wherever and whenever the attempt is
    made. Shapes, masses and friction belong to the environment, so the same whole attempt needs the same environment of
    the same number of them too.
    """

    cfg: EpisodeCfg

    def __init__(self, cfg: EpisodeCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        self._robot: Articulation = env.scene[cfg.robot_name]
        self._belt: RigidObject = env.scene[cfg.belt_name]
        self._objects: list[RigidObject] = [env.scene[name] for name in cfg.object_names]
        n, device = self.num_envs, self.device
        self.number = torch.arange(n, dtype=torch.int32, device=device) - n
        """Number of the running episode (N,)."""
        self.upcoming = torch.arange(n, dtype=torch.int32, device=device)
        """Number of the next episode (N,)."""
        self.target_class = torch.zeros(n, dtype=torch.int64, device=device)
        """Class index of the target (N,)."""
        self.layout = torch.zeros(n, 7, device=device)
        """Draw (N, 7): target x, y [m], yaw [rad] in the base; other x, y, yaw; belt speed as commanded [m/s]."""
        self.light_rgb = torch.tensor(cfg.light_rgb, device=device).repeat(n, 1)
        """Colour of the lamps, linear RGB (N, 3)."""
        self._paint = torch.zeros(n, len(self._objects), 3, device=device)
        self._painted = [env.scene[name] for name in cfg.paint_names]
        self.bins_b = torch.tensor(cfg.bin_pos_b, device=device)
        """Middle of each class's bin floor in the base (C, 3) [m]."""
        shapes = self._spawned_shapes()
        self.shape_names = [[describe(shape) for shape in row] for row in shapes]
        """Shape and size of each environment's objects (N, C)."""
        self.half_heights = torch.tensor([[extents(shape)[2] / 2 for shape in row] for row in shapes], device=device)
        """Half of each object's height (N, C) [m]."""
        self._place_belt(np.array(cfg.belt_pose_b), np.array(cfg.nominal_belt_pose_b))
        ranges = (cfg.target_x, cfg.target_y, cfg.follower_gap, cfg.yaw, cfg.belt_speed)
        self._ranges = wp.array(ranges, dtype=wp.vec2, device=device)
        self._one_hot = torch.eye(len(self._objects), device=device)
        self._rows = torch.arange(n, device=device)

    def __str__(self) -> str:
        return f"Episode(objects={self.cfg.object_names}, belt_speed={self.cfg.belt_speed}, seed={self.cfg.seed})"

    @property
    def command(self) -> torch.Tensor:
        """Target class as one-hot and its bin's place in the base (N, C + 3)."""
        return torch.cat((self._one_hot[self.target_class], self.target_bin_b), dim=-1)

    @property
    def target_bin_b(self) -> torch.Tensor:
        """Middle of the target's bin floor in the base (N, 3) [m]."""
        return self.bins_b[self.target_class]

    @property
    def belt_speed(self) -> torch.Tensor:
        """Speed of the belt's surface (N,) [m/s]."""
        return self.layout[:, 6] * self.cfg.belt_speed_scale

    def object_state_b(self) -> torch.Tensor:
        """Return each class's object in the base (N, C, 10): position [m], quaternion xyzw, linear velocity [m/s]."""
        return object_state_b(self._robot, self._objects)

    def target_state_b(self) -> torch.Tensor:
        """Return the target in the base (N, 10): position [m], quaternion xyzw, linear velocity [m/s]."""
        return self.object_state_b()[self._rows, self.target_class]

    def align_numbers(self) -> None:
        """Give all environments the same count of episodes, the highest so far.

        Environments whose episodes ended early have had more of them. After the next reset of all, the numbers run
        from the lowest on without a gap; without this, whoever waits for the lowest numbers would wait for ever.
        """
        rows = torch.arange(self.num_envs, dtype=torch.int32, device=self.device)
        self.number[:] = (self.number.max() // self.num_envs) * self.num_envs + rows
        self.upcoming[:] = self.number + self.num_envs

    def show(self, env_ids: torch.Tensor, numbers: torch.Tensor) -> None:
        """Paint and light environments `env_ids` (M,) as in the episodes `numbers` (M,) int32; nothing moves."""
        self.number[env_ids] = numbers
        self._paint_objects(env_ids.to(torch.int32))
        self._light_lamps(env_ids.to(torch.int32))

    def _update_metrics(self):
        pass

    def _update_command(self):
        pass

    def _resample_command(self, env_ids: Sequence[int] | slice):
        ids = torch.arange(self.num_envs, dtype=torch.int32, device=self.device)[env_ids]
        if not len(ids):
            return
        self.number[ids] = self.upcoming[ids]
        self.upcoming[ids] += self.num_envs
        wp.launch(
            _draw,
            dim=len(ids),
            inputs=[
                wp.from_torch(ids),
                self.cfg.seed,
                self._ranges,
                self.cfg.first_class_share,
                wp.from_torch(self.number),
            ],
            outputs=[wp.from_torch(self.target_class), wp.from_torch(self.layout)],
            device=self.device,
        )
        self._carry_layout(ids)
        base = self._robot.data.root_link_pose_w.torch[ids]
        velocity = torch.zeros(len(ids), 6, device=self.device)
        velocity[:, :3] = quat_apply(base[:, 3:], self._along_b.expand(len(ids), 3)) * self.belt_speed[ids, None]
        for index, item in enumerate(self._objects):
            pose_w = torch.cat(combine_frame_transforms(*base.split((3, 4), -1), *self._start_pose_b(ids, index)), -1)
            item.write_root_pose_to_sim_index(root_pose=pose_w, env_ids=ids)
            item.write_root_velocity_to_sim_index(root_velocity=velocity, env_ids=ids)
        self._belt.write_root_velocity_to_sim_index(root_velocity=velocity, env_ids=ids)
        self._paint_objects(ids)
        self._light_lamps(ids)

    def _light_lamps(self, ids: torch.Tensor) -> None:
        if not self.cfg.light_dimming:
            return
        wp.launch(
            _draw_light,
            dim=len(ids),
            inputs=[
                wp.from_torch(ids),
                self.cfg.seed,
                wp.vec3(*self.cfg.light_rgb),
                self.cfg.light_dimming,
                wp.from_torch(self.number),
            ],
            outputs=[wp.from_torch(self.light_rgb, dtype=wp.vec3)],
            device=self.device,
        )

    def _paint_objects(self, ids: torch.Tensor) -> None:
        if not self._painted:
            return
        low, high = self.cfg.paint_rgb
        wp.launch(
            _draw_paint,
            dim=len(ids),
            inputs=[wp.from_torch(ids), self.cfg.seed, wp.vec3(*low), wp.vec3(*high), wp.from_torch(self.number)],
            outputs=[wp.from_torch(self._paint, dtype=wp.vec3)],
            device=self.device,
        )
        colours = self._paint[ids].transpose(0, 1).contiguous()
        self._env.sim.render_context.write_visual_materials(self._painted, {"color": colours}, ids)

    def _carry_layout(self, ids: torch.Tensor) -> None:
        """Move drawn places from the planned belt to the real one, on its surface."""
        for column in (0, 3):
            planned = self.layout[ids, column : column + 2] - self._planned_b[:2]
            self.layout[ids, column : column + 2] = planned @ self._turn[:2, :2].T + self._belt_pos_b[:2]
            self.layout[ids, column + 2] += self._yaw

    def _start_pose_b(self, ids: torch.Tensor, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return where the object of class `index` starts: on the belt, upright on its surface (M, 3), (M, 4)."""
        is_target = (self.target_class[ids] == index)[:, None]
        x, y, yaw = torch.where(is_target, self.layout[ids, 0:3], self.layout[ids, 3:6]).unbind(-1)
        normal, origin = self._turn[:, 2], self._belt_pos_b
        surface = origin[2] - ((x - origin[0]) * normal[0] + (y - origin[1]) * normal[1]) / normal[2]
        pos = torch.stack((x, y, surface), dim=-1)
        pos = pos + normal * (self.half_heights[ids, index] + CLEARANCE)[:, None]
        half, zero = 0.5 * (yaw - self._yaw), torch.zeros_like(yaw)
        about_z = torch.stack((zero, zero, torch.sin(half), torch.cos(half)), dim=-1)
        return pos, quat_mul(self._turn_quat.expand_as(about_z), about_z)

    def _place_belt(self, belt: np.ndarray, planned: np.ndarray) -> None:
        """Keep where belt (7) and planned belt (7) lie, and the turn from the latter to the former."""

        def tensor(values: np.ndarray) -> torch.Tensor:
            return torch.tensor(values, dtype=torch.float32, device=self.device)

        turn_quat = quat_multiply(belt[3:], quat_conjugate(planned[3:]))
        turn = matrix_from_quat(turn_quat)
        self._belt_pos_b, self._planned_b = tensor(belt[:3]), tensor(planned[:3])
        self._turn_quat, self._turn = tensor(turn_quat), tensor(turn)
        self._yaw = float(np.arctan2(turn[1, 0], turn[0, 0]))
        self._along_b = tensor(matrix_from_quat(belt[3:])[:, 0])

    def _spawned_shapes(self) -> list[list]:
        plan = self._env.sim.get_clone_plan()
        return [
            [spawned_shape(plan, item.cfg.prim_path, env) for item in self._objects] for env in range(self.num_envs)
        ]
