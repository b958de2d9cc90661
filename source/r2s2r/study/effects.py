"""What grounding is worth: differences of success rates, averaged over the other axis, with paired intervals."""

from collections.abc import Mapping

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.group_bootstrap import Interval, percentile_interval
from r2s2r.study.outcomes import Outcomes

ROUNDS = 4000
"""Of the bootstrap."""

CONTRASTS: Mapping[str, Mapping[str, float]] = {
    "world grounding, averaged over behaviors": {
        "fully_grounded": 0.5,
        "world_grounded": 0.5,
        "behavior_grounded": -0.5,
        "ungrounded": -0.5,
    },
    "behavior grounding, averaged over worlds": {
        "fully_grounded": 0.5,
        "world_grounded": -0.5,
        "behavior_grounded": 0.5,
        "ungrounded": -0.5,
    },
    "behavior grounding where the world is ungrounded": {"behavior_grounded": 1.0, "ungrounded": -1.0},
    "behavior grounding where the world is grounded": {"fully_grounded": 1.0, "world_grounded": -1.0},
    "interaction": {"fully_grounded": 1.0, "world_grounded": -1.0, "behavior_grounded": -1.0, "ungrounded": 1.0},
}
"""Weights of the policies' success rates in each effect of the 2 x 2 of data sets. The interaction is how much more
behavior grounding is worth in a grounded world than in an ungrounded one."""


def contrasts(policies: tuple[str, ...], real_only: str) -> dict[str, dict[str, float]]:
    """Return the weights of a study's effects: those of the 2 x 2 whose policies are all there, and each co-trained
    policy against the real-only one."""
    squares = {name: dict(weights) for name, weights in CONTRASTS.items() if set(weights) <= set(policies)}
    over_real = {f"{name} over {real_only}": {name: 1.0, real_only: -1.0} for name in policies if name != real_only}
    return squares | over_real


def effects(
    outcomes: Outcomes, weights: Mapping[str, Mapping[str, float]], *, rounds: int = ROUNDS, seed: int = 0
) -> dict[str, Interval]:
    """Return each effect with the 95 % interval of a paired bootstrap.

    Starts are drawn again within their cell and condition, with all policies' outcomes from them; where there are
    several cells, cells are drawn again first. With one cell the interval says nothing about other cells.

    Args:
        outcomes: of all policies from the same starts.
        weights: of the policies' success rates in each effect.
        rounds: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ConfigError: an effect names a policy that was not tried.
    """
    matrix = np.zeros((len(outcomes.policies), len(weights)))
    for column, (name, parts) in enumerate(weights.items()):
        unknown = sorted(set(parts) - set(outcomes.policies))
        if unknown:
            raise ConfigError(f"effect {name!r}: {', '.join(unknown)} not tried; there are {outcomes.policies}")
        for policy, weight in parts.items():
            matrix[outcomes.policies.index(policy), column] = weight
    worth = outcomes.success.astype(float) @ matrix
    draws = _draws(outcomes, worth, rounds, np.random.default_rng(seed))
    return {
        name: percentile_interval(float(worth[:, column].mean()), draws[:, column])
        for column, name in enumerate(weights)
    }


def _draws(outcomes: Outcomes, worth: np.ndarray, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Return the mean worth (rounds, E) of samples of starts drawn again."""
    cells, conditions = np.array(outcomes.cells), np.array(outcomes.conditions)
    names = np.unique(cells)
    strata = {
        cell: [np.flatnonzero((cells == cell) & (conditions == each)) for each in np.unique(conditions[cells == cell])]
        for cell in names.tolist()
    }
    total = np.zeros((rounds, worth.shape[1]))
    for k in range(rounds):
        drawn = rng.choice(names, size=len(names)) if len(names) > 1 else names
        rows = np.concatenate([part[rng.integers(len(part), size=len(part))] for c in drawn for part in strata[int(c)]])
        total[k] = worth[rows].mean(axis=0)
    return total
