"""What the demo shows of the simulator: a film of many environments, and pictures from every camera."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from isaaclab.envs import ManagerBasedRLEnv
from PIL import Image

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.conditions import RED_LIGHT
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.evaluation import palette
from r2s2r.evaluation.clips import border, grid
from r2s2r.replay.batch import BatchReplay
from r2s2r_tasks.belt_sort.demonstrate import UNVARIED
from r2s2r_tasks.belt_sort.film import PICTURES
from r2s2r_tasks.belt_sort.mdp.lamps import under_light
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.replay_driver import ReplayDriver
from r2s2r_tasks.belt_sort.session import set_pictures

COLUMNS, ROWS = 6, 4
"""Attempts in the film."""

TILE_PX = 128
"""Size of one attempt in the film [px]."""

EVERY = 3
"""Control steps between two pictures of the film: 10 a second."""

SHOTS = {"waiting": -1.0, "arriving": 0.95, "closing": 1.6, "held": 2.5, "over the bin": 3.9, "released": 4.9}
"""Moments that are pictured, as phase plus share of it: 1.6 is 60 % into closing."""


GRID_FPS = POLICY_RATE_HZ / EVERY
"""Pictures a second of that film."""


def grid_film(episodes: Sequence[Episode]) -> np.ndarray:
    """Return the head views of some attempts side by side (T, H, W, 3) uint8; each freezes in a frame when it ends."""
    clips = [np.stack([_enlarged(frame) for frame in item.obs["head_rgb"][::EVERY]]) for item in episodes]
    tiles = np.zeros((len(clips), max(map(len, clips)) + 1, TILE_PX, TILE_PX, 3), dtype=np.uint8)
    for tile, clip, item in zip(tiles, clips, episodes, strict=True):
        colour = palette.rgb(palette.SUCCESS if item.success else palette.FAILURE)
        tile[: len(clip)] = clip
        tile[len(clip) :] = border(clip[-1], colour, width=4)
    return grid(tiles, min(COLUMNS, len(tiles)))


@dataclass(frozen=True)
class Shot:
    """Pictures of one moment."""

    moment: str
    object_class: str
    pictures: dict[str, np.ndarray]
    """(H, W, 3) uint8 by camera."""


def scene_pictures(env: ManagerBasedRLEnv, demos: Mapping[str, Sequence[Demonstration]]) -> list[Shot]:
    """Replay a demonstration in the first environment and return what every camera sees at each of :data:`SHOTS`."""
    replay = BatchReplay([demos[name] for name in OBJECT_CLASSES], env.num_envs, env.device, UNVARIED)
    driver = ReplayDriver(env, replay)
    set_pictures(env, False)
    env.reset()
    driver.begin_all()
    target = OBJECT_CLASSES[int(episode(env).target_class[0])]
    shots: list[Shot] = []
    for moment, at in SHOTS.items():
        while replay.progress()[0] < at:
            env.step(driver.actions())
            if bool(env.reset_buf[0]):
                return shots
        shots += _shot(env, moment, target)
    return shots


def _shot(env: ManagerBasedRLEnv, moment: str, target: str) -> list[Shot]:
    set_pictures(env, True)
    obs = env.observation_manager.compute()
    set_pictures(env, False)
    pictures = {name: obs[name][:1] for name in PICTURES}
    shots = [Shot(moment, target, {name: rgb[0].cpu().numpy() for name, rgb in pictures.items()})]
    if moment == "held":
        light = torch.tensor([RED_LIGHT], device=env.device)
        red = {name: under_light(rgb, light)[0].cpu().numpy() for name, rgb in pictures.items()}
        shots.append(Shot(f"{moment}, under red lamps", target, red))
    return shots


def _enlarged(frame: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(frame).resize((TILE_PX, TILE_PX), Image.Resampling.BICUBIC))
