"""Which action of which answer is sent next: by what was executed, never by how long an answer should have taken.

An answer is for the instant of its observation on. Until it is there the robot goes on with the previous one, so as
many actions of the new one are passed over as were executed since that instant; a robot that stood still missed none.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.action import HAND_JOINT_POS, POLICY_RATE_HZ, WRIST_POS, WRIST_ROT6D
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import matrix_from_rot6d, rot6d_from_matrix, so3_exp, so3_log

_REMEMBERED = 256
"""Executed actions whose times are kept; an answer about something older than 8 s is of no use."""


@dataclass(frozen=True)
class JoinCfg:
    """What jump two answers may have where one takes over from the other.

    Raises:
        ConfigError: a limit is negative or not finite, or `steps` is negative.
    """

    hand_limit: float = 0.05
    """Of a hand joint [rad]."""
    wrist_pos_limit: float = 0.02
    """Of the wrist [m]: 0.05 rad of an arm joint move the wrist by this at 0.4 m, where the grasps are."""
    wrist_turn_limit: float = 0.05
    """Of the wrist's orientation [rad]."""
    steps: int = 3
    """Actions over which a larger jump is spread; 0: it is only counted."""

    def __post_init__(self):
        for name in ("hand_limit", "wrist_pos_limit", "wrist_turn_limit"):
            set_number(self, name, 0.0, 100.0)
        if self.steps < 0:
            raise ConfigError(f"JoinCfg.steps: received {self.steps}, allowed are 0 and more")


@dataclass(frozen=True)
class Join:
    """How an answer took over."""

    start: int
    """First of its actions that is executed; its length if it came too late altogether."""
    hand_jump: float
    """Largest jump of a hand joint [rad], from what would have been sent otherwise."""
    wrist_jump: tuple[float, float]
    """Jump of the wrist [m] and of its orientation [rad]."""
    blended: bool
    """Whether the jump was above a limit."""


class ChunkQueue:
    """Holds the answer that is being executed."""

    def __init__(self, rest_action: np.ndarray, cfg: JoinCfg | None = None):
        """Begin with nothing to send.

        Args:
            rest_action: the posture that the robot stands in, as an action (25): the first answer joins it.
            cfg: limits at joins.
        """
        self._cfg = cfg or JoinCfg()
        self._last = np.array(rest_action, dtype=np.float32)
        self._actions: deque[np.ndarray] = deque()
        self._sent_s: deque[float] = deque(maxlen=_REMEMBERED)

    def __len__(self) -> int:
        """Return how many actions are left."""
        return len(self._actions)

    @property
    def last(self) -> np.ndarray:
        """What was sent last, or the posture at rest (25)."""
        return self._last.copy()

    def executed_since(self, time_s: float) -> int:
        """Return how many actions were executed since an instant [s], to the nearest step."""
        return sum(sent_s >= time_s - 0.5 / POLICY_RATE_HZ for sent_s in self._sent_s)

    def adopt(self, chunk: np.ndarray, observed_s: float) -> Join:
        """Let an answer take over.

        Args:
            chunk: actions (C, 25), the first for the observation's instant.
            observed_s: that instant [s].

        Returns:
            How it joined. An answer all of whose actions are past is not taken; the previous one goes on.
        """
        start = self.executed_since(observed_s)
        rest = np.array(chunk[start:], dtype=np.float32)
        if not len(rest):
            return Join(len(chunk), 0.0, (0.0, 0.0), False)
        reference = self._actions[0] if self._actions else self._last
        offset = _Offset.between(rest[0], reference)
        blended = offset.exceeds(self._cfg)
        if blended:
            for k in range(min(self._cfg.steps, len(rest))):
                rest[k] = offset.applied(rest[k], 1.0 - (k + 1) / (self._cfg.steps + 1))
        self._actions = deque(rest)
        return Join(start, offset.hand_jump, offset.wrist_jump, blended)

    def pop(self, now_s: float) -> np.ndarray | None:
        """Return the action (25) to send now [s] and count it as executed; None if there is none left."""
        if not self._actions:
            return None
        self._sent_s.append(now_s)
        self._last = self._actions.popleft()
        return self._last.copy()


@dataclass(frozen=True)
class _Offset:
    """What leads from an action to another one."""

    pos: np.ndarray
    turn: np.ndarray
    hand: np.ndarray

    @classmethod
    def between(cls, action: np.ndarray, other: np.ndarray) -> "_Offset":
        start, end = matrix_from_rot6d(action[WRIST_ROT6D]), matrix_from_rot6d(other[WRIST_ROT6D])
        way = other.astype(float) - action
        return cls(way[WRIST_POS], so3_log(start.T @ end), way[HAND_JOINT_POS])

    @property
    def hand_jump(self) -> float:
        return float(np.abs(self.hand).max())

    @property
    def wrist_jump(self) -> tuple[float, float]:
        return float(np.linalg.norm(self.pos)), float(np.linalg.norm(self.turn))

    def exceeds(self, cfg: JoinCfg) -> bool:
        pos, turn = self.wrist_jump
        return self.hand_jump > cfg.hand_limit or pos > cfg.wrist_pos_limit or turn > cfg.wrist_turn_limit

    def applied(self, action: np.ndarray, share: float) -> np.ndarray:
        """Return `action` moved by a share of the offset."""
        moved = action.astype(float)
        moved[WRIST_POS] += share * self.pos
        moved[WRIST_ROT6D] = rot6d_from_matrix(matrix_from_rot6d(action[WRIST_ROT6D]) @ so3_exp(share * self.turn))
        moved[HAND_JOINT_POS] += share * self.hand
        return moved.astype(np.float32)
