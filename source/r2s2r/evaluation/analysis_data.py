"""What an analysis looks at: states, pictures and action chunks of data sets and of rollouts, in one form."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from r2s2r.contracts.cell import PICTURE_DELAY_S
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.policy import Observation
from r2s2r.dataset.reader import DatasetReader
from r2s2r.evaluation.rollout import Rollout, read_rollout

STATE_STRIDE = 2
"""Steps between two states that are taken from a data set: 15 a second."""

PICTURE_STRIDE = 16
"""Steps between two pictures that are taken: some 1,300 of 100 demonstrations, whose latents take 1.5 s on one core."""


@dataclass(frozen=True)
class Domain:
    """N states of one data set, or of one policy's rollouts at its decisions; P of them with pictures."""

    name: str
    episode: np.ndarray
    """(N,) int number of the episode or rollout that each state is of."""
    source: np.ndarray
    """(N,) demonstration that the episode adapts, or the episode itself: rows of one source depend on each other."""
    time_s: np.ndarray
    """(N,) since the episode began [s]."""
    joint_pos: np.ndarray
    """(N, 23) [rad]."""
    target_pos_b: np.ndarray | None
    """(N, 3) of the object to sort [m]; None where it was not recorded."""
    chunks: np.ndarray
    """(N, H, 25) actions from there on; of a data set the recorded ones, the last repeated beyond its end."""
    pictured: np.ndarray
    """(P,) rows that have pictures."""
    head_rgb: np.ndarray
    """(P, S, S, 3) uint8."""
    wrist_rgb: np.ndarray
    """(P, S, S, 3) uint8."""

    def __len__(self) -> int:
        return len(self.episode)

    @property
    def picture_size(self) -> int:
        """Width and height of the pictures [px]."""
        return self.head_rgb.shape[1]

    def observations(self, rows: np.ndarray | None = None) -> list[Observation]:
        """Return what a policy would see in the pictured rows numbered `rows`; None: in all of them."""
        chosen = np.arange(len(self.pictured)) if rows is None else np.asarray(rows)
        return [
            Observation(
                time_s=float(self.time_s[self.pictured[k]]),
                joint_pos=self.joint_pos[self.pictured[k]],
                head_rgb=self.head_rgb[k],
                wrist_rgb=self.wrist_rgb[k],
            )
            for k in chosen
        ]


def read_rollouts(folder: Path) -> list[Rollout]:
    """Return all rollouts below the folder of an evaluation, in the order of policy, condition and number.

    Raises:
        DatasetError: there is none, one is damaged or without a decision, or pictures or chunks differ in size.
    """
    rollouts = [read_rollout(path) for path in sorted(folder.rglob("*.npz"))]
    if not rollouts:
        raise DatasetError(f"{folder}: no rollouts (*.npz); run `r2s2r evaluate` into it first")
    for what in ("head_rgb", "wrist_rgb", "chunks"):
        shapes = {getattr(rollout, what).shape[1:] for rollout in rollouts}
        if len(shapes) > 1:
            raise DatasetError(f"{folder}: {what} of the rollouts has shapes {sorted(shapes)}, allowed is one")
    for rollout in rollouts:
        if not len(rollout.decision_step):
            raise DatasetError(f"{folder}: a rollout of {rollout.meta['policy']} has no decision, at least 1 is needed")
    return sorted(rollouts, key=lambda r: (r.meta["policy"], r.meta["condition"], r.meta["number"]))


def rollout_domain(rollouts: Sequence[Rollout], name: str) -> Domain:
    """Return the decisions of rollouts as one domain; the episode is the rollout's place in `rollouts`."""
    episode = np.repeat(np.arange(len(rollouts)), [len(r.decision_step) for r in rollouts])
    return Domain(
        name=name,
        episode=episode,
        source=np.array([f"rollout_{number}" for number in episode]),
        time_s=np.concatenate([r.time_s[r.decision_step] - r.time_s[0] for r in rollouts]),
        joint_pos=np.concatenate([r.decision_joint_pos for r in rollouts]),
        target_pos_b=np.concatenate([_target_as_seen(r) for r in rollouts]),
        chunks=np.concatenate([r.chunks for r in rollouts]),
        pictured=np.arange(len(episode)),
        head_rgb=np.concatenate([r.head_rgb for r in rollouts]),
        wrist_rgb=np.concatenate([r.wrist_rgb for r in rollouts]),
    )


def _target_as_seen(rollout: Rollout) -> np.ndarray:
    """Return where the target was (K, 3) [m] when the pictures of each decision were exposed."""
    seen_s = rollout.time_s[rollout.decision_step] - PICTURE_DELAY_S
    return np.stack([np.interp(seen_s, rollout.time_s, axis) for axis in rollout.target_pose_b[:, :3].T], axis=1)


@dataclass(frozen=True)
class DataSet:
    """Episodes drawn from a data set."""

    domain: Domain
    actions: list[np.ndarray]
    """(T, 25) of each drawn episode."""


def read_set(path: Path, name: str, *, chunk: int, episodes: int, seed: int) -> DataSet:
    """Return states and pictures of episodes of a data set, at most `episodes` drawn by `seed`.

    Args:
        path: the data set.
        name: what it is called.
        chunk: actions in a chunk.
        episodes: the most that are read.
        seed: of the draw.

    Raises:
        DatasetError: it is missing, damaged, has fewer than two episodes or no pictures.
    """
    rng = np.random.default_rng(seed)
    with DatasetReader(path) as reader:
        numbers = np.asarray(reader.numbers)
        if len(numbers) < 2:
            raise DatasetError(f"{path}: {len(numbers)} episodes, an analysis needs 2 and more")
        chosen = np.sort(rng.choice(numbers, min(episodes, len(numbers)), replace=False))
        parts, actions = [], []
        for number in chosen.tolist():
            episode = reader[number]
            parts.append(_episode_domain(episode, name, number, reader.header.rate_hz, chunk, path))
            actions.append(episode.actions)
    return DataSet(_joined(parts, path), actions)


def _episode_domain(episode: Episode, name: str, number: int, rate_hz: float, chunk: int, path: Path) -> Domain:
    for key in ("head_rgb", "wrist_rgb"):
        if key not in episode.obs:
            raise DatasetError(f"{path}: demo_{number} has no {key}; there are {', '.join(sorted(episode.obs))}")
    steps = np.arange(0, len(episode), STATE_STRIDE)
    pictured = np.flatnonzero(steps % PICTURE_STRIDE == 0)
    ahead = np.minimum(steps[:, None] + np.arange(chunk), len(episode) - 1)
    return Domain(
        name=name,
        episode=np.full(len(steps), number),
        source=np.full(len(steps), episode.source_demo or f"demo_{number}", dtype=object),
        time_s=steps / rate_hz,
        joint_pos=episode.obs["joint_pos"][steps],
        target_pos_b=_target_pos(episode, steps),
        chunks=episode.actions[ahead],
        pictured=pictured,
        head_rgb=episode.obs["head_rgb"][steps[pictured]],
        wrist_rgb=episode.obs["wrist_rgb"][steps[pictured]],
    )


def _target_pos(episode: Episode, steps: np.ndarray) -> np.ndarray | None:
    names = [f"{episode.attributes.get('object_class')}_pos_b.{axis}" for axis in "xyz"]
    if not set(names) <= set(episode.state_names):
        return None
    return episode.states[steps][:, [episode.state_names.index(name) for name in names]]


def _joined(parts: list[Domain], path: Path) -> Domain:
    sizes = {part.head_rgb.shape[1:] for part in parts} | {part.wrist_rgb.shape[1:] for part in parts}
    if len(sizes) > 1:
        raise DatasetError(f"{path}: pictures of sizes {sorted(sizes)}, allowed is one")
    offsets = np.cumsum([0, *(len(part) for part in parts[:-1])])
    targets = [part.target_pos_b for part in parts if part.target_pos_b is not None]
    arrays = ("episode", "source", "time_s", "joint_pos", "chunks", "head_rgb", "wrist_rgb")
    return Domain(
        name=parts[0].name,
        target_pos_b=np.concatenate(targets) if len(targets) == len(parts) else None,
        pictured=np.concatenate([part.pictured + offset for part, offset in zip(parts, offsets, strict=True)]),
        **{key: np.concatenate([getattr(part, key) for part in parts]) for key in arrays},
    )


def check_same_pictures(domains: Sequence[Domain]) -> None:
    """Refuse domains whose pictures differ in size: they cannot be compared.

    Raises:
        ConfigError: with name and size of the first that differs.
    """
    first = domains[0]
    for other in domains[1:]:
        if other.picture_size != first.picture_size:
            raise ConfigError(
                f"{other.name}: pictures of {other.picture_size} px, those of {first.name} have {first.picture_size}; "
                "an analysis compares pictures of one size"
            )
