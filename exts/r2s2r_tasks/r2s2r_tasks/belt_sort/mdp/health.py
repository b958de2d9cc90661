"""Whether the physics of each environment can be believed: finite, not running away, no contact dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import warp as wp
from mujoco_warp import OverflowType

from r2s2r.contracts.errors import SimulationError
from r2s2r.evaluation.judging import Outcome

from .observations import episode

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedRLEnv

OWN_OVERFLOW = int(OverflowType.NEFC | OverflowType.NJMAX_NNZ | OverflowType.CCD | OverflowType.EPA_HORIZON)
"""Bits that the solver sets in the environment that lost something."""

POOL_OVERFLOW = int(OverflowType.BROADPHASE | OverflowType.NARROWPHASE)
"""Bits that it sets in environment 0 when the pool of all environments is full."""

MAX_JOINT_SPEED = 50.0
"""[rad/s]; the fastest joint of the robot is limited to 7 rad/s, an impact may double that."""


@wp.kernel(enable_backward=False)
def _count_contacts(
    contact_count: wp.array(dtype=wp.int32),
    contact_world: wp.array(dtype=wp.int32),
    # outputs
    per_world: wp.array(dtype=wp.int32),
):
    contact = wp.tid()
    if contact < contact_count[0]:
        wp.atomic_add(per_world, contact_world[contact], 1)


class PhysicsHealth:
    """Watches the solver's buffers and the state of robot and objects each control step.

    The MuJoCo Warp solver keeps the contacts of all environments in one pool and drops what does not fit with a line
    on the console. Here an environment that needs more than its share of the pool, or more constraint rows than it
    has, is marked; where the pool itself is full nobody knows whose contacts were dropped, and all are marked.
    """

    def __init__(self, env: ManagerBasedRLEnv, max_object_speed: float, strict: bool = False):
        self._robot = env.scene["robot"]
        self._episode = episode(env)
        self._max_object_speed = max_object_speed
        self._strict = strict
        self._data = self._solver_data(env)
        n = env.num_envs
        self.contact_peak = torch.zeros(n, dtype=torch.int32, device=env.device)
        self._per_world = wp.zeros(n, dtype=wp.int32, device=env.device)

    def overrule(self, outcome: torch.Tensor) -> torch.Tensor:
        """Return `outcome` (N,) with broken environments marked.

        Raises:
            SimulationError: in strict mode, a contact buffer overflowed; the message states the size needed.
        """
        outcome = torch.where(self._unstable(), int(Outcome.UNSTABLE), outcome)
        if self._data is None:
            return outcome
        overflow = self._overflow()
        if self._strict and bool(overflow.any()):
            where = torch.nonzero(overflow).flatten().tolist()
            raise SimulationError(
                f"contact buffer: environments {where} need up to {int(self.contact_peak.max())} contacts, "
                f"{self.capacity} are held for each; raise nconmax and njmax of the solver"
            )
        return torch.where(overflow, int(Outcome.CONTACT_OVERFLOW), outcome)

    def reset(self, ids) -> None:
        """Forget the peaks of the environments `ids`."""
        self.contact_peak[ids] = 0

    @property
    def capacity(self) -> int:
        """Contacts that the solver holds for each environment."""
        return self._data.naconmax // self._data.nworld

    def _unstable(self) -> torch.Tensor:
        """Return where a joint or any object is too fast or not finite (N,) bool: NaN compares with nothing."""
        calm = (self._robot.data.joint_vel.torch.abs() < MAX_JOINT_SPEED).all(dim=-1)
        objects = self._episode.object_state_b()
        slow = (objects[..., 7:].norm(dim=-1) < self._max_object_speed).all(dim=-1)
        return ~(calm & slow & torch.isfinite(objects).flatten(1).all(dim=-1))

    def _overflow(self) -> torch.Tensor:
        """Return which environments have lost contacts since the last call (N,) bool."""
        self._per_world.zero_()
        wp.launch(
            _count_contacts,
            dim=self._data.naconmax,
            inputs=[self._data.nacon, self._data.contact.worldid],
            outputs=[self._per_world],
            device=self._per_world.device,
        )
        contacts = wp.to_torch(self._per_world)
        torch.maximum(self.contact_peak, contacts, out=self.contact_peak)
        # The solver sets these bits in every physics step and never clears them: take them over and start anew.
        bits = wp.to_torch(self._data.overflow)
        own, pool = (bits & OWN_OVERFLOW) != 0, (bits[0] & POOL_OVERFLOW) != 0
        bits.zero_()
        return (contacts > self.capacity) | own | pool

    @staticmethod
    def _solver_data(env: ManagerBasedRLEnv):
        """Return the MuJoCo Warp solver's data, None on another backend (PhysX grows its buffers by itself)."""
        solver = getattr(env.sim.physics_manager, "_solver", None)
        return getattr(solver, "mjw_data", None)
