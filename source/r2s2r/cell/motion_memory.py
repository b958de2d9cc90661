"""The last moments of a motion on an even grid of time, readable between its points."""

import numpy as np

from r2s2r.contracts.errors import SimulationError


class MotionMemory:
    """The newest rows of positions and speeds, one a step."""

    def __init__(self, rows: int, start_s: float, step_s: float):
        """Keep `rows` rows; row 0 belongs to `start_s` [s], the others follow every `step_s` [s]."""
        self._start_s, self._step_s = start_s, step_s
        self._rows, self._count = rows, 0
        self._pos = np.zeros((0, 0))
        self._vel = np.zeros((0, 0))

    def add(self, pos: np.ndarray, vel: np.ndarray) -> None:
        """Remember positions (n,) and speeds (n,) of the next instant of the grid."""
        if self._count == 0:
            self._pos, self._vel = np.zeros((self._rows, len(pos))), np.zeros((self._rows, len(pos)))
        row = self._count % self._rows
        self._pos[row], self._vel[row] = pos, vel
        self._count += 1

    def at(self, time_s: np.ndarray) -> np.ndarray:
        """Return positions (T, n) at times (T,), by cubics through positions and speeds of both neighbours.

        Raises:
            SimulationError: a time lies outside of what is remembered.
        """
        place = (np.asarray(time_s, dtype=float) - self._start_s) / self._step_s
        first, last = max(0, self._count - self._rows), self._count - 1
        # Times are sums of many small ones: a billionth of a step outside is no mistake.
        if ((place < first - 1e-6) | (place > last + 1e-6)).any():
            begin, end = (self._start_s + n * self._step_s for n in (first, last))
            raise SimulationError(f"virtual cell: motion at {np.asarray(time_s)} s asked, known is {begin} to {end} s")
        before = np.clip(np.floor(place).astype(int), first, max(last - 1, first))
        u = (place - before)[:, None]
        low, high = before % self._rows, np.minimum(before + 1, last) % self._rows
        v_low, v_high = self._vel[low] * self._step_s, self._vel[high] * self._step_s
        way = self._pos[high] - self._pos[low]
        return self._pos[low] + u * (v_low + u * (3.0 * way - 2.0 * v_low - v_high + u * (v_low + v_high - 2.0 * way)))
