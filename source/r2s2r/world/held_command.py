"""A command that holds until the next one, delayed by any time."""

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log import Stream


class HeldCommand:
    """Zero-order hold of n numbers, before the first command that one's value.

    Means over intervals come from the integral of the held command, which is exact at the switching times and
    continuous in them. So what a simulator with a fixed step is given changes continuously with a delay.

    Raises:
        RecordingError: there is no command, or stamps go back.
    """

    def __init__(self, stream: Stream):
        """Hold the values of `stream`."""
        if not len(stream.time_s):
            raise RecordingError("command stream: it is empty; a held command needs one message at least")
        if np.any(np.diff(stream.time_s) < 0.0):
            raise RecordingError("command stream: stamps go back; they must not decrease")
        self.time_s = stream.time_s
        """(K,) stamps [s]."""
        self.values = stream.values
        """(K, n) commands."""
        steps = np.diff(stream.time_s)[:, None] * stream.values[:-1]
        self._integral = np.vstack([np.zeros_like(stream.values[:1]), np.cumsum(steps, axis=0)])

    def at(self, time_s: np.ndarray) -> np.ndarray:
        """Return what holds at times (T,) as (T, n)."""
        return self.values[self._last(time_s)]

    def means(self, edges_s: np.ndarray) -> np.ndarray:
        """Return the mean between consecutive edges (T + 1,), which increase, as (T, n)."""
        last = self._last(edges_s)
        integral = self._integral[last] + self.values[last] * (edges_s - self.time_s[last])[:, None]
        return np.diff(integral, axis=0) / np.diff(edges_s)[:, None]

    def shifted(self, start_s: float) -> "HeldCommand":
        """Return the same command on a clock that is zero at `start_s`."""
        return HeldCommand(Stream(self.time_s - start_s, self.values))

    def _last(self, time_s: np.ndarray) -> np.ndarray:
        return np.maximum(np.searchsorted(self.time_s, time_s, side="right") - 1, 0)
