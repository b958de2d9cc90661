"""When a policy is trained enough: it goes on in rounds until neither held-out loss nor success gets better.

Giving every mixture of data the same number of steps would measure the steps: more data takes more of them.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from r2s2r.contracts.checks import set_count, set_number
from r2s2r.contracts.errors import ConfigError

LOSS_GAIN = 0.01
"""Share by which a held-out loss has to fall below the best one before it to count as better."""


@dataclass(frozen=True)
class Round:
    """What a policy came to after one round of training.

    Raises:
        ConfigError: the loss is not finite, or counts contradict each other.
    """

    steps: int
    """Steps of training so far."""
    held_out_loss: float
    """Loss on the real demonstrations that are held out."""
    successes: int = 0
    """Validation trials that succeeded."""
    trials: int = 0
    """Validation trials, of another draw than the evaluation's; 0: none are made."""

    def __post_init__(self):
        set_count(self, "steps", 1, 2**40)
        set_number(self, "held_out_loss")
        set_count(self, "trials", 0, 2**20)
        set_count(self, "successes", 0, self.trials)

    @property
    def rate(self) -> float:
        """Share of the validation trials that succeeded; -1 where there were none, below any."""
        return self.successes / self.trials if self.trials else -1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-able values."""
        return asdict(self)


def converged(rounds: Sequence[Round], patience: int) -> bool:
    """Return whether the last `patience` rounds brought neither a lower held-out loss nor more success.

    Raises:
        ConfigError: patience is below 1.
    """
    if patience < 1:
        raise ConfigError(f"patience: received {patience}, allowed are 1 and more")
    stale, loss, rate = 0, math.inf, -math.inf
    for one in rounds:
        better = one.held_out_loss < loss - LOSS_GAIN * abs(loss) if math.isfinite(loss) else True
        better |= one.rate > rate
        stale = 0 if better else stale + 1
        loss, rate = min(loss, one.held_out_loss), max(rate, one.rate)
    return stale >= patience


def best_round(rounds: Sequence[Round]) -> int:
    """Return which round's policy to take: most success in validation, then the lowest held-out loss, then the first.

    Raises:
        ConfigError: there are no rounds.
    """
    if not rounds:
        raise ConfigError("rounds: received none, allowed are one and more")
    return min(range(len(rounds)), key=lambda k: (-rounds[k].rate, rounds[k].held_out_loss, k))
