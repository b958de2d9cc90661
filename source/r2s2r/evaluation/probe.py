"""Can simulated observations be told from real ones by a straight line through the latents of a policy?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.group_bootstrap import Interval, percentile_interval, redrawn

RIDGE = 1e-2
"""Weight of half the squared slope beside the mean log loss of standardised latents: with it a separable sample has a
solution too."""

FOLDS = 5
"""Of the cross-validation."""

CHANCE = 0.5
"""Of both figures: accuracy is the mean over the two classes, whatever their sizes."""

_STEPS = 50
_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Probe:
    """What a linear probe finds in latents of episodes that it was not fitted to; chance is 0.5."""

    accuracy: Interval
    """Mean of the two classes' accuracies."""
    auc: Interval
    """Area under the receiver's curve: how often a simulated row scores higher than a real one."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return {"accuracy": self.accuracy.to_dict(), "auc": self.auc.to_dict(), "chance": CHANCE}


def probe(
    real: np.ndarray,
    simulated: np.ndarray,
    real_episodes: np.ndarray,
    simulated_episodes: np.ndarray,
    *,
    folds: int = FOLDS,
    rounds: int = 300,
    seed: int = 0,
) -> Probe:
    """Return how well a ridge logistic regression tells simulated latents from real ones.

    Whole episodes are left out of the fit (their rows are nearly copies of each other), on both sides together where a
    name is on both, and drawn again for the intervals, which therefore tell of the choice of episodes and not of the
    fit.

    Args:
        real: (N, D).
        simulated: (M, D).
        real_episodes: (N,) episode of each row.
        simulated_episodes: (M,) likewise, or the demonstration that several episodes adapt.
        folds: of the cross-validation.
        rounds: of the bootstrap.
        seed: of folds and bootstrap.

    Raises:
        ConfigError: a class has fewer than two episodes, a width differs or a number is not finite.
    """
    latents = [np.asarray(rows, dtype=float) for rows in (real, simulated)]
    if any(rows.ndim != 2 for rows in latents) or latents[0].shape[1] != latents[1].shape[1]:
        raise ConfigError(f"probe: latents of shapes {latents[0].shape} and {latents[1].shape}, allowed are (N, D)")
    x, y = np.concatenate(latents), np.repeat([0.0, 1.0], [len(rows) for rows in latents])
    if not np.isfinite(x).all():
        raise ConfigError("probe: a latent is not finite")
    rng = np.random.default_rng(seed)
    fold = np.concatenate(
        _folds(np.asarray(real_episodes).astype(str), np.asarray(simulated_episodes).astype(str), folds, rng)
    )
    score = np.empty(len(x))
    for k in range(int(fold.max()) + 1):
        held_out = fold == k
        if held_out.any():
            score[held_out] = _fitted_score(x[~held_out], y[~held_out], x[held_out])
    split = len(latents[0])
    draws = [
        (_accuracy(score[:split][a], score[split:][b]), area_under_curve(score[:split][a], score[split:][b]))
        for a, b in zip(redrawn(real_episodes, rounds, rng), redrawn(simulated_episodes, rounds, rng), strict=True)
    ]
    accuracies, areas = np.array(draws).T
    return Probe(
        percentile_interval(_accuracy(score[:split], score[split:]), accuracies),
        percentile_interval(area_under_curve(score[:split], score[split:]), areas),
    )


def area_under_curve(negative: np.ndarray, positive: np.ndarray) -> float:
    """Return the share of pairs in which the positive scores higher; ties count half."""
    ranks = rankdata(np.concatenate([negative, positive]))[len(negative) :]
    return float((ranks.sum() - len(positive) * (len(positive) + 1) / 2) / (len(negative) * len(positive)))


def logistic_regression(x: np.ndarray, y: np.ndarray, weight: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """Return slopes and, last, the offset (D + 1,) of a ridge logistic regression by Newton's method.

    Minimises sum_i weight_i log loss_i + ridge / 2 |slopes|^2; the offset is free.

    Args:
        x: (N, D).
        y: (N,) 0 or 1.
        weight: (N,) of each row, in all 1.
        ridge: above 0.
    """
    design = np.column_stack([x, np.ones(len(x))])
    penalty = np.append(np.full(x.shape[1], ridge), 0.0)
    beta = np.zeros(design.shape[1])
    loss = _loss(design, y, weight, penalty, beta)
    for _ in range(_STEPS):
        p = expit(design @ beta)
        gradient = design.T @ (weight * (p - y)) + penalty * beta
        if np.abs(gradient).max() < _TOLERANCE:
            break
        curvature = design.T @ ((weight * np.maximum(p * (1 - p), 1e-12))[:, None] * design) + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        length = 1.0
        while (tried := _loss(design, y, weight, penalty, beta - length * step)) > loss and length > 1e-6:
            length /= 2
        beta, loss = beta - length * step, tried
    return beta


def _loss(design: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: np.ndarray, beta: np.ndarray) -> float:
    margin = design @ beta
    return float(weight @ (np.logaddexp(0.0, margin) - y * margin) + 0.5 * penalty @ beta**2)


def _fitted_score(x: np.ndarray, y: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """Return the scores of `held_out` of a fit to x, y; both classes weigh alike, latents are standardised by x."""
    centre, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread < 1e-9] = 1.0  # a constant latent says nothing, and stays 0
    weight = np.where(y == 1, 0.5 / max(y.sum(), 1.0), 0.5 / max((1 - y).sum(), 1.0))
    beta = logistic_regression((x - centre) / spread, y, weight)
    return (held_out - centre) / spread @ beta[:-1] + beta[-1]


def _folds(
    first: np.ndarray, second: np.ndarray, folds: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fold of each row of both classes; an episode is in one fold, and no fold holds a whole class."""
    names = set(first.tolist()), set(second.tolist())
    if min(map(len, names)) < 2:
        raise ConfigError(f"probe: {len(names[0])} and {len(names[1])} episodes, at least 2 of each class are needed")
    shared = rng.permutation(sorted(names[0] & names[1])).tolist()
    fold_of = {}
    for own in names:
        dealt = [*shared, *rng.permutation(sorted(own - set(shared))).tolist()]
        fold_of |= {name: k % folds for k, name in enumerate(dealt)}
    return np.array([fold_of[name] for name in first]), np.array([fold_of[name] for name in second])


def _accuracy(negative: np.ndarray, positive: np.ndarray) -> float:
    return float(0.5 * ((negative <= 0).mean() + (positive > 0).mean()))
