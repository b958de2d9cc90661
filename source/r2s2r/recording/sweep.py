"""A smooth motion of the wrist camera over the board: what tells the clocks of camera and arm apart."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import pose, pose_inverse, quat_exp, quat_from_matrix, quat_multiply
from r2s2r.control.minimum_jerk import progress
from r2s2r.recording.clearance import Clearance
from r2s2r.recording.viewpoints import reach
from r2s2r.recording.visibility import ExpectedCell

_KNOT_S = 0.1
"""Time between postures that inverse kinematics finds [s]; the path between them is a cubic spline."""


@dataclass(frozen=True)
class SweepCfg:
    """Sines of the camera's position and rotation, no two of the same period.

    Raises:
        ConfigError: a value is out of range.
    """

    duration_s: float = 8.0
    """Length [s]."""
    middle: tuple[float, ...] = (-0.02, -0.35, 0.02, 1.23, -0.14, 1.78, 1.52)
    """Arm joints (7) [rad] in the middle: the board is then in the wrist picture, the cube in the head picture."""
    shift: tuple[float, ...] = (0.06, 0.08, 0.03)
    """Amplitudes of the position (3) [m]."""
    shift_period_s: tuple[float, ...] = (3.1, 3.7, 2.3)
    """Their periods (3) [s]."""
    turn: tuple[float, ...] = (0.20, 0.16, 0.20)
    """Amplitudes of the rotation vector (3) [rad]."""
    turn_period_s: tuple[float, ...] = (2.6, 3.3, 2.9)
    """Their periods (3) [s]."""
    fade_s: float = 0.8
    """Time in which the motion comes up from rest, and returns to it [s]."""

    def __post_init__(self):
        set_number(self, "fade_s", 0.1, 10.0)
        set_vector(self, "middle", 7, -2.0 * math.pi, 2.0 * math.pi)
        set_number(self, "duration_s", 2.0 * self.fade_s, 600.0)
        for name, low, high in (
            ("shift", 0.0, 1.0),
            ("shift_period_s", 0.2, 60.0),
            ("turn", 0.0, math.pi),
            ("turn_period_s", 0.2, 60.0),
        ):
            set_vector(self, name, 3, low, high)


class Sweep:
    """Arm joint targets over time, at rest at both ends."""

    def __init__(self, cell: ExpectedCell, clearance: Clearance, cfg: SweepCfg | None = None):
        """Find the postures.

        Args:
            cell: the nominal cell.
            clearance: where the arm may be.
            cfg: the motion; None for the defaults.

        Raises:
            ConfigError: a posture is out of reach or not free.
        """
        cfg = cfg or SweepCfg()
        self.duration_s = cfg.duration_s
        time_s = np.linspace(0.0, cfg.duration_s, max(4, round(cfg.duration_s / _KNOT_S) + 1))
        chain = cell.robot.chain
        middle = chain.wrist_pose(np.array(cfg.middle)) @ cell.flange_cam
        flange = camera_poses(time_s, middle, cfg) @ pose_inverse(cell.flange_cam)
        knots = reach(chain, flange, np.array(cfg.middle))
        if len(knots) < len(flange):
            raise ConfigError(
                f"sweep about {cfg.middle} rad: {len(flange) - len(knots)} of {len(flange)} postures are out of reach"
            )
        knots[-1] = knots[0]
        self._spline = CubicSpline(time_s, knots, bc_type="clamped")
        if not clearance.free(self.joint_pos(np.linspace(0.0, cfg.duration_s, 400))).all():
            raise ConfigError(f"sweep about {cfg.middle} rad: the arm would come too near to the table or to itself")

    def joint_pos(self, time_s: np.ndarray | float) -> np.ndarray:
        """Return arm joint targets (..., 7) [rad] at times (...) [s] from its begin; at rest outside."""
        return self._spline(np.clip(time_s, 0.0, self.duration_s))


def camera_poses(time_s: np.ndarray, middle: np.ndarray, cfg: SweepCfg) -> np.ndarray:
    """Return where the wrist camera is to be, T_base_cam (..., 4, 4), at times (...) [s], about `middle` (4, 4)."""
    time_s = np.asarray(time_s, dtype=float)[..., None]
    fade = progress(time_s / cfg.fade_s) * progress((cfg.duration_s - time_s) / cfg.fade_s)
    shift = fade * np.array(cfg.shift) * np.sin(2.0 * math.pi * time_s / np.array(cfg.shift_period_s))
    turn = fade * np.array(cfg.turn) * np.sin(2.0 * math.pi * time_s / np.array(cfg.turn_period_s))
    return pose(middle[:3, 3] + shift, quat_multiply(quat_exp(turn), quat_from_matrix(middle[:3, :3])))
