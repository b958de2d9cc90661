"""What a policy is to whoever runs it: pictures and joints in, a chunk of actions out."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True)
class Observation:
    """What a deployed policy sees, all of one instant."""

    time_s: float
    """When it was so, on the cell's clock [s]: the exposure of the pictures, not their arrival."""
    joint_pos: np.ndarray
    """(23,) [rad] in the order of `contracts.joints.ROBOT_JOINTS`, as encoders read them."""
    head_rgb: np.ndarray
    """(H, W, 3) uint8."""
    wrist_rgb: np.ndarray
    """(H, W, 3) uint8."""


class Policy(Protocol):
    """Answers an observation with what to do from that instant on."""

    @property
    def info(self) -> dict[str, Any]:
        """What it is: `name`, `picture_size` [px], `chunk` (actions in an answer), `rate_hz`; JSON-able."""
        ...

    def reset(self, seed: int) -> None:
        """Forget everything; `seed` fixes all that is drawn from now on."""
        ...

    def act(self, observation: Observation) -> np.ndarray:
        """Return actions (chunk, 25) float32 (`contracts.action`), the first for the observation's own instant."""
        ...
