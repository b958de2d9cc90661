"""What stands between a robot's numbers and those that a network learns: the wrist's frame, then a common scale."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from r2s2r_policies.mixture import Mixture
from r2s2r_policies.normaliser import Normaliser
from r2s2r_policies.statistics import ColumnStatistics, merged
from r2s2r_policies.wrist_frame import LEARNED_NAMES, STATE_NAMES, WristFrame

STATE, ACTIONS = "robot_state", "actions"
"""Keys of the two in a batch and in the normaliser."""

SAMPLES = 20_000
"""Most samples of a mixture that scales are taken from; quantiles of so many are known to 0.1 %."""


class PolicyNumbers:
    """Turns joints and actions into a network's inputs and targets, and its answers into actions.

    The actions of a chunk have a scale each: the next one is centimetres away and has to be right to millimetres, the
    last one may be anywhere within half a metre.

    Args:
        normaliser: of `STATE` and `ACTIONS`.

    Raises:
        ConfigError: it is of other columns.
        RobotDescriptionError: the robot's description is missing or damaged.
    """

    def __init__(self, normaliser: Normaliser):
        normaliser.check_columns(STATE, STATE_NAMES, "policy")
        normaliser.check_columns(ACTIONS, LEARNED_NAMES, "policy")
        self._frame, self.normaliser = WristFrame(), normaliser

    @classmethod
    def of(cls, mixture: Mixture, sequence: bool) -> "PolicyNumbers":
        """Return the numbers for a mixture.

        Args:
            mixture: its sources decide the scales, each as much as it has a share of what is learned.
            sequence: whether each action is seen from its own observation, not a chunk from one.
        """
        offsets = 1 if sequence else mixture.chunk
        return cls(Normaliser.of(learned_statistics(mixture, offsets)))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "PolicyNumbers":
        """Return the numbers that :meth:`to_dict` described.

        Raises:
            ConfigError: something is missing or not a number.
        """
        return cls(Normaliser.from_dict(content))

    def to_dict(self) -> dict[str, Any]:
        """Return them JSON-able."""
        return self.normaliser.to_dict()

    def state(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return the normalised state (..., 32) float32 at joint positions (..., 23) [rad]."""
        return self.normaliser.normalise(STATE, self._frame.state(joint_pos))

    def learned(self, actions: np.ndarray, joint_pos: np.ndarray) -> np.ndarray:
        """Return normalised targets (B, H, 25) float32 for actions (B, H, 25).

        Args:
            actions: as in the data.
            joint_pos: (B, 1, 23) where a chunk is seen from one observation, (B, H, 23) where each is from its own.
        """
        return self.normaliser.normalise(ACTIONS, self._frame.relative(actions, joint_pos))

    def actions(self, answer: np.ndarray, joint_pos: np.ndarray) -> np.ndarray:
        """Return the actions (H, 25) float32 of a network's answer (H, 25) to an observation at `joint_pos` (23)."""
        return self._frame.absolute(self.normaliser.restore(ACTIONS, answer), joint_pos)


def learned_statistics(mixture: Mixture, offsets: int) -> dict[str, list[ColumnStatistics]]:
    """Return the statistics of what is learned from a mixture: `STATE`, and `ACTIONS` for each of `offsets`.

    The action at offset h is the one h steps after the observation. Padding and what may not be learned count nowhere,
    and a source counts by its share of the samples: many simulated episodes do not outvote the few real ones.
    """
    frame = WristFrame()
    weighed = [number for number, weight in enumerate(mixture.weights) if weight > 0]
    total = min(SAMPLES, sum(mixture.counts[number] for number in weighed))
    states, actions = [], [[] for _ in range(offsets)]
    for number in weighed:
        data, windows = mixture.data[number], mixture.windows[number]
        drawn = max(1, round(total * mixture.weights[number]))
        rows = windows.samples[np.linspace(0, mixture.counts[number] - 1, drawn).round().astype(int)]
        joint_pos, episodes = data.joint_pos[rows], len(data.lengths)
        states.append(ColumnStatistics.of(frame.state(joint_pos), STATE_NAMES, episodes))
        learned, mask = (part[:, :offsets] for part in windows.learned(rows))
        moves = frame.relative(data.actions[learned], joint_pos[:, None])
        for offset in range(offsets):
            seen = moves[mask[:, offset], offset]
            if len(seen):
                actions[offset].append(ColumnStatistics.of(seen, LEARNED_NAMES, episodes))
    return {STATE: [merged(states)], ACTIONS: [merged(_nearest(actions, offset)) for offset in range(offsets)]}


def _nearest(parts: list[list[ColumnStatistics]], offset: int) -> list[ColumnStatistics]:
    """Return what is known of an offset, or of the next smaller or larger one where all episodes are shorter."""
    return next(known for known in (*parts[offset::-1], *parts[offset + 1 :]) if known)
