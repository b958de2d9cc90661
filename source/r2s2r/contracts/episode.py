"""One recorded attempt, as it goes from replay, a cell or a teleoperator into a data set."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Episode:
    """T steps at the policy rate. Row t of each array belongs to the same instant, before action t is executed."""

    actions: np.ndarray
    """(T, 25) float32, see :mod:`r2s2r.contracts.action`."""

    obs: dict[str, np.ndarray]
    """What a deployed policy sees: `joint_pos` (T, 23) [rad]; `head_rgb`, `wrist_rgb` (T, H, W, 3) uint8."""

    states: np.ndarray
    """(T, S) float32 privileged simulator state, never fed to a deployed policy; columns in `state_names`."""

    state_names: tuple[str, ...]
    """Name of each column of `states` (S)."""

    commands: dict[str, np.ndarray]
    """What was sent below the action: `joint_pos_target` (T, 23) [rad]; `followable` (T,) bool, False where the
    command asks for more than a joint's speed limit."""

    rewards: np.ndarray
    """(T,) float32."""

    dones: np.ndarray
    """(T,) int64, 1 at the last step."""

    success: bool
    """Judged on settled state, see :mod:`r2s2r.evaluation.judging`."""

    source_demo: str
    """Name of the demonstration that this episode adapts; splits keep one source on one side."""

    attributes: dict[str, str | int | float | bool] = field(default_factory=dict)
    """Condition, object class and shape, belt speed, seed, reason: whatever a reader may select by."""

    def __len__(self) -> int:
        return len(self.actions)
