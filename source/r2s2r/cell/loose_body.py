"""A body of the virtual cell that nothing holds: the block, or an object that is sorted."""

import mujoco
import numpy as np

from r2s2r.contracts.transforms import quat_from_matrix

AWAY = (0.0, 0.0, -10.0)
"""Where a body waits, weightless, while it is not in the cell [m]."""

LOST_BELOW = -1.0
"""A body this low [m] is not in the cell."""


class LooseBody:
    """A body with a free joint of the same name. It begins out of the cell."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, name: str):
        """Take the body `name`."""
        self._model, self._body, self._joint = model, model.body(name).id, data.joint(name)
        self.take_away()

    @property
    def is_lost(self) -> bool:
        """Whether it fell below everything."""
        return bool(self._joint.qpos[2] < LOST_BELOW)

    def put(self, T_base_body: np.ndarray, velocity_b: np.ndarray | None = None) -> None:
        """Put it at a pose (4, 4), moving at `velocity_b` (3,) [m/s]; None: at rest."""
        self._joint.qpos[:3] = T_base_body[:3, 3]
        self._joint.qpos[3:] = np.roll(quat_from_matrix(T_base_body[:3, :3]), 1)
        self._joint.qvel[:] = 0.0
        if velocity_b is not None:
            self._joint.qvel[:3] = velocity_b
        self._model.body_gravcomp[self._body] = 0.0

    def take_away(self) -> None:
        """Let it wait out of the cell."""
        self._joint.qpos[:] = (*AWAY, 1.0, 0.0, 0.0, 0.0)
        self._joint.qvel[:] = 0.0
        self._model.body_gravcomp[self._body] = 1.0

    def motion(self) -> tuple[np.ndarray, np.ndarray]:
        """Return position [m] and quaternion wxyz (7,), and how fast these seven change."""
        pos, vel, rate = self._joint.qpos, self._joint.qvel, np.empty(4)
        mujoco.mju_mulQuat(rate, pos[3:], np.array([0.0, *(0.5 * vel[3:])]))  # angular speed in its own frame
        return pos, np.concatenate([vel[:3], rate])
