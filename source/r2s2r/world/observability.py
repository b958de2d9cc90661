"""Which directions of a rigid pose a least-squares problem leaves open, in words."""

import numpy as np

_AXES = ("x", "y", "z")

OPEN = 0.02
"""A direction counts as not observable when its standard deviation exceeds this [m, or radians at the lever]."""


def unseen_directions(jacobian: np.ndarray, sigma: float, pose_columns: slice) -> list[str]:
    """Return a phrase such as 'translation along z not observable' for each open direction of one pose.

    Args:
        jacobian: (M, P) of residuals, all columns in one unit (angles at a lever).
        sigma: standard deviation of a residual, in its unit.
        pose_columns: the six columns that move a pose, linear first, in the frame whose axes are named.
    """
    _, s, vt = np.linalg.svd(np.linalg.qr(jacobian, mode="r"), full_matrices=True)
    s = np.r_[s, np.zeros(len(vt) - len(s))]
    open_ = vt[s < sigma / OPEN]
    if not len(open_):
        return []
    base = open_[:, pose_columns]
    found = []
    turning = _span(base[:, 3:])
    # Combinations of open directions that do not turn are pure translations; the rest are turns.
    if len(turning) < len(open_):
        _, _, mix = np.linalg.svd(base[:, 3:].T, full_matrices=True)
        still = mix[len(turning) :] @ base[:, :3]
        found += [f"translation along {_named(axis)} not observable" for axis in _span(still)]
        if not len(_span(still)):
            found.append("size of the target not observable")
    found += [f"rotation about {_named(axis)} not observable" for axis in turning]
    return found


def _span(rows: np.ndarray) -> np.ndarray:
    """Return unit vectors (k, 3) that span `rows` (n, 3), along coordinate axes where the span contains them."""
    _, s, vt = np.linalg.svd(rows, full_matrices=False)
    span = vt[s > 0.05]
    inside = [axis for axis in np.eye(3) if np.linalg.norm(span @ axis) > 0.98]
    return np.array(inside) if len(inside) == len(span) else span


def _named(axis: np.ndarray) -> str:
    k = int(np.argmax(np.abs(axis)))
    return _AXES[k] if abs(axis[k]) > 0.98 else f"({axis[0]:.2f}, {axis[1]:.2f}, {axis[2]:.2f})"
