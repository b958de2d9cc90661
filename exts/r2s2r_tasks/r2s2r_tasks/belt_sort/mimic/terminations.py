"""How attempts are judged under Mimic, whose trajectories end by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import TerminationTermCfg

from r2s2r.evaluation.judging import Outcome
from r2s2r_tasks.belt_sort.mdp.terminations import judged

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedRLEnv


class first_verdict(judged):
    """Judges as :class:`judged` does and never ends an attempt; the first verdict stands until the next reset."""

    def __init__(self, cfg: TerminationTermCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        self._never = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)

    def __call__(self, env: ManagerBasedRLEnv, judging: dict, strict: bool) -> torch.Tensor:
        before = self.outcome
        super().__call__(env, judging, strict)
        self.outcome = torch.where(before == Outcome.RUNNING, self.outcome, before)
        return self._never

    def reset(self, env_ids=None) -> None:
        super().reset(env_ids)
        self.outcome[slice(None) if env_ids is None else env_ids] = int(Outcome.RUNNING)


def succeeded(env: ManagerBasedRLEnv) -> torch.Tensor:
    """Return which attempts have succeeded (N,) bool; Mimic asks once for each environment and step."""
    return env.termination_manager.get_term_cfg("judged").func.outcome == Outcome.SUCCESS
