"""Opens the belt-sorting environment for programs, as the Isaac Lab commands do for people."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import gymnasium as gym
import torch
from isaaclab.envs import ManagerBasedRLEnv
from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

import r2s2r_tasks  # noqa: F401  registers the tasks
from r2s2r.contracts.conditions import CONDITIONS
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.world import World
from r2s2r_tasks.belt_sort.config.xarm7_allegro.apply_world import apply_world
from r2s2r_tasks.belt_sort.mdp.observations import image
from r2s2r_tasks.belt_sort.physics_cfg import check_grasp_settings
from r2s2r_tasks.belt_sort.picture_size import check_picture_size

STATE_TASK = "R2S2R-BeltSort-XArm7Allegro"
CAMERA_TASK = "R2S2R-BeltSort-XArm7Allegro-Camera"
MIMIC_TASK = "R2S2R-BeltSort-XArm7Allegro-Mimic"

PHYSICS_PRESETS = ("newton_mjwarp", "physx")
RENDERER_PRESETS = ("newton_renderer", "rtx", "isaacsim_rtx")


@contextmanager
def belt_sort_env(
    num_envs: int,
    *,
    seed: int,
    device: str = "cpu",
    condition: str = "nominal",
    picture_size: int | None = None,
    physics: str = "newton_mjwarp",
    renderer: str = "newton_renderer",
    world: World | None = None,
    task: str | None = None,
) -> Iterator[ManagerBasedRLEnv]:
    """Open the task and close it again.

    Args:
        num_envs: environments N.
        seed: seed of all draws.
        device: `cpu` or a CUDA device.
        condition: one of :data:`r2s2r.contracts.conditions.CONDITIONS`.
        picture_size: width and height of the two pictures [px]; None for the task without cameras.
        physics: one of :data:`PHYSICS_PRESETS`.
        renderer: one of :data:`RENDERER_PRESETS`.
        world: what the cell is made after; None for the nominal world.
        task: its registered name; None for the task with or without cameras, by `picture_size`.

    Raises:
        ConfigError: no environment, an unknown name, or a device that is not there.
    """
    check_choice(num_envs, device, condition, picture_size)
    choose("physics", physics, PHYSICS_PRESETS)
    choose("renderer", renderer, RENDERER_PRESETS)
    task = task or (STATE_TASK if picture_size is None else CAMERA_TASK)
    presets = [condition] + ([] if picture_size is None else [f"rgb{picture_size}"])
    overrides = [f"presets={','.join(presets)}", f"physics={physics}"]
    if picture_size is not None:
        overrides.append(f"renderer={renderer}")
    with _quiet():
        cfg = parse_env_cfg(task, device=device, num_envs=num_envs, overrides=overrides)
        cfg.seed = cfg.commands.episode.seed = seed
        if world is not None:
            apply_world(cfg, world)
        check_grasp_settings(cfg.sim.physics)
        env = gym.make(task, cfg=cfg).unwrapped
    try:
        yield env
    finally:
        with _quiet():
            env.close()


def check_choice(num_envs: int, device: str, condition: str, picture_size: int | None) -> None:
    """Refuse what cannot be opened, before anything long is begun.

    Raises:
        ConfigError: no environment, an unknown name or picture size, or a device that is not there.
    """
    if num_envs < 1:
        raise ConfigError(f"num_envs: received {num_envs}, allowed are 1 and more")
    choose("condition", condition, tuple(CONDITIONS))
    if picture_size is not None:
        check_picture_size(picture_size)
    if device != "cpu" and not torch.cuda.is_available():
        raise ConfigError(f"device: received {device!r}, but there is no CUDA device; allowed is cpu")


def set_pictures(env: ManagerBasedRLEnv, enabled: bool) -> None:
    """Switch the rendering of pictures on or off; without cameras nothing happens."""
    for group in env.observation_manager._group_obs_term_cfgs.values():
        for term in group:
            if isinstance(term.func, image):
                term.func.enabled = enabled


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the framework's start-up tables and deprecation notes off the console; errors still get through."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
