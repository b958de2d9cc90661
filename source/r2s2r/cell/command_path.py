"""What commands go through on their way to the drives: dead time of any length, play and lag.

Between two commands the last one holds. A physics step is longer than the resolution that grounding asks for, so a
command that comes into effect within a step acts with the share of the step that is left: dead times are not rounded.
"""

import numpy as np

from r2s2r.contracts.world import HandResponse


class DelayedHold:
    """The last command holds, each one from its own time on."""

    def __init__(self, initial: np.ndarray):
        """Hold `initial` (n,) until the first command."""
        self._held = np.array(initial, dtype=float)
        self._pending: list[tuple[float, np.ndarray]] = []

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
            effect_s, value = self._pending.pop(0)
            effect_s = max(effect_s, since)
            total += (effect_s - since) * self._held
            since, self._held = effect_s, value
        return (total + (end_s - since) * self._held) / (end_s - start_s)


class HandPath:
    """Per joint: dead time, then play, then a first-order lag, see :class:`r2s2r.contracts.world.HandResponse`."""

    def __init__(self, response: HandResponse, initial: np.ndarray, start_s: float):
        """Rest at `initial` (16,) [rad] from `start_s` [s] on."""
        self._delay = np.array(response.delay_s)
        self._deadband = np.array(response.deadband)
        self._lag = np.maximum(np.array(response.lag_s), 1e-9)
        self._accepted = np.array(initial, dtype=float)
        self._output = self._accepted.copy()
        self._output_s = np.full(len(self._delay), start_s)
        self._sent_s: list[float] = []
        self._sent: list[np.ndarray] = []
        self._next = np.zeros(len(self._delay), dtype=int)
        """For each joint the first command in the lists that has not come into effect yet."""

    def push(self, sent_s: float, target: np.ndarray) -> None:
        """Take the command `target` (16,) [rad] that was sent at `sent_s` [s]."""
        self._sent_s.append(max(sent_s, self._sent_s[-1]) if self._sent_s else sent_s)
        self._sent.append(np.array(target, dtype=float))

    def advance(self, end_s: float) -> np.ndarray:
        """Return the lag's output (16,) [rad] at `end_s`."""
        while self._next.min() < len(self._sent):
            row = np.minimum(self._next, len(self._sent) - 1)
            effect_s = np.maximum(np.array(self._sent_s)[row] + self._delay, self._output_s)
            due = (self._next < len(self._sent)) & (effect_s < end_s)
            if not due.any():
                break
            target = np.stack(self._sent)[row, np.arange(len(row))]
            self._settle(np.where(due, effect_s, self._output_s))
            held = np.clip(self._accepted, target - self._deadband, target + self._deadband)
            self._accepted = np.where(due, held, self._accepted)
            self._next += due
        self._forget()
        self._settle(np.full_like(self._output_s, end_s))
        return self._output

    def _settle(self, until_s: np.ndarray) -> None:
        """Let the lag run towards the accepted targets until `until_s` (16,): exactly, whatever the step."""
        left = np.exp(-(until_s - self._output_s) / self._lag)
        self._output = self._accepted + (self._output - self._accepted) * left
        self._output_s = until_s

    def _forget(self) -> None:
        """Drop the commands that are in effect at every joint."""
        done = int(self._next.min())
        if done:
            del self._sent_s[:done], self._sent[:done]
            self._next -= done
