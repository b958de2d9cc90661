"""How the hand's drives receive their targets: dead time, play and lag, for many environments at once."""

import numpy as np
import warp as wp

from r2s2r.contracts.world import HandResponse
from r2s2r.control import response_kernels
from r2s2r.control.delay_ring import DelayRing, check_shape, restore


class BatchHandResponse:
    """Turns joint targets into what the drives follow, one call a physics step, all on the device.

    For each joint: the target arrives after `delay_s`; the accepted target trails it by at most `deadband` (play);
    what the drive follows approaches the accepted target with time constant `lag_s`. A target holds over its step.
    That is solved exactly, whatever the step, and each step gives its mean: the impulse that the drive feels.
    """

    def __init__(self, hand: HandResponse, step_s: float, num_envs: int, device: str = "cpu"):
        """Prepare the buffers; call :meth:`reset` before the first step.

        Args:
            hand: the response; its drive belongs to the simulator and is not read.
            step_s: physics step [s].
            num_envs: environments N.
            device: Warp device.

        Raises:
            ConfigError: a step that is no time, or no environment.
        """
        self._ring = DelayRing(hand.delay_s, step_s, num_envs, device)
        self.device, self.shape = device, self._ring.shape
        self.identity = not np.any([hand.delay_s, hand.deadband, hand.lag_s])
        """Whether targets pass as they are; :meth:`step` then copies."""
        share = self._ring.share.numpy().astype(float)
        parts_s = step_s * np.stack([share, 1.0 - share], axis=-1)
        kept, mean_kept = lag_shares(np.array(hand.lag_s)[:, None], parts_s)
        self._inputs = [
            self._ring.whole,
            self._ring.share,
            wp.array(hand.deadband, dtype=wp.float32, device=device),
            *(wp.array(pairs, dtype=wp.vec2, device=device) for pairs in (kept, mean_kept)),
        ]
        self._accepted = wp.zeros(self.shape, dtype=wp.float32, device=device)
        self._lagged = wp.zeros(self.shape, dtype=wp.float32, device=device)
        self._all = wp.array(np.arange(num_envs), dtype=wp.int32, device=device)

    def step(self, target: wp.array, response: wp.array) -> None:
        """Take in this step's targets and write into `response` what the drives follow in it.

        Args:
            target: (N, 16) float32 [rad], finite.
            response: (N, 16) float32 [rad], written; may be `target` itself.

        Raises:
            ConfigError: an array has another shape.
        """
        check_shape("target", target, self.shape)
        check_shape("response", response, self.shape)
        if self.identity:
            wp.copy(response, target)
            return
        wp.launch(
            response_kernels.respond,
            dim=self.shape,
            inputs=[target, *self._inputs],
            outputs=[self._ring.head, self._ring.ring, self._accepted, self._lagged, response],
            device=self.device,
        )

    def reset(self, joint_pos: wp.array, env_ids: wp.array | None = None) -> None:
        """Let some environments' hands rest at `joint_pos`, commanded there for ever.

        Args:
            joint_pos: (N, 16) float32 [rad]; only the rows of those environments are read.
            env_ids: (M,) int32; None for all.

        Raises:
            ConfigError: `joint_pos` has another shape.
        """
        self._ring.reset(joint_pos, env_ids)
        ids = self._all if env_ids is None else env_ids
        dim = (len(ids), self.shape[1])
        outputs = [self._accepted, self._lagged]
        wp.launch(response_kernels.settle, dim, inputs=[ids, joint_pos], outputs=outputs, device=self.device)

    def state(self) -> dict[str, np.ndarray]:
        """Return all that a later step depends on, copied to the host."""
        return {name: buffer.numpy().copy() for name, buffer in self._buffers().items()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from what :meth:`state` returned.

        Raises:
            ConfigError: a buffer is missing, unknown or of another shape.
        """
        restore(self._buffers(), state)

    def _buffers(self) -> dict[str, wp.array]:
        return {
            "head": self._ring.head,
            "ring": self._ring.ring,
            "accepted": self._accepted,
            "lagged": self._lagged,
        }


def lag_shares(lag_s: np.ndarray, duration_s: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return which share of its distance a first-order lag keeps after a time, and which in the time's mean (...).

    exp(-t / lag) and (1 - exp(-t / lag)) lag / t; both 0 for no lag.
    """
    lag, duration = np.broadcast_arrays(np.asarray(lag_s, dtype=float), np.asarray(duration_s, dtype=float))
    lags = np.divide(duration, lag, out=np.full(lag.shape, np.inf), where=lag > 0.0)
    mean = np.divide(-np.expm1(-lags), lags, out=np.ones(lag.shape), where=lags > 0.0)
    return np.exp(-lags), mean
