"""Judges one attempt as it goes, at the policy's rate, by the rules of :mod:`.judging`."""

import numpy as np

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.trials import TRIAL_S
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.evaluation.judging import JudgingCfg, Outcome, advance_hold, verdict

_STEP_S = 1.0 / POLICY_RATE_HZ


class TrialJudge:
    """Tells the outcome of an attempt from where its target is, in the same order as the simulated task does."""

    def __init__(self, cfg: JudgingCfg, target_class: str, target_pos_b: np.ndarray, time_limit_s: float = TRIAL_S):
        """Begin.

        Args:
            cfg: geometry and limits.
            target_class: one of `contracts.world.OBJECT_CLASSES`.
            target_pos_b: centre of the target at the beginning (3) [m].
            time_limit_s: when time is up [s].
        """
        self._cfg, self._limit = cfg, round(time_limit_s * POLICY_RATE_HZ)
        self._class = np.array([OBJECT_CLASSES.index(target_class)])
        self._pos = np.array(target_pos_b, dtype=float)[None]
        self._held_s = np.zeros((1, 2))
        self.steps = 0
        """Steps judged so far."""

    def step(self, target_pos_b: np.ndarray) -> Outcome:
        """Return the outcome one step of 1 / 30 s later, with the target's centre now at `target_pos_b` (3) [m]."""
        pos = np.array(target_pos_b, dtype=float)[None]
        # Speed is taken from positions, as in the simulated task: a person standing by sees nothing else.
        speed = np.linalg.norm(pos - self._pos, axis=-1) / _STEP_S
        self._pos = pos
        self._held_s = np.stack(advance_hold(self._cfg, self._held_s, pos, speed, self._class, _STEP_S), axis=-1)
        self.steps += 1
        outcome = Outcome(int(verdict(self._cfg, self._held_s, pos, speed)[0]))
        return Outcome.TIMEOUT if outcome is Outcome.RUNNING and self.steps >= self._limit else outcome
