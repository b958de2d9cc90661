"""Small data sets for training, whose numbers tell episode and step."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.episode import Episode
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.dataset.writer import DatasetWriter

SIZE = 8


def episode(number: int, steps: int = 12, size: int = SIZE, **commands: np.ndarray) -> Episode:
    """Return an episode whose wrist stands at (number / 100, step / 100, 0) and whose pictures are (number, step)."""
    rng = np.random.default_rng(number)
    actions = np.zeros((steps, 25), np.float32)
    actions[:, 0], actions[:, 1] = number / 100.0, np.arange(steps) / 100.0
    actions[:, 3:9] = (1, 0, 0, 0, 1, 0)
    actions[:, 9:] = rng.uniform(0.0, 1.0, (steps, 16))
    pictures = rng.integers(0, 256, (steps, size, size, 3), dtype=np.uint8)
    pictures[:, 0, 0, 0], pictures[:, 0, 0, 1] = number, np.arange(steps)
    dones = np.zeros(steps, np.int64)
    dones[-1] = 1
    return Episode(
        actions=actions,
        obs={
            "joint_pos": rng.uniform(-1, 1, (steps, 23)).astype(np.float32),
            "head_rgb": pictures,
            "wrist_rgb": 255 - pictures,
        },
        states=np.zeros((steps, 1), np.float32),
        state_names=("step",),
        commands=dict(commands),
        rewards=np.zeros(steps, np.float32),
        dones=dones,
        success=True,
        source_demo=f"human_{number}",
    )


def write(
    path: Path,
    lengths: Sequence[int] = (12, 9, 15, 12),
    *,
    change: "Callable[[int, Episode], Episode] | None" = None,
    size: int = SIZE,
    env_kwargs: "dict[str, Any] | None" = None,
    **header: Any,
) -> Path:
    """Write one episode of each length, all of its own source demonstration, and return `path`.

    Args:
        path: The file.
        lengths: Steps of each episode.
        change: Maps number and episode to the episode that is written.
        size: Side of the pictures [px].
        env_kwargs: Part of robomimic's `env_args`.
        header: Further fields of the header.
    """
    env_args = {"env_name": "R2S2R-BeltSort-XArm7Allegro", "type": 2, "env_kwargs": env_kwargs or {}}
    with DatasetWriter(path, DatasetHeader(env_args=env_args, provenance={"seed": 7}, **header)) as writer:
        for number, steps in enumerate(lengths):
            made = episode(number, steps, size)
            writer.add(change(number, made) if change else made)
    return path
