"""How episodes end: judged, broken, or out of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.managers import ManagerTermBase, TerminationTermCfg

from r2s2r.evaluation.judging import JudgingCfg, Outcome, advance_hold, verdict

from .health import PhysicsHealth
from .observations import episode

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedRLEnv


class judged(ManagerTermBase):
    """Ends an attempt as soon as its outcome is known, and keeps what the verdict was made of."""

    def __init__(self, cfg: TerminationTermCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        self._cfg = JudgingCfg(**cfg.params["judging"])
        self._health = PhysicsHealth(env, self._cfg.runaway_speed, cfg.params["strict"])
        self.outcome = torch.zeros(self.num_envs, dtype=torch.int64, device=self.device)
        """:class:`Outcome` of the last judged step (N,)."""
        self.held_s = torch.zeros(self.num_envs, 2, device=self.device)
        """How long the target has been lying still in its own bin and in another one (N, 2) [s]."""
        self.max_height = torch.zeros(self.num_envs, device=self.device)
        """Greatest height of the target's centre in the base so far (N,) [m]."""
        self.target_pos_b = torch.zeros(self.num_envs, 3, device=self.device)
        """Target's centre in the base in the last judged step (N, 3) [m]."""
        self.final: dict[str, torch.Tensor] = {}
        """What the last judged step was judged on, and what it sent: it outlives the reset that follows a verdict."""
        self._action_term = env.action_manager.get_term("wrist_and_hand")

    @property
    def contact_peak(self) -> torch.Tensor:
        """Most contacts that each environment has had in this episode (N,)."""
        return self._health.contact_peak

    def __call__(self, env: ManagerBasedRLEnv, judging: dict, strict: bool) -> torch.Tensor:
        limits = self._cfg
        term = episode(env)
        pos = term.target_state_b()[:, :3]
        # Speed is taken from positions, as on the real cell: a solver's velocity of a body at rest is not zero.
        speed = (pos - self.target_pos_b).norm(dim=-1) / env.step_dt
        self.target_pos_b = pos
        self.held_s = torch.stack(advance_hold(limits, self.held_s, pos, speed, term.target_class, env.step_dt), dim=-1)
        self.max_height = torch.maximum(self.max_height, pos[:, 2])
        self.outcome = self._health.overrule(verdict(limits, self.held_s, pos, speed))
        last_step = env.episode_length_buf >= env.max_episode_length
        self.outcome[(self.outcome == Outcome.RUNNING) & last_step] = int(Outcome.TIMEOUT)
        self.final = {
            "held_s": self.held_s.clone(),
            "max_height": self.max_height.clone(),
            "joint_pos_target": self._action_term.processed_actions.clone(),
            "followable": self._action_term.followable.clone(),
        }
        return (self.outcome != Outcome.RUNNING) & (self.outcome != Outcome.TIMEOUT)

    def reset(self, env_ids=None) -> None:
        ids = slice(None) if env_ids is None else env_ids
        self.held_s[ids] = 0.0
        self.max_height[ids] = 0.0
        self.target_pos_b[ids] = episode(self._env).target_state_b()[ids, :3]
        self._health.reset(ids)
