"""Pictures for episodes that were simulated without any: the scene is put where it was, step by step, and looked at.

Ray tracing costs more than physics. So attempts are simulated blind, and only what is kept is filmed, at the rate of
the policy, in as many environments as pay off, by a process of its own if need be. What an episode looked like is all
in it: joints and objects in its privileged state, colours and lamps by its number.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
import warp as wp
from isaaclab.envs import ManagerBasedRLEnv
from isaaclab.sensors import Camera
from isaaclab.utils.math import combine_frame_transforms

from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r_tasks.belt_sort.mdp.observations import episode as episode_term

PICTURES = ("head_rgb", "wrist_rgb")
"""Observation groups that hold one picture each."""

OBJECTS = ("box", "round")
"""Scene slots of the two classes, as the columns of the privileged state name them."""

FILM_ENVS = 72
"""Environments that film at once: each pair of the six sizes of both classes twice."""

AWAY_M = 1000.0
"""How far off a camera is that has nothing to look at [m]: its rays end before they meet anything."""

COLUMNS = [f"joint_pos.{name}" for name in ROBOT_JOINTS] + [
    f"{name}_{quantity}_b.{axis}"
    for name in OBJECTS
    for quantity, axes in (("pos", "xyz"), ("quat", "xyzw"))
    for axis in axes
]
"""Columns of the privileged state that a picture is made of: joints [rad], pose of each object in the base."""

Key = TypeVar("Key")


class Film:
    """Films episodes in the environments of a task with cameras, several at once; everything stays on the device.

    An episode fits into an environment that holds the same two shapes.
    """

    def __init__(self, env: ManagerBasedRLEnv):
        """Take the task, opened with cameras, in the episodes' world and condition, with their seed."""
        env.reset()
        self._env, self._term = env, episode_term(env)
        self._robot = env.scene["robot"]
        self._objects = [env.scene[f"{name}_object"] for name in OBJECTS]
        self._joint_ids = self._robot.find_joints(list(ROBOT_JOINTS), preserve_order=True)[0]
        self._places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for env_id, shapes in enumerate(self._term.shape_names):
            self._places[tuple(shapes)].append(env_id)
        n, t, device = env.num_envs, env.max_episode_length, env.device
        self._scenes = torch.zeros(n, t, len(COLUMNS), device=device)
        self._frames = {
            name: torch.zeros(n, t, *env.observation_manager.group_obs_dim[name], dtype=torch.uint8, device=device)
            for name in PICTURES
        }
        self._step = torch.zeros(n, dtype=torch.int64, device=device)
        self._left = np.zeros(n, dtype=np.int64)
        """Steps of each environment's episode that are not filmed yet (N,), 0 without an episode."""
        self._cameras = [env.scene[name.replace("rgb", "camera")] for name in PICTURES]
        self._gazes = [Gaze(camera) for camera in self._cameras]
        self.rendered = 0
        """Pictures of each camera so far that belong to an episode."""
        self.rendering_s = 0.0
        """Time spent on ray tracing so far [s]."""

    def shoot(
        self,
        episodes: Iterable[tuple[Key, Episode]],
        more: Callable[[], Iterable[tuple[Key, Episode]]] = tuple,
    ) -> Iterator[tuple[Key, Episode]]:
        """Yield episodes with their pictures, as they get ready.

        Args:
            episodes: what to film, with a key of the caller's.
            more: asked for further ones whenever some have ended, so that no environment waits for the others.

        Raises:
            DatasetError: an episode lacks what it is filmed from, or no environment holds its shapes.
        """
        waiting: dict[tuple[str, ...], deque] = defaultdict(deque)
        running: dict[int, tuple[Key, Episode]] = {}
        self._queue(waiting, episodes)
        while True:
            self._begin(waiting, running)
            if not running:
                return
            env_ids = self._watch(list(running))
            while self._left[list(running)].all():
                self._look(env_ids)
            for env_id in [env_id for env_id in running if not self._left[env_id]]:
                key, item = running.pop(env_id)
                frames = {name: taken[env_id, : len(item)].cpu().numpy().copy() for name, taken in self._frames.items()}
                yield key, replace(item, obs={**item.obs, **frames})
            self._queue(waiting, more())

    def _queue(self, waiting: dict[tuple[str, ...], deque], episodes: Iterable[tuple[Any, Episode]]) -> None:
        for key, item in episodes:
            shapes = shapes_of(item.attributes)
            if shapes not in self._places:
                raise DatasetError(f"film: no environment holds {' and '.join(shapes)}; it needs more environments")
            waiting[shapes].append((key, item))

    def _begin(self, waiting: dict[tuple[str, ...], deque], running: dict[int, tuple[Any, Episode]]) -> None:
        """Put waiting episodes into free environments."""
        begun = []
        for shapes, items in waiting.items():
            free = [env_id for env_id in self._places[shapes] if env_id not in running]
            for env_id in free[: len(items)]:
                running[env_id] = items.popleft()
                self._load(env_id, running[env_id][1])
                begun.append(env_id)
        if begun:
            numbers = [int(running[env_id][1].attributes["attempt"]) for env_id in begun]
            device = self._env.device
            self._term.show(torch.tensor(begun, device=device), torch.tensor(numbers, dtype=torch.int32, device=device))

    def _load(self, env_id: int, item: Episode) -> None:
        self._scenes[env_id, : len(item)] = torch.tensor(_columns(item, COLUMNS), device=self._env.device)
        self._step[env_id], self._left[env_id] = 0, len(item)

    def _watch(self, env_ids: list[int]) -> torch.Tensor:
        """Turn the cameras to some environments and return their indices on the device."""
        for gaze in self._gazes:
            gaze.at(env_ids)
        return torch.tensor(env_ids, device=self._env.device)

    def _look(self, env_ids: torch.Tensor) -> None:
        """Set the scene of every running episode (M,), look at it, and go one step on."""
        step = self._step[env_ids]
        self._place(env_ids.to(torch.int32), self._scenes[env_ids, step])
        self._render()
        for name, frames in self._frames.items():
            frames[env_ids, step] = self._env.observation_manager.compute_group(name)[env_ids]
        self._step[env_ids] += 1
        self._left[self._left > 0] -= 1
        self.rendered += len(env_ids)

    def _place(self, env_ids: torch.Tensor, scenes: torch.Tensor) -> None:
        joint_pos, *poses_b = scenes.split((len(ROBOT_JOINTS), 7, 7), dim=-1)
        self._robot.write_joint_position_to_sim_index(
            position=joint_pos.contiguous(), joint_ids=self._joint_ids, env_ids=env_ids
        )
        base = self._robot.data.root_link_pose_w.torch[env_ids.long()]
        for pose_b, item in zip(poses_b, self._objects, strict=True):
            pose_w = torch.cat(combine_frame_transforms(*base.split((3, 4), -1), *pose_b.split((3, 4), -1)), -1)
            item.write_root_pose_to_sim_index(root_pose=pose_w, env_ids=env_ids)

    def _render(self) -> None:
        """Let every camera look at the scene as it is now."""
        self._env.sim.forward()
        self._env.scene.update(self._env.step_dt)
        began = time.perf_counter()
        for camera in self._cameras:
            camera.update(0.0, force_recompute=True)
        wp.synchronize_device(self._env.device)
        self.rendering_s += time.perf_counter() - began


class Gaze:
    """Which environments a camera looks at. From those without an episode it is far away, where rays meet nothing."""

    def __init__(self, camera: Camera):
        self._view = camera._view
        places = self._view.get_local_poses()[0].torch.clone()
        self._at_work, self._away = places, places + torch.tensor([0.0, 0.0, AWAY_M], device=places.device)

    def at(self, env_ids: list[int]) -> None:
        """Look at environments `env_ids` and at no other."""
        places = self._away.clone()
        places[env_ids] = self._at_work[env_ids]
        with self._view.xform_local_space_writer() as writer:
            writer.set_poses(positions=wp.from_torch(places.contiguous(), dtype=wp.vec3f))


def shapes_of(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the shapes of both objects of an episode, in the order of the classes.

    Raises:
        DatasetError: they are not told.
    """
    missing = [name for name in OBJECTS if f"{name}_shape" not in attributes]
    if missing:
        raise DatasetError(f"film: the episode does not tell its {missing[0]}_shape; generate it with this version")
    return tuple(str(attributes[f"{name}_shape"]) for name in OBJECTS)


def _columns(episode: Episode, names: list[str]) -> np.ndarray:
    """Return columns (T, K) of the privileged state.

    Raises:
        DatasetError: the state has no such column.
    """
    missing = sorted(set(names) - set(episode.state_names))
    if missing:
        raise DatasetError(f"film: states have no column {missing[0]}; generate the episode with this version")
    return episode.states[:, [episode.state_names.index(name) for name in names]]
