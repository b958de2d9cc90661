"""Pictures for episodes that were simulated without any: the scene is put where it was, step by step, and looked at.

Ray tracing costs more than physics. So attempts are simulated blind, and only what is kept is filmed, at the rate of
the policy, in as many environments as pay off, by a process of its own if need be. What an episode looked like is all
in it: joints and objects in its privileged state, colours and lamps by its number.
"""

import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
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

Key = TypeVar("Key")


class Film:
    """Films episodes in the environments of a task with cameras, several at once.

    An episode fits into an environment that holds the same two shapes.
    """

    def __init__(self, env: ManagerBasedRLEnv):
        """Take the task, opened with cameras, in the episodes' world and condition, with their seed."""
        self._watched = -1
        env.reset()
        self._env, self._term = env, episode_term(env)
        self._robot = env.scene["robot"]
        self._objects = [env.scene[f"{name}_object"] for name in OBJECTS]
        self._joint_ids = self._robot.find_joints(list(ROBOT_JOINTS), preserve_order=True)[0]
        self._places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for env_id, shapes in enumerate(self._term.shape_names):
            self._places[tuple(shapes)].append(env_id)
        t = env.max_episode_length
        self._frames = {
            name: np.zeros((env.num_envs, t, *env.observation_manager.group_obs_dim[name]), dtype=np.uint8)
            for name in PICTURES
        }
        self._cameras = [env.scene[name.replace("rgb", "camera")] for name in PICTURES]
        self._gazes = [Gaze(camera) for camera in self._cameras]
        self.rendered = 0
        """Pictures of each camera so far that belong to an episode."""
        self.rendering_s = 0.0
        """Time spent on ray tracing so far [s]."""
        self.looks = 0
        """Pictures of each camera so far, those of environments without an episode included."""

    def shoot(self, episodes: Iterable[tuple[Key, Episode]]) -> Iterator[tuple[Key, Episode]]:
        """Yield the same episodes with their pictures, as they get ready.

        Raises:
            DatasetError: an episode lacks what it is filmed from, or no environment holds its shapes.
        """
        waiting = self._by_shapes(episodes)
        running: dict[int, _Take] = {}
        while True:
            self._begin(waiting, running)
            if not running:
                return
            self._look(running)
            for env_id in [env_id for env_id, take in running.items() if take.done]:
                take = running.pop(env_id)
                frames = {name: self._frames[name][env_id, : len(take.episode)].copy() for name in PICTURES}
                yield take.key, replace(take.episode, obs={**take.episode.obs, **frames})

    def _by_shapes(self, episodes: Iterable[tuple[Key, Episode]]) -> dict[tuple[str, ...], deque]:
        waiting: dict[tuple[str, ...], deque] = defaultdict(deque)
        for key, item in episodes:
            shapes = shapes_of(item.attributes)
            if shapes not in self._places:
                raise DatasetError(f"film: no environment holds {' and '.join(shapes)}; it needs more environments")
            waiting[shapes].append(_Take(key, item))
        return waiting

    def _begin(self, waiting: dict[tuple[str, ...], deque], running: "dict[int, _Take]") -> None:
        """Put waiting episodes into free environments."""
        begun = []
        for shapes, takes in waiting.items():
            for env_id in self._places[shapes]:
                if takes and env_id not in running:
                    running[env_id] = takes.popleft()
                    begun.append(env_id)
        if begun or len(running) != self._watched:
            self._watched = len(running)
            for gaze in self._gazes:
                gaze.at(list(running))
        if begun:
            numbers = [int(running[env_id].episode.attributes["attempt"]) for env_id in begun]
            device = self._env.device
            self._term.show(torch.tensor(begun, device=device), torch.tensor(numbers, dtype=torch.int32, device=device))

    def _look(self, running: "dict[int, _Take]") -> None:
        """Set the scene of every running episode, look at it, and go one step on."""
        ids = list(running)
        rows = {name: torch.tensor(np.stack([take.next[name] for take in running.values()])) for name in _COLUMNS}
        env_ids = torch.tensor(ids, dtype=torch.int32, device=self._env.device)
        self._place(env_ids, {name: values.to(self._env.device) for name, values in rows.items()})
        pictures = self._pictures()
        for env_id, take in running.items():
            for name, picture in pictures.items():
                self._frames[name][env_id, take.step] = picture[env_id]
            take.step += 1
        self.rendered += len(running)
        self.looks += self._env.num_envs

    def _place(self, env_ids: torch.Tensor, rows: Mapping[str, torch.Tensor]) -> None:
        self._robot.write_joint_position_to_sim_index(
            position=rows["joint_pos"], joint_ids=self._joint_ids, env_ids=env_ids
        )
        base = self._robot.data.root_link_pose_w.torch[env_ids.long()]
        for name, item in zip(OBJECTS, self._objects, strict=True):
            pose_w = torch.cat(combine_frame_transforms(*base.split((3, 4), -1), *rows[name].split((3, 4), -1)), -1)
            item.write_root_pose_to_sim_index(root_pose=pose_w, env_ids=env_ids)

    def _pictures(self) -> dict[str, np.ndarray]:
        """Return what each camera sees (N, H, W, 3) uint8."""
        self._env.sim.forward()
        self._env.scene.update(self._env.step_dt)
        began = time.perf_counter()
        for camera in self._cameras:
            camera.update(0.0, force_recompute=True)
        wp.synchronize_device(self._env.device)
        self.rendering_s += time.perf_counter() - began
        return {name: self._env.observation_manager.compute_group(name).cpu().numpy() for name in PICTURES}


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


class _Take:
    """One episode on its way through the film."""

    def __init__(self, key: Any, episode: Episode):
        self.key, self.episode, self.step = key, episode, 0
        self._rows = {name: _columns(episode, columns) for name, columns in _COLUMNS.items()}

    @property
    def next(self) -> dict[str, np.ndarray]:
        """What the next picture is taken of."""
        return {name: rows[self.step] for name, rows in self._rows.items()}

    @property
    def done(self) -> bool:
        """Whether every step has its pictures."""
        return self.step == len(self.episode)


_COLUMNS = {"joint_pos": [f"joint_pos.{name}" for name in ROBOT_JOINTS]} | {
    name: [f"{name}_pos_b.{axis}" for axis in "xyz"] + [f"{name}_quat_b.{axis}" for axis in "xyzw"] for name in OBJECTS
}


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
