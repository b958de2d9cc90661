"""An objective for `newton.ik` that draws every joint to a posture of its own in each problem of a batch."""

import newton
import newton.ik as ik
import warp as wp


@wp.kernel
def _posture_residuals(
    joint_q: wp.array2d(dtype=wp.float32),  # (B, J)
    posture: wp.array2d(dtype=wp.float32),  # (problems, J)
    problem_idx: wp.array(dtype=wp.int32),  # (B)
    weight: float,
    start_idx: int,
    # outputs
    residuals: wp.array2d(dtype=wp.float32),  # (B, rows)
):
    row, joint = wp.tid()
    residuals[row, start_idx + joint] = weight * (joint_q[row, joint] - posture[problem_idx[row], joint])


@wp.kernel
def _posture_jacobian(
    weight: float,
    start_idx: int,
    # outputs
    jacobian: wp.array3d(dtype=wp.float32),  # (B, rows, J)
):
    row, joint = wp.tid()
    jacobian[row, start_idx + joint, joint] = weight


class PostureObjective(ik.IKObjective):
    """Residual weight * (q - posture), for models whose joints have one coordinate each; analytic Jacobian only.

    It settles what the other objectives leave open, such as a finger's twist while the finger is straight.
    """

    def __init__(self, posture: wp.array, weight: float):
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
        body_q: wp.array,
        joint_q: wp.array,
        model: newton.Model,
        residuals: wp.array,
        start_idx: int,
        problem_idx: wp.array,
    ) -> None:
        """Write this objective's rows of `residuals`."""
        wp.launch(
            _posture_residuals,
            dim=joint_q.shape,
            inputs=[joint_q, self.posture, problem_idx, self.weight, start_idx],
            outputs=[residuals],
            device=self.device,
        )

    def compute_jacobian_analytic(
        self,
        body_q: wp.array,
        joint_q: wp.array,
        model: newton.Model,
        jacobian: wp.array,
        joint_S_s: wp.array,
        start_idx: int,
    ) -> None:
        """Write this objective's rows of `jacobian`."""
        wp.launch(
            _posture_jacobian,
            dim=joint_q.shape,
            inputs=[self.weight, start_idx],
            outputs=[jacobian],
            device=self.device,
        )
