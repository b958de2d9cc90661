"""What every controller between wrist targets and arm joint targets has, whatever it solves in between."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.control import kernels
from r2s2r.control.kinematics import SerialChain


@dataclass(frozen=True)
class ArmControllerCfg:
    """What all controllers have in common.

    Raises:
        ConfigError: a value is out of range.
    """

    iterations: int = 4
    """Newton steps a call; each starts from the last command, so that a slow target needs few."""
    max_joint_step: float = 0.3
    """Largest move of a joint in one iteration [rad]: the Jacobian does not hold much further."""
    rate_hz: float = POLICY_RATE_HZ
    """Calls a second; a joint moves by at most its largest speed / rate in a call."""

    def __post_init__(self):
        set_number(self, "max_joint_step", 1e-3, 10.0)
        set_number(self, "rate_hz", 1.0, 10000.0)
        if not isinstance(self.iterations, int) or not 1 <= self.iterations <= 1000:
            name = type(self).__name__
            raise ConfigError(f"{name}.iterations: received {self.iterations!r}, allowed are 1 to 1000")


class ArmController:
    """A kernel that moves joint targets towards wrist targets, batched, with its constants on the device.

    It works on the commanded joints, not on measured ones: the command is a function of the targets alone, and how
    far the arm lags behind is the drive's business. Nothing is copied between host and device in :meth:`solve`, and
    nothing allocated, so that it can be captured in a CUDA graph.
    """

    def __init__(self, kernel: Any, chain: SerialChain, rate_hz: float, num_envs: int, device: str):
        """Prepare the chain on the device.

        Args:
            kernel: Warp kernel of chain, limits, `_settings`, wrist targets; outputs joint targets, followable, error.
            chain: base to wrist; 7 joints, in the order of the joint targets.
            rate_hz: calls of :meth:`solve` a second.
            num_envs: environments N.
            device: Warp device.

        Raises:
            ConfigError: another number of joints, or no environment.
        """
        if len(chain.names) != kernels.NUM_JOINTS:
            raise ConfigError(
                f"chain {chain.names}: received {len(chain.names)} joints, allowed are {kernels.NUM_JOINTS}"
            )
        if num_envs < 1:
            raise ConfigError(f"num_envs: received {num_envs}, allowed are 1 and more")
        self.num_envs, self.device = num_envs, device
        self.followable = wp.ones(num_envs, dtype=wp.bool, device=device)
        """(N,) bool after :meth:`solve`: False where a joint would have to be faster than it can, or no target came."""
        self.error = wp.zeros(num_envs, dtype=wp.vec2, device=device)
        """(N,) of what the command leaves of the way to the target: position [m] and rotation [rad]; inf: no target."""
        vec = kernels.joint_vec
        self._kernel = kernel
        self._chain = [
            wp.array([_transform(frame) for frame in chain.frames], dtype=wp.transform, device=device),
            wp.array(chain.axes, dtype=wp.vec3, device=device),
            _transform(chain.tip),
            vec(*_inside(chain.lower, np.inf)),
            vec(*_inside(chain.upper, -np.inf)),
            vec(*(chain.velocity / rate_hz)),
        ]
        self._settings: list = []

    def solve(self, wrist_target: wp.array, joint_pos_target: wp.array) -> None:
        """Move `joint_pos_target` towards `wrist_target`, in place; set :attr:`followable` and :attr:`error`.

        A target that is not finite, or whose rotation columns are parallel, leaves the last command as it was.

        Args:
            wrist_target: (N, >= 9) float32, position [m] and rotation (6 numbers) of the wrist in the base as in
                :mod:`r2s2r.contracts.action`; further columns are not read.
            joint_pos_target: (N, 7) float32 [rad], the last command; write the joint positions there at a reset.

        Raises:
            ConfigError: an array has another shape or type.
        """
        n, columns = self.num_envs, kernels.NUM_JOINTS
        if wrist_target.ndim != 2 or wrist_target.shape[0] != n or wrist_target.shape[1] < 9:
            raise ConfigError(f"wrist_target: received shape {wrist_target.shape}, allowed is ({n}, 9 or more)")
        if joint_pos_target.shape != (n, columns):
            raise ConfigError(f"joint_pos_target: received shape {joint_pos_target.shape}, allowed is ({n}, {columns})")
        wp.launch(
            self._kernel,
            dim=n,
            inputs=[*self._chain, *self._settings, wrist_target],
            outputs=[joint_pos_target, self.followable, self.error],
            device=self.device,
        )


def _transform(matrix: np.ndarray) -> wp.transform:
    return wp.transform(*matrix[:3, 3], *quat_from_matrix(matrix[:3, :3]))


def _inside(limit: np.ndarray, inward: float) -> np.ndarray:
    """Round to single precision inwards, so that no command exceeds the limit in double precision."""
    single = limit.astype(np.float32)
    outside = (single > limit) if inward < 0 else (single < limit)
    return np.where(outside, np.nextafter(single, np.float32(inward)), single)
