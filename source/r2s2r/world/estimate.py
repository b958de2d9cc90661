"""What a fit returns: values with 95 % intervals, residuals, warnings."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from r2s2r.contracts.errors import choose
from r2s2r.contracts.transforms import pose, pose_inverse, quat_conjugate, quat_log, quat_multiply, se3_log
from r2s2r.contracts.world import ArmModel, CellPoses, HandResponse, WristCameras

KINDS = ("vector", "rotation", "pose")
"""How an estimate differs from the truth: by subtraction, by a rotation vector, by a twist."""

NORMAL_95 = 1.959964
"""Half width of the 95 % interval of a normal distribution in standard deviations."""


@dataclass(frozen=True)
class Estimate:
    """One fitted quantity of n numbers."""

    name: str
    """`factor.field`, such as `arm.armature`, see :func:`r2s2r.world.parameters.parameters`."""
    kind: str
    """One of KINDS."""
    value: np.ndarray
    """Vector (n,); rotation: quaternion xyzw (4,); pose: position and quaternion (7,)."""
    half_width: np.ndarray
    """Half of the 95 % interval: vector (n,); rotation (3,) [rad]; pose (6,) [m, rad], twist in the estimated frame.
    Infinite where the data say nothing."""
    unit: str
    """For reports."""
    determined: np.ndarray | None = None
    """(same shape as half_width) bool; False where the data do not determine the value. None: everywhere."""

    def __post_init__(self):
        choose("Estimate.kind", self.kind, KINDS)

    @property
    def known(self) -> np.ndarray:
        """(same shape as half_width) bool: the data determine the number."""
        return np.ones(len(self.half_width), dtype=bool) if self.determined is None else self.determined

    def error(self, truth: np.ndarray) -> np.ndarray:
        """Return how far the value lies from `truth`, in the numbers that half_width bounds."""
        truth = np.asarray(truth, dtype=float)
        if self.kind == "vector":
            return self.value - truth
        if self.kind == "rotation":
            return quat_log(quat_multiply(quat_conjugate(truth), self.value))
        estimated, true = (pose(x[:3], x[3:]) for x in (self.value, truth))
        return se3_log(pose_inverse(true) @ estimated)


@dataclass(frozen=True)
class FactorFit:
    """One factor of the world, fitted."""

    factor: str
    """One of :data:`r2s2r.contracts.world.FACTORS`."""
    value: WristCameras | CellPoses | ArmModel | HandResponse
    """The factor, with `grounded=True`."""
    estimates: tuple[Estimate, ...]
    """Every fitted quantity."""
    residuals: dict[str, float]
    """Figures of merit by name and unit (`held_out_rms_px`), held-out data unless the name says otherwise."""
    warnings: tuple[str, ...] = ()
    """One line each: what the data do not determine, what was left out."""
    plots: dict[str, Any] = field(default_factory=dict)
    """Arrays by name that the report draws."""
