"""What commands go through on their way to the drives: dead time of any length, play and lag.

Between two commands the last one holds. A physics step is longer than the resolution that grounding asks for, so a
command that comes into effect within a step acts with the share of the step that is left: dead times are not rounded.
"""

import math
from collections import deque

import numpy as np

from r2s2r.contracts.world import HandResponse


class DelayedHold:
    """The last command holds, each one from its own time on."""

    def __init__(self, initial: np.ndarray):
        """Hold `initial` (n,) until the first command."""
        self._held = np.array(initial, dtype=float)
        self._pending: deque[tuple[float, np.ndarray]] = deque()

    def push(self, effect_s: float, value: np.ndarray) -> None:
        """Let `value` (n,) hold from `effect_s` [s] on, but never before the command pushed last."""
        if self._pending:
            effect_s = max(effect_s, self._pending[-1][0])
        self._pending.append((effect_s, np.array(value, dtype=float)))

    def mean(self, start_s: float, end_s: float) -> np.ndarray:
        """Return the mean (n,) of what holds over `start_s..end_s`; the next call must begin at `end_s`."""
        if not self._pending or self._pending[0][0] >= end_s:
            return self._held
        total, since = np.zeros_like(self._held), start_s
        while self._pending and self._pending[0][0] < end_s:
            effect_s, value = self._pending.popleft()
            effect_s = max(effect_s, since)
            total += (effect_s - since) * self._held
            since, self._held = effect_s, value
        return (total + (end_s - since) * self._held) / (end_s - start_s)


class HandPath:
    """Per joint: dead time, then play, then a first-order lag, see :class:`r2s2r.contracts.world.HandResponse`."""

    def __init__(self, response: HandResponse, initial: np.ndarray, start_s: float):
        """Rest at `initial` (16,) [rad] from `start_s` [s] on."""
        rows = zip(response.delay_s, response.deadband, response.lag_s, initial.tolist(), strict=True)
        self._joints = [_JointPath(*row, start_s) for row in rows]

    def push(self, sent_s: float, target: np.ndarray) -> None:
        """Take the command `target` (16,) [rad] that was sent at `sent_s` [s]."""
        for joint, value in zip(self._joints, target.tolist(), strict=True):
            joint.push(sent_s, value)

    def advance(self, end_s: float) -> np.ndarray:
        """Return the lag's output (16,) [rad] at `end_s`."""
        return np.array([joint.advance(end_s) for joint in self._joints])


class _JointPath:
    """One joint's part of :class:`HandPath`, on plain numbers: sixteen of them are faster than arrays of sixteen."""

    def __init__(self, delay_s: float, deadband: float, lag_s: float, initial: float, start_s: float):
        self._delay_s, self._deadband, self._lag_s = delay_s, deadband, max(lag_s, 1e-9)
        self._accepted, self._output, self._output_s = initial, initial, start_s
        self._pending: deque[tuple[float, float]] = deque()

    def push(self, sent_s: float, target: float) -> None:
        self._pending.append((sent_s + self._delay_s, target))

    def advance(self, end_s: float) -> float:
        while self._pending and self._pending[0][0] < end_s:
            effect_s, target = self._pending.popleft()
            self._settle(max(effect_s, self._output_s))
            self._accepted = min(max(self._accepted, target - self._deadband), target + self._deadband)
        self._settle(end_s)
        return self._output

    def _settle(self, until_s: float) -> None:
        """Let the lag run towards the accepted target until `until_s`: exactly, whatever the step."""
        left = math.exp(-(until_s - self._output_s) / self._lag_s)
        self._output = self._accepted + (self._output - self._accepted) * left
        self._output_s = until_s
