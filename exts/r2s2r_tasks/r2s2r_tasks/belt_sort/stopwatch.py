"""Times the physics within a running environment."""

import time

import warp as wp
from isaaclab.envs import ManagerBasedRLEnv


class Stopwatch:
    """Sums up the time of all physics steps of `env` from now on."""

    def __init__(self, env: ManagerBasedRLEnv):
        self._step, self._device = env.sim.step, env.device
        self.spent_s = 0.0
        """Time so far [s]."""
        env.sim.step = self._timed

    def _timed(self, render: bool = True) -> None:
        # What was asked for before must not count, and what is asked for now must be done.
        wp.synchronize_device(self._device)
        began = time.perf_counter()
        self._step(render=render)
        wp.synchronize_device(self._device)
        self.spent_s += time.perf_counter() - began
