"""Rotational inertias that a rigid body can have."""

import numpy as np

SMALLEST_MOMENT = 1e-3
"""Smallest principal second moment kept, as a fraction of the largest: a margin for rounding to single precision."""


def is_physical(inertia: np.ndarray) -> bool:
    """Return whether the principal moments of `inertia` (3, 3) [kg m2] are positive and none exceeds the other two."""
    moments = np.linalg.eigvalsh(inertia)
    return bool(moments[0] > 0.0 and moments[0] + moments[1] >= moments[2])


def nearest_physical(inertia: np.ndarray) -> np.ndarray:
    """Return the inertia (3, 3) [kg m2] of the nearest mass distribution.

    The second moments of mass about the centre, S = tr(I)/2 1 - I, must be positive semi-definite, which for the
    principal moments is the triangle inequality (Wensing et al., RA-L 2018, eq. 7). Negative eigenvalues of S are
    raised to :data:`SMALLEST_MOMENT` of the largest; axes stay. A physical inertia with that margin is unchanged.
    """
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    moments, axes = np.linalg.eigh(second)
    floor = SMALLEST_MOMENT * moments[-1]
    if moments[0] >= floor:
        return inertia
    second = axes @ np.diag(np.maximum(moments, floor)) @ axes.T
    return np.trace(second) * np.eye(3) - second
