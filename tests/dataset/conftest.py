"""Small, exact episodes and data sets."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from r2s2r.contracts.episode import Episode
from r2s2r.dataset.assembly import WrittenDataset
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.dataset.writer import DatasetWriter

EpisodeMaker = Callable[..., Episode]


@pytest.fixture
def header() -> DatasetHeader:
    """A header as the demo makes it, without real provenance."""
    env_args = {"env_name": "R2S2R-BeltSort-XArm7Allegro", "type": 2, "env_kwargs": {}}
    return DatasetHeader(env_args=env_args, provenance={"seed": 7})


@pytest.fixture
def make_episode() -> EpisodeMaker:
    """Return a maker of episodes whose numbers tell index and step: reward = index, grey level = step."""
    return _make_episode


@pytest.fixture
def make_dataset(tmp_path: Path, header: DatasetHeader) -> Callable[..., WrittenDataset]:
    """Return a maker of data sets of `count` episodes from `sources` source demonstrations."""

    def make(count: int = 6, sources: int = 3, name: str = "set.hdf5", **options) -> WrittenDataset:
        writer = DatasetWriter(tmp_path / name, header)
        for index in range(count):
            writer.add(_make_episode(index, source=f"human_{index % sources}", **options))
        return writer.finish()

    return make


def _make_episode(index: int = 0, steps: int = 8, size: int = 16, source: str = "human_0", **attributes) -> Episode:
    rng = np.random.default_rng(index)
    actions = np.zeros((steps, 25), np.float32)
    actions[:, 0:3] = rng.uniform(-0.5, 0.5, (steps, 3))
    actions[:, 3:9] = (1, 0, 0, 0, 1, 0)
    actions[:, 9:] = rng.uniform(0.0, 1.5, (steps, 16))
    grey = np.broadcast_to(np.arange(steps, dtype=np.uint8)[:, None, None, None], (steps, size, size, 3)).copy()
    dones = np.zeros(steps, np.int64)
    dones[-1] = 1
    joint_pos = rng.uniform(-1, 1, (steps, 23)).astype(np.float32)
    return Episode(
        actions=actions,
        obs={"joint_pos": joint_pos, "head_rgb": grey, "wrist_rgb": 255 - grey},
        states=np.stack([np.arange(steps), rng.normal(size=steps)], axis=1).astype(np.float32),
        state_names=("step", "object_pos_b.x"),
        commands={"joint_pos_target": joint_pos + 0.01, "followable": np.ones(steps, bool)},
        rewards=np.full(steps, index, np.float32),
        dones=dones,
        success=True,
        source_demo=source,
        attributes={"object_class": ("box", "round")[index % 2], "condition": "nominal", **attributes},
    )
