"""95 % intervals of least-squares fits whose errors are alike within a group: a picture, a stretch of time.

Corners of one picture share motion blur, focus and light; readings of one second share friction. Counting them as
independent gives intervals that are far too narrow. The covariance here sums each group's gradient before it squares it
("sandwich"), with the correction of Bell and McCaffrey (Survey Methodology 2002) for what a fit takes out of its own
residuals, and Student's t with their degrees of freedom.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import t as student_t

from r2s2r.contracts.errors import ConfigError

UNDETERMINED = 0.9
"""A value whose half width stays above this fraction of its prior's is determined by the prior alone."""

_LEAST_LEVERAGE_LEFT = 0.02
"""Smallest 1 - leverage that is corrected for; below it (a parameter of one group alone) no residual is left."""

_SINGULAR = 1e-12
"""Relative eigenvalue below which a direction counts as not seen at all."""


@dataclass(frozen=True)
class Covariance:
    """How well P parameters are known."""

    matrix: np.ndarray
    """(P, P) covariance; infinite on the diagonal where nothing determines a parameter."""
    quantile: np.ndarray
    """(P,) half width of the 95 % interval in standard deviations, from Student's t."""
    prior_sd: np.ndarray
    """(P,) standard deviation that the prior alone gives; infinite without one."""

    @property
    def half_width(self) -> np.ndarray:
        """Half of the 95 % interval (P,)."""
        return self.quantile * np.sqrt(np.diagonal(self.matrix))

    @property
    def determined(self) -> np.ndarray:
        """(P,) bool: finite, and narrower than :data:`UNDETERMINED` of what the prior alone gives."""
        sd = np.sqrt(np.diagonal(self.matrix))
        return np.isfinite(sd) & (sd < UNDETERMINED * self.prior_sd)

    def of(self, directions: np.ndarray) -> np.ndarray:
        """Return half widths (K,) of K linear combinations `directions` (K, P) of the parameters."""
        directions = np.atleast_2d(np.asarray(directions, dtype=float))
        used = np.abs(directions) > 0.0
        known = np.isfinite(np.diagonal(self.matrix))
        finite = np.where(known[:, None] & known, self.matrix, 0.0)
        variance = np.einsum("ki,ij,kj->k", directions, finite, directions)
        # The fewest degrees of freedom among the parameters that enter: on the safe side.
        quantile = np.max(np.where(used, self.quantile, 0.0), axis=1)
        return np.where((used & ~known).any(axis=1), np.inf, quantile * np.sqrt(np.maximum(variance, 0.0)))


def sandwich(
    jacobian: np.ndarray, residuals: np.ndarray, groups: np.ndarray, prior_rows: np.ndarray | None = None
) -> Covariance:
    """Return the covariance of the parameters that minimise |residuals|^2 + |prior rows|^2.

    Args:
        jacobian: (M, P) derivative of the residuals at the optimum. With robust weights w, both jacobian and residuals
            come multiplied by sqrt(w).
        residuals: (M,) at the optimum, divided by their standard deviation (so that they weigh rightly against priors).
        groups: (M,) one label for each residual; errors may be correlated within a label, not between labels.
        prior_rows: (R, P) derivative of the prior's residuals, divided by their standard deviations.

    Raises:
        ConfigError: shapes do not fit, a number is not finite, or there are fewer than two groups.
    """
    jacobian, residuals, groups = (
        np.asarray(jacobian, dtype=float),
        np.asarray(residuals, dtype=float),
        np.asarray(groups),
    )
    rows = np.zeros((0, jacobian.shape[-1])) if prior_rows is None else np.asarray(prior_rows, dtype=float)
    _check(jacobian, residuals, groups, rows)
    size = _sizes(jacobian, rows)
    jacobian, rows = jacobian / size, rows / size
    prior = rows.T @ rows
    bread, seen = _inverse(jacobian.T @ jacobian + prior)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.r_[True, groups[order][1:] != groups[order][:-1]])
    blocks = [_Block(jacobian[rows_], residuals[rows_], bread) for rows_ in np.split(order, starts[1:])]
    gradients = np.stack([block.gradient for block in blocks])
    from_data = bread @ (gradients.T @ gradients) @ bread
    from_prior = bread @ prior @ bread
    matrix = from_data + from_prior
    quantile = _quantiles(blocks, bread, np.diagonal(from_data), np.diagonal(from_prior))
    matrix = matrix / np.outer(size, size)
    unseen = np.flatnonzero(~seen)
    matrix[unseen, unseen] = np.inf
    return Covariance(matrix, quantile, _prior_sd(prior) / size)


class _Block:
    """One group: its gradient from corrected residuals, and what the degrees of freedom need."""

    def __init__(self, jacobian: np.ndarray, residuals: np.ndarray, bread: np.ndarray):
        # I - leverage has at most P eigenvalues other than one: work in the row space of the group's jacobian.
        u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
        inner = (s[:, None] * vt) @ bread @ (vt.T * s)
        values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
        left = 1.0 - values
        power = np.where(left > _LEAST_LEVERAGE_LEFT, np.maximum(left, _LEAST_LEVERAGE_LEFT) ** -0.5, 1.0)
        self._scaled = (vt.T * s) @ (vectors * power)  # (P, k): jacobian^T times the correction
        self.gradient = self._scaled @ (vectors.T @ (u.T @ residuals))
        self.within = self._scaled @ self._scaled.T
        self.through = self._scaled @ vectors.T @ (s[:, None] * vt)  # (P, P): jacobian^T correction jacobian


def _quantiles(blocks: list[_Block], bread: np.ndarray, from_data: np.ndarray, from_prior: np.ndarray) -> np.ndarray:
    """Return Student's half width (P,); degrees of freedom after Bell and McCaffrey, infinite for the prior's part."""
    within = np.stack([np.einsum("ip,pq,qi->i", bread, block.within, bread) for block in blocks])  # (G, P)
    through = np.stack([bread @ block.through for block in blocks])  # (G, P, P)
    freedom = np.empty(len(bread))
    for p in range(len(bread)):
        u = through[:, p, :]
        spread = np.diag(within[:, p]) - u @ bread @ u.T
        total = np.sum(spread**2)
        freedom[p] = np.trace(spread) ** 2 / total if total > 0.0 else len(blocks)
    share = np.divide(from_data, from_data + from_prior, out=np.ones_like(from_data), where=from_data + from_prior > 0)
    freedom = np.maximum(freedom, 1.0) / np.maximum(share, 1e-6) ** 2
    return student_t.ppf(0.975, freedom)


def _inverse(hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverse of a scaled Hessian on what it sees, and which parameters (P,) it sees wholly."""
    values, vectors = np.linalg.eigh(hessian)
    blind = values <= _SINGULAR * max(values[-1], 1e-300)
    if not blind.any():
        return cho_solve(cho_factor(hessian), np.eye(len(hessian))), np.ones(len(hessian), bool)
    seen = np.max(np.abs(vectors[:, blind]), axis=1) < 1e-6
    return (vectors[:, ~blind] / values[~blind]) @ vectors[:, ~blind].T, seen


def _sizes(jacobian: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the length (P,) of each parameter's column, 1 where it is zero: metres, radians and pixels compare."""
    size = np.sqrt(np.sum(jacobian**2, axis=0) + np.sum(rows**2, axis=0))
    return np.where(size > 0.0, size, 1.0)


def _prior_sd(prior: np.ndarray) -> np.ndarray:
    inverse, seen = _inverse(prior) if np.any(prior) else (prior, np.zeros(len(prior), bool))
    return np.where(seen, np.sqrt(np.maximum(np.diagonal(inverse), 0.0)), np.inf)


def _check(jacobian: np.ndarray, residuals: np.ndarray, groups: np.ndarray, rows: np.ndarray) -> None:
    fits = jacobian.ndim == 2 and residuals.shape == groups.shape == jacobian.shape[:1]
    if not fits or rows.ndim != 2 or rows.shape[1] != jacobian.shape[1]:
        raise ConfigError(
            f"sandwich: jacobian {jacobian.shape}, residuals {residuals.shape}, groups {groups.shape} and prior rows "
            f"{rows.shape} do not fit; allowed are (M, P), (M,), (M,), (R, P)"
        )
    for name, values in (("jacobian", jacobian), ("residuals", residuals), ("prior rows", rows)):
        if not np.isfinite(values).all():
            raise ConfigError(f"sandwich: {name} hold {np.sum(~np.isfinite(values))} numbers that are not finite")
    if len(np.unique(groups)) < 2:
        raise ConfigError("sandwich: all residuals belong to one group; allowed are two groups or more")
