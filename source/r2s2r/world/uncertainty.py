"""95 % intervals of least-squares fits whose errors are alike within a group: a picture, a stretch of time.

Corners of one picture share motion blur, focus and light; readings of one second share friction. Counting them as
independent gives intervals that are far too narrow. The covariance here sums each group's gradient before it squares it
("sandwich"), with the correction of Bell and McCaffrey (Survey Methodology 2002) for what a fit takes out of its own
residuals, and Student's t with their degrees of freedom.
"""

from dataclasses import dataclass

import numpy as np
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

    def widened(self, other: "Covariance") -> "Covariance":
        """Return this covariance with each parameter's interval at least as wide as `other`'s: of two ways to group the
        same residuals the more cautious one holds."""
        ours, theirs = self.half_width, other.half_width
        wider = theirs > ours
        sd = np.sqrt(np.diagonal(self.matrix))
        grown = np.where(wider, np.sqrt(np.diagonal(other.matrix)), sd)
        usable = np.isfinite(sd) & (sd > 0.0)
        factor = np.where(usable, grown / np.where(usable, sd, 1.0), 1.0)
        matrix = np.where(np.isfinite(self.matrix), self.matrix, 0.0) * np.outer(factor, factor)
        matrix[~np.isfinite(self.matrix)] = np.inf
        return Covariance(matrix, np.where(wider, other.quantile, self.quantile), self.prior_sd)

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
    root, seen = _root_of_inverse(jacobian.T @ jacobian + prior)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.r_[True, groups[order][1:] != groups[order][:-1]])
    members = np.split(order, starts[1:])
    blocks = [_Block(jacobian[i], residuals[i], root) for i in members]
    shifts = np.stack([block.shift for block in blocks])
    from_data = shifts.T @ shifts
    bread = root @ root.T
    from_prior = bread @ prior @ bread
    quantile = _quantiles(blocks, np.diagonal(from_data), np.diagonal(from_prior))
    matrix = (from_data + from_prior) / np.outer(size, size)
    unseen = np.flatnonzero(~seen)
    matrix[unseen, unseen] = np.inf
    return Covariance(matrix, quantile, _prior_sd(prior) / size)


class _Block:
    """One group: how its errors shift the parameters, and what the degrees of freedom need.

    With the inverse Hessian L L^T the group's leverages are the eigenvalues h of L^T J^T J L. Bell and McCaffrey's
    correction multiplies its residuals by (1 - h)^-1/2 along each eigenvector.
    """

    def __init__(self, jacobian: np.ndarray, residuals: np.ndarray, root: np.ndarray):
        seen = jacobian @ root
        leverage, vectors = np.linalg.eigh(seen.T @ seen)
        left = 1.0 - leverage
        power = np.where(left > _LEAST_LEVERAGE_LEFT, np.maximum(left, _LEAST_LEVERAGE_LEFT) ** -0.5, 1.0)
        turned = root @ vectors
        self.shift = turned @ (power * (vectors.T @ (seen.T @ residuals)))
        """(P,) shift of the parameters by the corrected residuals."""
        self.variance = turned**2 @ (np.maximum(leverage, 0.0) * power**2)
        """(P,) variance of the parameters from unit errors of this group."""
        self.reach = (turned * (leverage * power)) @ vectors.T
        """(P, k) how those errors reach other groups' residuals through the fit."""


def _quantiles(blocks: list[_Block], from_data: np.ndarray, from_prior: np.ndarray) -> np.ndarray:
    """Return Student's half width (P,); degrees of freedom after Bell and McCaffrey, infinite for the prior's part."""
    variance = np.stack([block.variance for block in blocks], axis=1)  # (P, G)
    reach = np.stack([block.reach for block in blocks], axis=1)  # (P, G, k)
    spread = -reach @ np.swapaxes(reach, 1, 2)
    diagonal = np.arange(len(blocks))
    spread[:, diagonal, diagonal] += variance
    total = np.sum(spread**2, axis=(1, 2))
    trace = np.trace(spread, axis1=1, axis2=2)
    freedom = np.divide(trace**2, total, out=np.full_like(trace, float(len(blocks))), where=total > 0.0)
    both = from_data + from_prior
    share = np.divide(from_data, both, out=np.ones_like(both), where=both > 0.0)
    return student_t.ppf(0.975, np.maximum(freedom, 1.0) / np.maximum(share, 1e-6) ** 2)


def _root_of_inverse(hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return L (P, k) whose L L^T inverts a scaled Hessian on what it sees, and which parameters (P,) that is."""
    values, vectors = np.linalg.eigh(hessian)
    blind = values <= _SINGULAR * max(values[-1], 1e-300)
    seen = np.max(np.abs(vectors[:, blind]), axis=1, initial=0.0) < 1e-6
    return vectors[:, ~blind] / np.sqrt(values[~blind]), seen


def _sizes(jacobian: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the length (P,) of each parameter's column, 1 where it is zero: metres, radians and pixels compare."""
    size = np.sqrt(np.sum(jacobian**2, axis=0) + np.sum(rows**2, axis=0))
    return np.where(size > 0.0, size, 1.0)


def _prior_sd(prior: np.ndarray) -> np.ndarray:
    root, seen = _root_of_inverse(prior)
    return np.where(seen, np.sqrt(np.sum(root**2, axis=1)), np.inf)


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
