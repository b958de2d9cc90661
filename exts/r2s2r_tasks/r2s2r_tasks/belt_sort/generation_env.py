"""The environment and the header of a generation job: the same for every process that works on it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.contracts.provenance import provenance
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.generation.job import GenerationJob
from r2s2r.generation.prepared import Prepared
from r2s2r.world.world_file import read_world
from r2s2r_tasks.belt_sort.episode_recorder import STATE_NAMES
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import CAMERA_TASK, belt_sort_env

GYM_ENV_TYPE = 2
"""robomimic's number for environments that are made by Gymnasium (robomimic.envs.env_base.EnvType)."""


@contextmanager
def generation_env(
    folder: Path, job: GenerationJob, condition: str, device: str, num_envs: int, picture_size: int | None = None
) -> Iterator[ManagerBasedRLEnv]:
    """Open the task as the prepared job in `folder` wants it.

    Args:
        folder: the job's.
        job: its settings.
        condition: one of its conditions.
        device: `cpu` or a CUDA device.
        num_envs: environments.
        picture_size: width and height of the pictures [px]; None for none.
    """
    world = read_world(folder / "world.yaml")
    with belt_sort_env(
        num_envs, seed=job.seed, device=device, condition=condition, picture_size=picture_size, world=world
    ) as env:
        episode(env).cfg.first_class_share = Prepared.load(folder).first_class_share
        yield env


def dataset_header(folder: Path, job: GenerationJob) -> DatasetHeader:
    """Return the header of the job's data set."""
    record = provenance({"job": job, "prepared": Prepared.load(folder)}, seed=job.seed)
    return task_header(record, job.conditions, job.seed)


def task_header(record: dict[str, Any], conditions: Sequence[str], seed: int) -> DatasetHeader:
    """Return the header of a data set of this task.

    Args:
        record: its provenance.
        conditions: what it was made under.
        seed: decides what is held out for validation.
    """
    env_args = {"env_name": CAMERA_TASK, "type": GYM_ENV_TYPE, "env_kwargs": {"conditions": list(conditions)}}
    return DatasetHeader(env_args, record, state_names=STATE_NAMES, split_seed=seed)
