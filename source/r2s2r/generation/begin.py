"""Begins a job, or takes an interrupted one up again."""

import shutil
from pathlib import Path

from r2s2r.behavior.behavior import GROUNDED, UNGROUNDED, Behavior
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.files import file_sha256, writable_folder
from r2s2r.contracts.provenance import code_revision, versions
from r2s2r.contracts.world import World
from r2s2r.dataset.demonstrations import behavior_from_dataset
from r2s2r.generation.films import FilmFolder
from r2s2r.generation.job import GenerationJob
from r2s2r.generation.selection import select
from r2s2r.generation.shards import ShardFolder, ShardKey
from r2s2r.world.world_file import read_world, write_world

BUILT_IN = (GROUNDED, UNGROUNDED)
"""Behaviors that need no recording."""


def begin(
    folder: Path,
    *,
    world: World,
    behavior: str,
    resume: bool,
    episodes: int,
    conditions: tuple[str, ...],
    num_envs: int,
    seed: int,
    picture_size: int,
    push_share: float,
) -> GenerationJob:
    """Write the job's folder, or check that it was begun with the same settings.

    Args:
        folder: where the job lives.
        world: what the cell is made after.
        behavior: `grounded`, `ungrounded`, a behavior's folder or a data set of ours.
        resume: go on with what is there.
        episodes: see :class:`GenerationJob`, as the following.
        conditions: names of conditions.
        num_envs: environments at once.
        seed: of all draws.
        picture_size: width and height of the pictures [px].
        push_share: share of the attempts with a push.

    Raises:
        ConfigError: a setting is not allowed or differs from those that the job was begun with.
        DatasetError: the folder holds a job already and `resume` is False.
        RecordingError: the behavior given is damaged, or none of its demonstrations can be replayed.
    """
    exists = (folder / "job.json").exists()
    if exists and not resume:
        raise DatasetError(f"{folder}: holds a generation already; --resume goes on with it, or choose another folder")
    writable_folder(folder)
    given = None if behavior in BUILT_IN else _read_behavior(Path(behavior), world, seed)
    begun = _begun(folder, world) if exists else None
    if begun is None:
        write_world(folder / "world.yaml", world)
    job = GenerationJob(
        episodes=episodes,
        conditions=conditions,
        num_envs=num_envs,
        seed=seed,
        picture_size=picture_size,
        push_share=push_share,
        # The file of the world is written before its checksum is known; the same world gives the same bytes.
        world_sha256=file_sha256(folder / "world.yaml"),
        behavior=behavior if given is None else given.sha256(),
        code={"revision": code_revision(), "versions": versions()},
    )
    if begun is not None:
        begun.check_same(job, folder)
        return job
    if given is not None:
        given.save(folder / "behavior")
    job.save(folder)  # last: from now on the folder holds a job
    return job


def _begun(folder: Path, world: World) -> GenerationJob:
    """Return the job in `folder`, which has to be in `world`."""
    job = GenerationJob.load(folder)
    if read_world(folder / "world.yaml").to_dict() != world.to_dict():
        raise ConfigError(f"{folder}: was begun with another world; resume it with the same or choose another folder")
    return job


def mend(folder: Path) -> list[str]:
    """Take damaged shards of an interrupted job out, so that they are made again, and return what was wrong."""
    shards = ShardFolder(folder / "shards")
    keys = [
        ShardKey(path.stem.rpartition("_")[0], int(path.stem.rpartition("_")[2]))
        for path in sorted(shards.folder.glob("*.json"))
    ]
    return shards.damage(keys)


def is_complete(folder: Path, job: GenerationJob) -> bool:
    """Return whether every episode of the job is filmed."""
    selection = select(job, ShardFolder(folder / "shards"))
    films = FilmFolder(folder / "films")
    return selection.complete and not any(films.unfinished(numbers) for numbers in selection.chosen.values())


def share_behavior(source: Path, folder: Path) -> None:
    """Give a job that is not prepared the behavior of another one that wants the same."""
    if not (folder / "behavior").exists():
        aside = folder / ".behavior"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(source / "behavior", aside)
        aside.rename(folder / "behavior")


def _read_behavior(path: Path, world: World, seed: int) -> Behavior:
    if path.is_dir():
        return Behavior.load(path)
    if path.is_file():
        return behavior_from_dataset(path, world.poses, seed=seed)
    raise ConfigError(
        f"behavior: received {str(path)!r}, allowed are {', '.join(BUILT_IN)}, a behavior's folder or a data set"
    )
