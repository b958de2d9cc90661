"""How human-like the motion of a data set is: its distance from demonstrations that were held out.

Every motion becomes the numbers of :data:`r2s2r.behavior.motion_features.FEATURES`, found alike in demonstrations and
in episodes. Each number is scaled by its standard deviation over the held-out demonstrations, or by its resolution
where that is larger: where an operator always does the same, noise must not become the measure. The figure is the
energy distance of the scaled vectors.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.motion_features import FEATURES, Motion, as_record, measure_motion
from r2s2r.behavior.phases import PickRecord
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.rejection import Rejection
from r2s2r.contracts.world import CellPoses, World
from r2s2r.dataset.demonstrations import pick_record, recorded_picks
from r2s2r.dataset.reader import DatasetReader
from r2s2r.evaluation.energy_distance import EnergyDistance, energy_distance

type Motions = str | os.PathLike[str] | Iterable[Demonstration] | Iterable[Episode]
"""A data set, or what could be in one."""


@dataclass(frozen=True)
class MotionSample:
    """The motions of a data set or of demonstrations, N of them, F numbers each."""

    features: np.ndarray
    """(N, F) in the order and units of :data:`~r2s2r.behavior.motion_features.FEATURES`."""

    speeds: np.ndarray
    """(N, 2, P) speed of the wrist over the normalised time of approach and transport [m/s]."""

    sources: np.ndarray
    """(N,) demonstration that each adapts."""

    left_out: dict[str, str]
    """Motions that could not be measured, with rule, value and limit."""

    @staticmethod
    def measure(motions: Motions, poses: CellPoses | None = None) -> "MotionSample":
        """Return the sample of a data set (path), of episodes or of demonstrations.

        Raises:
            DatasetError: no motion could be measured; each is told with the rule that it breaks.
        """
        kept: list[Motion] = []
        left_out: dict[str, str] = {}
        for name, record in _records(motions, poses or World.nominal().poses):
            measured = record if isinstance(record, Rejection) else measure_motion(record)
            if isinstance(measured, Rejection):
                left_out[name] = str(measured)
            else:
                kept.append(measured)
        if not kept:
            told = "; ".join(f"{name}: {reason}" for name, reason in left_out.items()) or "there is none"
            raise DatasetError(f"human-likeness: 0 of {len(left_out)} motions could be measured ({told})")
        return MotionSample(
            features=np.stack([motion.features for motion in kept]),
            speeds=np.stack([motion.speeds for motion in kept]),
            sources=np.array([motion.source for motion in kept]),
            left_out=left_out,
        )

    def __len__(self) -> int:
        return len(self.features)

    @property
    def left_out_by_rule(self) -> dict[str, list[str]]:
        """Names of the motions that could not be measured, by the rule that they break."""
        by_rule: dict[str, list[str]] = {}
        for name, told in self.left_out.items():
            by_rule.setdefault(told.split(" ")[0], []).append(name)
        return dict(sorted(by_rule.items()))


@dataclass(frozen=True)
class HumanLikeness:
    """How far a data set's motion is from that of held-out demonstrations."""

    distance: EnergyDistance
    """Of the scaled vectors of all features: dimensionless, 0 for the same distribution."""

    by_feature: np.ndarray
    """(F,) energy distance of each feature alone, scaled likewise: what the whole is made of."""

    data: MotionSample
    held_out: MotionSample

    centre: np.ndarray
    """(F,) mean of the held-out demonstrations."""

    scale: np.ndarray
    """(F,) what counts as one."""

    def scaled(self, sample: MotionSample) -> np.ndarray:
        """Return the scaled features (N, F) of a sample."""
        return (sample.features - self.centre) / self.scale

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for a summary."""
        return {
            "energy_distance": self.distance.value,
            "interval": [self.distance.low, self.distance.high],
            "motions": len(self.data),
            "sources": len(set(self.data.sources)),
            "held_out": len(self.held_out),
            "left_out": {rule: len(names) for rule, names in self.data.left_out_by_rule.items()},
            "by_feature": {f.name: float(value) for f, value in zip(FEATURES, self.by_feature, strict=True)},
        }


def human_likeness(
    motions: Motions,
    held_out: Iterable[Demonstration] | Mapping[str, Iterable[Demonstration]] | MotionSample,
    *,
    poses: CellPoses | None = None,
    seed: int = 0,
    rounds: int = 2000,
) -> HumanLikeness:
    """Return how far motions are from those of held-out demonstrations.

    Args:
        motions: a data set (path), episodes or demonstrations.
        held_out: human demonstrations that none of the motions adapts, as a whole or by object class.
        poses: bins and belt where episodes do not tell them; None for the nominal cell.
        seed: of the bootstrap.
        rounds: of the bootstrap.

    Raises:
        DatasetError: no motion could be measured.
        ConfigError: motions or held-out demonstrations have fewer than two sources.
    """
    data = MotionSample.measure(motions, poses)
    reference = held_out if isinstance(held_out, MotionSample) else MotionSample.measure(_flat(held_out))
    centre = reference.features.mean(axis=0)
    scale = np.maximum(reference.features.std(axis=0, ddof=1), [feature.resolution for feature in FEATURES])
    first, second = ((sample.features - centre) / scale for sample in (data, reference))
    by_feature = [
        energy_distance(first[:, k : k + 1], second[:, k : k + 1], data.sources, reference.sources, rounds=1).value
        for k in range(len(FEATURES))
    ]
    distance = energy_distance(first, second, data.sources, reference.sources, rounds=rounds, seed=seed)
    return HumanLikeness(distance, np.array(by_feature), data, reference, centre, scale)


def _flat(group: Iterable[Demonstration] | Mapping[str, Iterable[Demonstration]]) -> Iterator[Demonstration]:
    if isinstance(group, Mapping):
        for demos in group.values():
            yield from demos
    else:
        yield from group


def _records(motions: Motions, poses: CellPoses) -> Iterator[tuple[str, PickRecord | Rejection]]:
    if isinstance(motions, str | os.PathLike):
        with DatasetReader(Path(motions), pictures=False) as reader:
            yield from ((name, record) for _, record, name in recorded_picks(reader, poses))
        return
    for index, motion in enumerate(motions):
        if isinstance(motion, Demonstration):
            yield motion.name, as_record(motion)
        else:
            name = f"episode {index}"
            yield name, pick_record(motion, name, POLICY_RATE_HZ, poses)[1]
