"""A dead time between commands and drives, for many environments at once."""

import math
from collections.abc import Sequence

import numpy as np
import warp as wp

from r2s2r.contracts.errors import ConfigError
from r2s2r.control import response_kernels

LONGEST_DELAY_S = 1.0
"""Longest dead time [s], as :mod:`r2s2r.contracts.world` allows it."""


class DelayRing:
    """Gives each target back after its joint's dead time; nothing is allocated or copied to the host in :meth:`step`.

    A dead time of a whole number of steps is exact. Between, a step gives the mean over the step of a command that
    held since the step before: the share of the step's time that each of two targets has. Its state lives on the
    device, so that a physics step may be captured in a CUDA graph.
    """

    def __init__(self, delay_s: Sequence[float], step_s: float, num_envs: int, device: str = "cpu"):
        """Prepare the buffers; call :meth:`reset` before the first step.

        Args:
            delay_s: dead time of each joint (J) [s].
            step_s: time between two calls of :meth:`step` [s].
            num_envs: environments N.
            device: Warp device.

        Raises:
            ConfigError: a dead time below 0 or above LONGEST_DELAY_S, a step that is no time, or no environment.
        """
        delay = np.asarray(delay_s, dtype=float)
        if delay.ndim != 1 or not ((delay >= 0.0) & (delay <= LONGEST_DELAY_S)).all():
            raise ConfigError(f"delay_s: received {delay_s}, allowed are numbers from 0 to {LONGEST_DELAY_S:g}")
        if not (math.isfinite(step_s) and step_s > 0.0):
            raise ConfigError(f"step_s: received {step_s}, allowed are positive numbers")
        if num_envs < 1:
            raise ConfigError(f"num_envs: received {num_envs}, allowed are 1 and more")
        # Rounded first: 0.3 / 0.1 is a little below 3, and would cost a step's share of the target before.
        steps = np.round(delay / step_s, 6)
        whole = np.floor(steps).astype(np.int32)
        self.device, self.shape = device, (num_envs, len(delay))
        self.identity = not delay.any()
        """Whether no joint has a dead time; :meth:`step` then copies."""
        self._all = wp.array(np.arange(num_envs), dtype=wp.int32, device=device)
        self.whole = wp.array(whole, dtype=wp.int32, device=device)
        """(J,) int32 whole steps of the dead times."""
        self.share = wp.array(steps - whole, dtype=wp.float32, device=device)
        """(J,) what they have beyond, in steps."""
        self.head = wp.zeros(self.shape, dtype=wp.int32, device=device)
        """(N, J) int32 where the last target lies in the ring."""
        self.ring = wp.zeros((int(whole.max(initial=0)) + 2, *self.shape), dtype=wp.float32, device=device)
        """(L, N, J) the last targets [rad]."""

    def step(self, target: wp.array, late: wp.array) -> None:
        """Take in this step's target and write into `late` the one that arrives in it.

        Args:
            target: (N, J) float32 [rad], finite.
            late: (N, J) float32 [rad], written; may be `target` itself.

        Raises:
            ConfigError: an array has another shape.
        """
        check_shape("target", target, self.shape)
        check_shape("late", late, self.shape)
        if self.identity:
            wp.copy(late, target)
            return
        wp.launch(
            response_kernels.delay,
            dim=self.shape,
            inputs=[target, self.whole, self.share],
            outputs=[self.head, self.ring, late],
            device=self.device,
        )

    def reset(self, joint_pos: wp.array, env_ids: wp.array | None = None) -> None:
        """Let the targets of some environments have been `joint_pos` for ever.

        Args:
            joint_pos: (N, J) float32 [rad]; only the rows of those environments are read.
            env_ids: (M,) int32; None for all.

        Raises:
            ConfigError: `joint_pos` has another shape.
        """
        check_shape("joint_pos", joint_pos, self.shape)
        ids = self._all if env_ids is None else env_ids
        dim = (len(ids), self.shape[1])
        wp.launch(response_kernels.fill, dim, inputs=[ids, joint_pos], outputs=[self.ring], device=self.device)

    def state(self) -> dict[str, np.ndarray]:
        """Return all that a later step depends on, copied to the host."""
        return {"head": self.head.numpy().copy(), "ring": self.ring.numpy().copy()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from what :meth:`state` returned.

        Raises:
            ConfigError: a buffer is missing, unknown or of another shape.
        """
        restore({"head": self.head, "ring": self.ring}, state)


def check_shape(name: str, array: wp.array, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape.

    Raises:
        ConfigError: it is.
    """
    if tuple(array.shape) != shape:
        raise ConfigError(f"{name}: received shape {tuple(array.shape)}, allowed is {shape}")


def restore(buffers: dict[str, wp.array], state: dict[str, np.ndarray]) -> None:
    """Copy a snapshot into the buffers of the same names.

    Raises:
        ConfigError: a buffer is missing, unknown or of another shape.
    """
    if set(state) != set(buffers):
        raise ConfigError(f"snapshot: received buffers {sorted(state)}, needed are {sorted(buffers)}")
    for name, buffer in buffers.items():
        if np.shape(state[name]) != tuple(buffer.shape):
            raise ConfigError(f"snapshot {name}: received shape {np.shape(state[name])}, needed is {buffer.shape}")
    for name, buffer in buffers.items():
        buffer.assign(state[name])
