"""Random numbers of a hidden world: every quantity has a stream of its own, so that a new one changes no other."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.transforms import pose, quat_exp, quat_multiply

_SALT = 0x72327332
"""Keeps the streams apart from those that other parts draw from the same small seeds."""


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator of the quantity `name` in the hidden world `seed`."""
    return np.random.default_rng(np.random.SeedSequence([_SALT, seed, *name.encode()]))


@dataclass(frozen=True)
class Streams:
    """The noise of one run of a cell: what is drawn depends on the cell, the run and the purpose."""

    seed: int
    """Seed of the hidden world."""
    run: str = ""
    """Which run: a trial's name, or nothing for the run that begins when the cell is built."""

    def __call__(self, name: str) -> np.random.Generator:
        """Return the generator of the quantity `name`."""
        return stream(self.seed, f"{self.run}.{name}" if self.run else name)


def direction(rng: np.random.Generator) -> np.ndarray:
    """Return a unit vector (3,), every direction equally likely."""
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def moved(
    rng: np.random.Generator, pos: tuple[float, ...], quat: tuple[float, ...], shift: float, turn: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return a pose near (`pos`, `quat`): each coordinate up to `shift` away [m], turned by up to `turn` [rad].

    Any axis of the turn is equally likely.
    """
    near = np.asarray(pos) + rng.uniform(-shift, shift, 3)
    turned = quat_multiply(np.asarray(quat), quat_exp(direction(rng) * rng.uniform(0.0, turn)))
    return tuple(near.tolist()), tuple(turned.tolist())


def matrix(pos: tuple[float, ...], quat: tuple[float, ...]) -> np.ndarray:
    """Return the pose (4, 4) of a position [m] and a quaternion xyzw."""
    return pose(np.asarray(pos), np.asarray(quat))
