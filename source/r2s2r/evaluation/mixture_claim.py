"""Does a co-trained policy act like the real demonstrations where these cover its state, and like simulation elsewhere?

At each decision the chunk that was deployed is held against two others: what the real demonstrations and what the
simulation would do there. On the line from the simulated chunk s to the real chunk r, the deployed chunk d lies at
w = <d - s, r - s> / |r - s|^2: 1 is real, 0 simulated, and above 1/2 it is nearer to the real one. Over many decisions
the least-squares weight sum <d - s, r - s> / sum |r - s|^2 is the share of r in the best mixture of the two.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from r2s2r.contracts.action import ACTION_DIM
from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.balanced_scale import BalancedScale, Group
from r2s2r.evaluation.group_bootstrap import ROUNDS, Interval, group_sums, percentile_interval, ratio_intervals

ACTION_GROUPS = (
    Group("wrist position [m]", 3, 0.01),
    Group("wrist orientation [rot6d]", 6, 0.05),
    Group("hand joints [rad]", 16, 0.05),
)
"""What an action is made of, each group counting alike."""

EDGES = (0.0, 0.5, 0.75, 1.0, 1.5, 2.0, np.inf)
"""Bins of the distance from the real demonstrations, in thresholds: up to 1 a state is covered."""

MIN_APART = 0.05
"""Root mean square of r - s over a chunk, in the action scale, below which the two say the same and cannot be told
apart."""

CHUNK = 512
"""Queries whose distances are held in memory at once."""


def nearest_chunks(queries: np.ndarray, states: np.ndarray, chunks: np.ndarray) -> np.ndarray:
    """Return the chunks (Q, H, 25) that belong to the states (N, F) nearest to each query (Q, F)."""
    nearest = [cdist(queries[k : k + CHUNK], states).argmin(axis=1) for k in range(0, len(queries), CHUNK)]
    return chunks[np.concatenate(nearest)]


def action_scale(chunks: np.ndarray) -> BalancedScale:
    """Return the scale of actions, by the first actions of the real demonstrations' chunks (N, H, 25)."""
    return BalancedScale.fit(np.asarray(chunks)[:, 0], ACTION_GROUPS)


@dataclass(frozen=True)
class MixtureClaim:
    """How the deployed actions of one policy divide between real and simulated behavior."""

    edges: tuple[float, ...]
    """(B + 1,) of the distance from the real demonstrations, in thresholds."""
    nearer_real: list[Interval]
    """(B) share of the decisions whose chunk is nearer to the real one."""
    weight: list[Interval]
    """(B) least-squares weight of the real chunk."""
    decisions: np.ndarray
    """(B,) in each bin."""
    inside: Interval
    """Share nearer to the real chunk where covered."""
    outside: Interval
    """Likewise elsewhere."""
    difference: Interval
    """Inside minus outside: above 0 is what the claim says."""
    alike: int
    """Decisions left out because real and simulated chunk are the same there."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {
            "edges": [edge if np.isfinite(edge) else None for edge in self.edges],
            "nearer_real": [interval.to_dict() for interval in self.nearer_real],
            "weight": [interval.to_dict() for interval in self.weight],
            "decisions": self.decisions.tolist(),
            "inside": self.inside.to_dict(),
            "outside": self.outside.to_dict(),
            "difference": self.difference.to_dict(),
            "alike": self.alike,
        }


def mixture_claim(
    deployed: np.ndarray,
    real: np.ndarray,
    simulated: np.ndarray,
    ratio: np.ndarray,
    rollouts: np.ndarray,
    scale: BalancedScale,
    *,
    edges: tuple[float, ...] = EDGES,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> MixtureClaim:
    """Return how deployed chunks divide between real and simulated ones, over the distance from what is covered.

    Args:
        deployed: (N, H, 25) what the policy did.
        real: (N, H, 25) what the real demonstrations, or the policy trained on them alone, would do.
        simulated: (N, H, 25) what the simulation, or the policy trained on it alone, would do.
        ratio: (N,) distance of each state from the real demonstrations over the threshold of coverage.
        rollouts: (N,) rollout of each decision; they are drawn again for the intervals.
        scale: of actions.
        edges: of the bins of `ratio`.
        rounds: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ConfigError: the shapes differ.
    """
    deployed, real, simulated = (np.asarray(chunks, dtype=float) for chunks in (deployed, real, simulated))
    if not deployed.shape == real.shape == simulated.shape or deployed.ndim != 3 or deployed.shape[2] != ACTION_DIM:
        shapes = f"{deployed.shape}, {real.shape} and {simulated.shape}"
        raise ConfigError(f"mixture: chunks of shapes {shapes}, allowed are three of (N, H, {ACTION_DIM})")
    along = (real - simulated) / scale.scale
    length = np.square(along).sum(axis=(1, 2))
    dot = ((deployed - simulated) / scale.scale * along).sum(axis=(1, 2))
    apart = length > deployed.shape[1] * MIN_APART**2
    dot, length, ratio, rollouts = dot[apart], length[apart], np.asarray(ratio)[apart], np.asarray(rollouts)[apart]
    if not len(dot):
        return _nothing(edges, int((~apart).sum()))
    columns = np.clip(np.searchsorted(edges, ratio, side="left") - 1, 0, len(edges) - 2)
    side = (ratio > 1.0).astype(int)
    nearer = (2.0 * dot > length).astype(float)
    ones, bins = np.ones(len(dot)), len(edges) - 1
    binned = [group_sums(values, rollouts, columns, bins) for values in (nearer, ones, dot, length)]
    sides = [group_sums(values, rollouts, side, 2) for values in (nearer, ones)]
    inside, outside = ratio_intervals(*sides, rounds=rounds, seed=seed)
    return MixtureClaim(
        edges,
        ratio_intervals(*binned[:2], rounds=rounds, seed=seed),
        ratio_intervals(*binned[2:], rounds=rounds, seed=seed),
        binned[1].sum(axis=0).astype(int),
        inside,
        outside,
        _difference(*sides, rounds=rounds, seed=seed),
        int((~apart).sum()),
    )


def _difference(nearer: np.ndarray, total: np.ndarray, *, rounds: int, seed: int) -> Interval:
    """Return share inside minus share outside (G, 2), both of the same draws of rollouts."""
    groups = len(nearer)
    drawn = np.random.default_rng(seed).multinomial(groups, np.full(groups, 1.0 / groups), size=rounds)
    counts = np.concatenate([np.ones((1, groups)), drawn])
    above, below = counts @ nearer, counts @ total
    shares = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
    values = shares[:, 0] - shares[:, 1]
    return percentile_interval(values[0], values[1:])


def _nothing(edges: tuple[float, ...], alike: int) -> MixtureClaim:
    none = Interval(float("nan"), float("nan"), float("nan"))
    bins = len(edges) - 1
    return MixtureClaim(edges, [none] * bins, [none] * bins, np.zeros(bins, int), none, none, none, alike)
