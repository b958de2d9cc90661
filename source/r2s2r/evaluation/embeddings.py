"""Where observations of the real cell, of simulators and of rollouts lie: embeddings, their plane, their distances."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.energy_distance import energy_distance
from r2s2r.evaluation.group_bootstrap import Interval, percentile_interval, redrawn

THUMBNAIL = 8
"""Width and height that pictures are averaged down to: 8 x 8 x 3 of two cameras are 384 numbers."""

COMPONENTS = 16
"""Principal components in which distances are taken: a covariance of that size is known from a few hundred rows."""


def thumbnails(head_rgb: np.ndarray, wrist_rgb: np.ndarray, size: int = THUMBNAIL) -> np.ndarray:
    """Return the embedding that no policy had a hand in: both pictures as thumbnails, 0..1 (N, 2 x size x size x 3).

    It sees colour, light and where things are, at 1/8 of a 64-pixel picture's resolution, and nothing of texture or
    noise. A network with random weights would be as blind to what matters and harder to read, a pretrained one has to
    be downloaded. Joints are left out: they have another unit, and coverage looks at them.

    Args:
        head_rgb: (N, S, S, 3) uint8.
        wrist_rgb: likewise.
        size: of a thumbnail; S must be a multiple.

    Raises:
        ConfigError: S is no multiple of `size`.
    """
    return np.concatenate([_averaged(pictures, size) for pictures in (head_rgb, wrist_rgb)], axis=1)


def _averaged(pictures: np.ndarray, size: int) -> np.ndarray:
    count, height, width, channels = pictures.shape
    if height % size or width % size:
        raise ConfigError(f"thumbnails: pictures of {width} x {height} px, allowed are multiples of {size}")
    blocks = pictures.reshape(count, size, height // size, size, width // size, channels)
    return blocks.mean(axis=(2, 4), dtype=np.float32).reshape(count, -1) / 255.0


@dataclass(frozen=True)
class Projection:
    """Principal components of a sample."""

    mean: np.ndarray
    """(D,)"""
    axes: np.ndarray
    """(C, D) orthonormal, largest variance first; of each the largest entry is positive."""
    explained: np.ndarray
    """(C,) share of the variance along each."""

    @staticmethod
    def fit(embeddings: np.ndarray, components: int = COMPONENTS) -> "Projection":
        """Return the first principal components of (N, D); fewer if the sample has not so many.

        Raises:
            ConfigError: there are fewer than two rows or a number is not finite.
        """
        embeddings = np.asarray(embeddings, dtype=float)
        if embeddings.ndim != 2 or len(embeddings) < 2 or not np.isfinite(embeddings).all():
            raise ConfigError(f"projection: received {embeddings.shape}, allowed are 2 finite rows and more")
        mean = embeddings.mean(axis=0)
        _, singular, axes = np.linalg.svd(embeddings - mean, full_matrices=False)
        axes = axes[:components]
        signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
        explained = singular**2 / max(float((singular**2).sum()), np.finfo(float).tiny)
        return Projection(mean, axes * signs[:, None], explained[:components])

    def __call__(self, embeddings: np.ndarray) -> np.ndarray:
        """Return the coordinates (N, C) of embeddings (N, D)."""
        return (np.asarray(embeddings, dtype=float) - self.mean) @ self.axes.T


def frechet_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Return |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)) of two samples (N, C), (M, C), as of two normal distributions.

    It is above 0 for two samples of one distribution, the more the smaller they are: compare with real against real.
    D. Dowson and B. Landau, J. Multivar. Anal. 12, 1982.
    """
    shift = first.mean(axis=0) - second.mean(axis=0)
    one, other = (np.atleast_2d(np.cov(sample, rowvar=False)) for sample in (first, second))
    spread, axes = np.linalg.eigh(one)
    root = axes * np.sqrt(np.maximum(spread, 0.0)) @ axes.T
    # S1 S2 has the eigenvalues of S1^(1/2) S2 S1^(1/2), which is symmetric; rounding may put some below 0.
    shared = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ other @ root), 0.0)).sum()
    return float(max(shift @ shift + np.trace(one) + np.trace(other) - 2.0 * shared, 0.0))


@dataclass(frozen=True)
class DomainDistance:
    """How far a domain is from the real one in an embedding, with intervals over episodes."""

    energy: Interval
    frechet: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {"energy": self.energy.to_dict(), "frechet": self.frechet.to_dict()}


def domain_distance(
    first: np.ndarray,
    second: np.ndarray,
    first_sources: np.ndarray,
    second_sources: np.ndarray,
    *,
    rounds: int = 200,
    seed: int = 0,
) -> DomainDistance:
    """Return the distances of two domains' embeddings (N, C), (M, C), whole sources drawn again for the intervals.

    Args:
        first: (N, C).
        second: (M, C).
        first_sources: (N,) demonstration or rollout of each row.
        second_sources: (M,) likewise.
        rounds: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ConfigError: a domain has fewer than two sources, or a number is not finite.
    """
    energy = energy_distance(
        first, second, first_sources.astype(str), second_sources.astype(str), rounds=rounds, seed=seed
    )
    rng = np.random.default_rng(seed)
    draws = [
        frechet_distance(first[a], second[b])
        for a, b in zip(redrawn(first_sources, rounds, rng), redrawn(second_sources, rounds, rng), strict=True)
    ]
    value = frechet_distance(first, second)
    # Samples drawn again hold fewer sources and are further apart: only the spread of the draws is taken.
    spread = percentile_interval(value, value + np.array(draws) - np.mean(draws))
    return DomainDistance(
        Interval(energy.value, energy.low, energy.high), Interval(value, max(spread.low, 0.0), spread.high)
    )


def halves(sources: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (N,) bool of two halves of a domain, whole sources on one side: what no distance looks like."""
    names, group = np.unique(sources.astype(str), return_inverse=True)
    first = (np.random.default_rng(seed).permutation(len(names)) < len(names) // 2)[group]
    return first, ~first
