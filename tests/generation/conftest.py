"""Jobs of a few attempts, whose outcomes are given instead of simulated."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from r2s2r.contracts.episode import Episode
from r2s2r.contracts.rejection import Rejection
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.generation.job import GenerationJob
from r2s2r.generation.shards import AttemptRecord, ShardFolder, ShardKey

NUM_ENVS = 4
HEADER = DatasetHeader(
    env_args={"env_name": "Task", "type": 2, "env_kwargs": {}}, provenance={}, state_names=("height",)
)


def make_job(**changes) -> GenerationJob:
    """Return a job of four environments."""
    settings = {
        "episodes": 6,
        "conditions": ("nominal",),
        "num_envs": NUM_ENVS,
        "seed": 0,
        "picture_size": 64,
        "push_share": 0.0,
        "world_sha256": "w",
        "behavior": "grounded",
        "code": {},
    }
    return GenerationJob(**{**settings, **changes})


def make_episode(number: int, pictures: bool = False, steps: int = 3) -> Episode:
    """Return an episode whose numbers all depend on `number`."""
    rng = np.random.default_rng(number)
    obs = {"joint_pos": rng.uniform(-1.0, 1.0, (steps, 23)).astype(np.float32)}
    if pictures:
        obs |= {f"{name}_rgb": rng.integers(0, 255, (steps, 8, 8, 3), dtype=np.uint8) for name in ("head", "wrist")}
    return Episode(
        actions=np.tile(np.r_[np.zeros(3), 1, 0, 0, 0, 1, 0, np.full(16, 0.3)], (steps, 1)).astype(np.float32),
        obs=obs,
        states=np.full((steps, 1), float(number), dtype=np.float32),
        state_names=("height",),
        commands={"joint_pos_target": obs["joint_pos"], "followable": np.ones(steps, dtype=bool)},
        rewards=np.zeros(steps, dtype=np.float32),
        dones=np.r_[np.zeros(steps - 1), 1].astype(np.int64),
        success=True,
        source_demo=f"demonstration_{number % 5}",
        attributes={"attempt": number, "object_class": object_class(number), "condition": "nominal"},
    )


def object_class(number: int) -> str:
    """Return the class of an attempt: every third one is round."""
    return "round" if number % 3 == 0 else "box"


def record(number: int, success: bool = True) -> AttemptRecord:
    """Return what became of an attempt."""
    rejection = None if success else Rejection("dropped", 0.1, 0.5, "s")
    return AttemptRecord(number, object_class(number), "cube", 3, rejection)


@pytest.fixture
def publish(tmp_path) -> Callable[[GenerationJob, ShardKey, Iterable[int]], ShardFolder]:
    """Return a function that publishes a shard in which the attempts given fail."""

    def write(job: GenerationJob, key: ShardKey, failing: Iterable[int] = ()) -> ShardFolder:
        shards = ShardFolder(shard_folder(tmp_path))
        numbers = job.numbers(key.condition, key.index)
        good = [number for number in numbers if number not in set(failing)]
        records = [record(number, number in good) for number in numbers]
        shards.publish(key, HEADER, {number: make_episode(number) for number in good}, records)
        return shards

    return write


def shard_folder(tmp_path: Path) -> Path:
    """Return where the shards lie."""
    return tmp_path / "job" / "shards"
