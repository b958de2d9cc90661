"""Lines that tell a person how training goes."""

import time
from collections.abc import Callable

LEAST_S = 10.0
"""A line comes at most this often [s]."""


class Progress:
    """Tells step, losses, speed and the time that is left.

    Args:
        say: called with each line.
    """

    def __init__(self, say: Callable[[str], None]):
        self.say = say
        self._begun = (0.0, 0)
        self._until = 0
        self._told = -LEAST_S

    def begin(self, step: int, until_step: int) -> None:
        """Start the clock at `step` of `until_step`."""
        self._begun, self._until, self._told = (time.monotonic(), step), until_step, -LEAST_S

    def rate(self, step: int) -> float:
        """Return steps a second since the beginning."""
        start, first = self._begun
        return (step - first) / max(time.monotonic() - start, 1e-9)

    def tell(self, step: int, loss: float, held_out_loss: float | None) -> None:
        """Say how it goes at `step`, unless a line was said just now and this is not the end."""
        now = time.monotonic()
        if now - self._told < LEAST_S and step < self._until:
            return
        self._told = now
        rate = self.rate(step)
        left = (self._until - step) / max(rate, 1e-9)
        held_out = "" if held_out_loss is None else f", held-out {held_out_loss:.4f}"
        self.say(
            f"step {step} of {self._until}: loss {loss:.4f}{held_out}, {rate:.2f} steps/s, {left / 60:.1f} min left"
        )
