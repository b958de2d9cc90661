"""An objective for `newton.ik` that draws every joint to a posture of its own in each problem of a batch."""

from typing import Any

import newton
import newton.ik as ik
import warp as wp

from r2s2r.behavior.kernels import posture_jacobian, posture_residuals


class PostureObjective(ik.IKObjective):
    """Residual weight * (q - posture), for models whose joints have one coordinate each; analytic Jacobian only.

    It settles what the other objectives leave open, such as a finger's twist while the finger is straight.
    """

    def __init__(self, posture: Any, weight: float):
        """Take the postures (problems, J) [rad], float32 on the model's device, and the weight [1/rad]."""
        super().__init__()
        self.posture = posture
        self.weight = weight

    def supports_analytic(self) -> bool:
        """Return True: the Jacobian is the weight on the diagonal."""
        return True

    def residual_dim(self) -> int:
        """Return one row a joint."""
        return self.posture.shape[1]

    def compute_residuals(
        self,
        body_q: Any,
        joint_q: Any,
        model: newton.Model,
        residuals: Any,
        start_idx: int,
        problem_idx: Any,
    ) -> None:
        """Write this objective's rows of `residuals`."""
        wp.launch(
            posture_residuals,
            dim=joint_q.shape,
            inputs=[joint_q, self.posture, problem_idx, self.weight, start_idx],
            outputs=[residuals],
            device=self.device,
        )

    def compute_jacobian_analytic(
        self,
        body_q: Any,
        joint_q: Any,
        model: newton.Model,
        jacobian: Any,
        joint_S_s: Any,
        start_idx: int,
    ) -> None:
        """Write this objective's rows of `jacobian`."""
        wp.launch(
            posture_jacobian,
            dim=joint_q.shape,
            inputs=[self.weight, start_idx],
            outputs=[jacobian],
            device=self.device,
        )
