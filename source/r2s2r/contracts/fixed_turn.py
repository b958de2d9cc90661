"""Are two sets of orientations of the same tool in the same frames? A fixed turn between them is a different frame.

Numbers that look like rotations pass every check of their own; only samples of both at the same instants tell a flange
from a tool centre point, or another base.
"""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import so3_log

SAME_WITHIN = np.deg2rad(10.0)
"""Fixed turn below which two frames count as the same [rad]: more than a follower lags, far less than a mounting's
quarter turn."""

SPREAD_WITHIN = np.deg2rad(10.0)
"""Median departure from one fixed turn up to which it explains the samples [rad]; unrelated ones depart by more than 90
degrees."""


@dataclass(frozen=True)
class FixedTurn:
    """One rotation that takes some orientations to others."""

    rotvec: np.ndarray
    """(3,) rotation vector [rad]."""
    spread: float
    """Median angle [rad] between the turned orientations and the others."""
    side: str
    """`tool`: the tools' frames differ, other = own @ turn; `base`: the bases do, other = turn @ own."""

    @property
    def angle(self) -> float:
        """Angle [rad], 0 to pi."""
        return float(np.linalg.norm(self.rotvec))

    def __str__(self) -> str:
        angle = self.angle
        axis = self.rotvec / angle if angle > 0.0 else self.rotvec
        words = ", ".join(f"{round(value, 2) + 0.0:.2f}" for value in axis)
        return f"{np.rad2deg(angle):.1f} deg about ({words}) of the {self.side}"


def fixed_turn(own: np.ndarray, other: np.ndarray) -> FixedTurn:
    """Return the fixed rotation that explains `other` (N, 3, 3) best from `own` (N, 3, 3), samples of equal instants.

    On either side the rotation nearest to the mean of the relative ones in the Frobenius norm is taken (Moakher, "Means
    and averaging in the group of rotations", SIAM J. Matrix Anal. Appl. 24, 2002); the side with less spread counts.

    Raises:
        ConfigError: shapes differ, or there are no samples.
    """
    own, other = np.asarray(own, dtype=float), np.asarray(other, dtype=float)
    if own.shape != other.shape or own.shape[1:] != (3, 3) or not len(own):
        raise ConfigError(
            f"paired orientations: received {own.shape} and {other.shape}, allowed are twice (N >= 1, 3, 3)"
        )
    relative = {"tool": own.swapaxes(1, 2) @ other, "base": other @ own.swapaxes(1, 2)}
    return min((_nearest(turns, side) for side, turns in relative.items()), key=lambda turn: turn.spread)


def check_same_frames(own: np.ndarray, other: np.ndarray, where: str) -> None:
    """Refuse orientations (N, 3, 3) that are those of another frame: apart from `own` by one fixed turn.

    Raises:
        ConfigError: names the fixed angle and axis.
    """
    turn = fixed_turn(own, other)
    if turn.angle > SAME_WITHIN and turn.spread < SPREAD_WITHIN:
        raise ConfigError(
            f"{where}: orientations differ by a fixed turn of {turn} in all {len(own)} samples; these are two frames "
            "(such as flange and tool centre point), convert one"
        )


def _nearest(turns: np.ndarray, side: str) -> FixedTurn:
    u, _, vt = np.linalg.svd(turns.mean(axis=0))
    turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    spread = np.linalg.norm(so3_log(turn.T @ turns), axis=-1)
    return FixedTurn(so3_log(turn), float(np.median(spread)), side)
