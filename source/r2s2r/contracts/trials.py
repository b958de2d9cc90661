"""What is placed on the belt: the same draw for everyone who is tried, whether a teleoperator or a policy."""

import hashlib
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.conditions import condition
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.objects import OBJECT_FRICTION, OBJECT_MASS, ObjectShape, known_shapes, novel_shapes
from r2s2r.contracts.world import OBJECT_CLASSES

TARGET_X = (0.47, 0.57)
"""Range of the target's place across the belt, in the base of the planned cell [m]: what the grasp was tuned under."""

TARGET_Y = (-0.45, -0.35)
"""Range of the target's place along the belt [m]: upstream of the arm's reach."""

FOLLOWER_GAP = (0.24, 0.34)
"""How far the other object rides behind the target [m]: more than the hand is wide."""

YAW = (-0.3, 0.3)
"""Range of each object's turn about the vertical [rad]."""

TRIAL_S = 12.0
"""Time for one attempt [s]: the target needs about 3 s to come, 4 s to be sorted."""

SPLIT = {"nominal": 24, "red_light": 8, "fast_belt": 8, "novel_object": 9, "combined": 1}
"""Trials of a policy under each condition: the paper's Table 2, 50 in all."""

_NOVEL = ("novel_object", "novel_object_1", "novel_object_2")


@dataclass(frozen=True)
class BeltObject:
    """One object at the beginning of a trial."""

    object_class: str
    """One of OBJECT_CLASSES."""
    shape: ObjectShape
    """What it is."""
    x: float
    """Across the belt, in the base of the cell as planned [m]."""
    y: float
    """Along the belt, likewise [m]."""
    yaw: float
    """Turn about the vertical [rad]."""
    mass: float
    """[kg]"""
    friction: float
    """Sliding friction."""
    paint: tuple[float, float, float]
    """Position of its colour in the palette of whoever paints it, three numbers 0 to 1."""


@dataclass(frozen=True)
class Trial:
    """One attempt: seed, number and condition fix all that is drawn, whoever is tried.

    Raises:
        ConfigError: the condition is unknown, the number or the seed is negative.
    """

    condition: str
    """One of `contracts.conditions.CONDITIONS`; `novel_object` takes the three pairs of shapes in turn."""
    number: int
    """Number of the trial under its condition, from 0. Even and odd numbers have targets of different classes."""
    seed: int
    """Seed of the draw."""

    def __post_init__(self):
        condition(self.condition)
        for name in ("number", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"trial: {name} is {getattr(self, name)}, allowed are 0 and more")

    def __str__(self) -> str:
        return f"{self.condition}_{self.number:03d}"

    @property
    def belt_speed(self) -> float:
        """Speed that is sent to the belt [m/s]."""
        low, high = condition(self.condition).belt_speed
        return float(self.stream("belt").uniform(low, high))

    @property
    def light_rgb(self) -> tuple[float, float, float]:
        """Colour of the lamps, linear RGB."""
        chosen = condition(self.condition)
        kept = 1.0 - chosen.light_dimming * self.stream("light").uniform(0.0, 1.0, 3)
        return tuple((np.array(chosen.light_rgb) * kept).tolist())

    @property
    def target_class(self) -> str:
        """Class of the object that comes first and has to be sorted."""
        return OBJECT_CLASSES[self.number % len(OBJECT_CLASSES)]

    def objects(self) -> tuple[BeltObject, BeltObject]:
        """Return the target, and the other object that rides behind it."""
        other = next(name for name in OBJECT_CLASSES if name != self.target_class)
        rng = self.stream("layout")
        x, y = rng.uniform(*TARGET_X), rng.uniform(*TARGET_Y)
        follower = rng.uniform(*TARGET_X), y - rng.uniform(*FOLLOWER_GAP)
        return self._object(self.target_class, x, y), self._object(other, *follower)

    def stream(self, purpose: str) -> np.random.Generator:
        """Return random numbers for one purpose, which do not depend on how many others are drawn."""
        text = f"{self.seed}/{self.condition}/{self.number}/{purpose}"
        return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little"))

    def _object(self, object_class: str, x: float, y: float) -> BeltObject:
        rng = self.stream(f"object.{object_class}")
        shapes = self._shapes()[OBJECT_CLASSES.index(object_class)]
        return BeltObject(
            object_class=object_class,
            shape=shapes[int(rng.integers(len(shapes)))],
            x=float(x),
            y=float(y),
            yaw=float(rng.uniform(*YAW)),
            mass=float(rng.uniform(*OBJECT_MASS)),
            friction=float(rng.uniform(*OBJECT_FRICTION)),
            paint=tuple(rng.uniform(0.0, 1.0, 3).tolist()),
        )

    def _shapes(self) -> tuple[tuple[ObjectShape, ...], tuple[ObjectShape, ...]]:
        chosen = condition(self.condition)
        if self.condition in ("novel_object", "combined"):
            chosen = condition(_NOVEL[self.number % len(_NOVEL)])
        return known_shapes() if chosen.novel_objects is None else novel_shapes(chosen.novel_objects)


def split_trials(seed: int, trials: dict[str, int] | None = None) -> list[Trial]:
    """Return the trials of one policy, condition after condition.

    Args:
        seed: of the draw; the same for all policies that are compared.
        trials: how many under each condition; None for SPLIT.
    """
    return [Trial(name, number, seed) for name, count in (trials or SPLIT).items() for number in range(count)]
