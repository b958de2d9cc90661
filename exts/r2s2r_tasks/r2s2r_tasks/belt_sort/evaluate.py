"""Tries a policy in all environments at once, one attempt in each.

The environments go in step: their policies are asked together, and their answers take over together. Pictures are of
the instant at which a policy is asked. Jumps between answers are left as they are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from isaaclab.envs import ManagerBasedRLEnv
from isaaclab.utils.math import matrix_from_quat

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.policy import Observation, Policy
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.deployment.policy_runner import RunnerCfg
from r2s2r.evaluation.judging import Outcome
from r2s2r.evaluation.rollout import Rollout
from r2s2r.evaluation.trial_result import TrialResult
from r2s2r_tasks.belt_sort.mdp.observations import episode, wrist_pose_b
from r2s2r_tasks.belt_sort.session import set_pictures

Obs = dict[str, torch.Tensor]


def evaluate_in_task(
    env: ManagerBasedRLEnv, policies: Sequence[Policy], name: str, condition: str, cfg: RunnerCfg
) -> list[tuple[TrialResult, Rollout]]:
    """Make trial i in environment i and return what each came to.

    What is placed on the belt is the task's own draw, from its seed and the number of the trial, and the shapes of the
    environment: equal for all policies that are tried in as many environments.

    Args:
        env: the task with cameras, opened under `condition`.
        policies: one for each environment, so that each may remember what it saw.
        name: of the policy in the comparison.
        condition: name of the condition.
        cfg: how answers are executed; without a stated delay none passes.

    Raises:
        ConfigError: the policy is slower than its control period.
    """
    cfg.check(name, policies[0].info["chunk"])
    term, judged = episode(env), env.termination_manager.get_term_cfg("judged").func
    trials = [Trial(condition, number, term.cfg.seed) for number in range(env.num_envs)]
    for policy, trial in zip(policies, trials, strict=True):
        policy.reset(int(trial.stream("policy").integers(2**31)))
    term.upcoming[:] = torch.arange(env.num_envs, dtype=torch.int32, device=env.device)
    set_pictures(env, True)
    obs, _ = env.reset(seed=term.cfg.seed)
    drawn = _Drawn(term.target_class.tolist(), [list(row) for row in term.shape_names], term.belt_speed.tolist())
    horizon = _Horizon(cfg, _rest(env, obs), int(policies[0].info["chunk"]))
    steps, ended = _Steps(), torch.zeros(env.num_envs, dtype=torch.int64, device=env.device)
    outcomes, lengths = ended.clone(), ended.clone()
    while not (outcomes > 0).all():
        if horizon.asks:
            running = (outcomes == 0).tolist()
            horizon.answered(_answers(policies, obs, horizon.step, running, horizon.actions))
            steps.asked(horizon.step, obs, horizon.pending)
        actions = horizon.next()
        steps.add(obs, actions, term.target_state_b()[:, :7])
        set_pictures(env, horizon.asks)
        obs = env.step(actions)[0]
        over = env.reset_buf.bool() & (outcomes == 0)
        outcomes[over], lengths[over] = judged.outcome[over], horizon.step
    jumps = horizon.largest_jump.tolist()
    return [
        _trial(name, trial, drawn, Outcome(outcome), length, steps, horizon.starts, jump)
        for trial, outcome, length, jump in zip(trials, outcomes.tolist(), lengths.tolist(), jumps, strict=True)
    ]


class _Horizon:
    """When the policies are asked and which of their actions is next."""

    def __init__(self, cfg: RunnerCfg, rest: torch.Tensor, chunk: int):
        self._execute, self._delay = cfg.execute, math.ceil((cfg.inference_delay_s or 0.0) * POLICY_RATE_HZ - 1e-6)
        self.actions = rest[:, None].repeat(1, chunk, 1)
        """Answers that are executed (N, C, 25); the posture at rest before the first."""
        self.pending: torch.Tensor | None = None
        """Answers that will take over (N, C, 25)."""
        self.largest_jump = torch.zeros(len(rest), device=rest.device)
        """Largest jump of a hand joint at a join (N,) [rad]."""
        self.starts: list[tuple[int, int]] = []
        """For each answer that took over the step at which it did and the first of its actions that was executed."""
        self.step = 0
        """Steps so far."""
        self._index, self._moves, self._ask_at, self._asked_at = 0, False, 0, 0

    @property
    def asks(self) -> bool:
        """Whether the policies are asked before the next step."""
        return self.step == self._ask_at

    def answered(self, answers: torch.Tensor) -> None:
        """Take the answers (N, C, 25); they take over when the policies have thought."""
        self.pending, self._asked_at = answers, self.step

    def next(self) -> torch.Tensor:
        """Return the actions (N, 25) of the next step."""
        if self.pending is not None and self.step >= self._asked_at + self._delay:
            # What was executed since the policies were asked is passed over; before the first answer that is nothing.
            start = self.step - self._asked_at if self._moves else 0
            self.starts.append((self.step, start))
            jump = (self.pending[:, start, 9:] - self.actions[:, self._index, 9:]).abs().amax(dim=-1)
            self.largest_jump = torch.maximum(self.largest_jump, jump)
            self.actions, self.pending, self._index, self._moves = self.pending, None, start, True
            self._ask_at = self.step + max(self._execute - self._delay, 1)
        actions = self.actions[:, self._index]
        self._index += self._moves
        self.step += 1
        return actions


@dataclass
class _Drawn:
    """What the task drew, before its environments go on to other attempts."""

    target_class: list[int]
    shapes: list[list[str]]
    belt_speed: list[float]


@dataclass
class _Steps:
    """What was seen and done in all environments, step after step."""

    joint_pos: list[torch.Tensor] = field(default_factory=list)
    actions: list[torch.Tensor] = field(default_factory=list)
    target: list[torch.Tensor] = field(default_factory=list)
    decisions: list[tuple[int, Obs, torch.Tensor]] = field(default_factory=list)

    def add(self, obs: Obs, actions: torch.Tensor, target: torch.Tensor) -> None:
        for rows, value in ((self.joint_pos, obs["policy"]), (self.actions, actions), (self.target, target)):
            rows.append(value.to("cpu", copy=True))

    def asked(self, step: int, obs: Obs, chunks: torch.Tensor) -> None:
        seen = {key: obs[key].to("cpu", copy=True) for key in ("policy", "head_rgb", "wrist_rgb")}
        self.decisions.append((step, seen, chunks.to("cpu", copy=True)))


def _answers(
    policies: Sequence[Policy], obs: Obs, step: int, running: list[bool], otherwise: torch.Tensor
) -> torch.Tensor:
    """Return every environment's answer (N, C, 25); where the attempt has ended, what was executed before."""
    answers = otherwise.cpu().numpy().copy()
    seen = {key: obs[key].cpu().numpy() for key in ("policy", "head_rgb", "wrist_rgb")}
    for env_id in np.flatnonzero(running):
        view = Observation(
            step / POLICY_RATE_HZ, seen["policy"][env_id], seen["head_rgb"][env_id], seen["wrist_rgb"][env_id]
        )
        answers[env_id] = policies[env_id].act(view)
    return torch.from_numpy(answers).to(otherwise.device)


def _rest(env: ManagerBasedRLEnv, obs: Obs) -> torch.Tensor:
    """Return the actions (N, 25) that hold the posture at the beginning."""
    wrist = wrist_pose_b(None, env)(env)
    rotation = matrix_from_quat(wrist[:, 3:])
    return torch.cat((wrist[:, :3], rotation[:, :, 0], rotation[:, :, 1], obs["policy"][:, len(ARM_JOINTS) :]), dim=-1)


def _trial(
    name: str,
    trial: Trial,
    drawn: _Drawn,
    outcome: Outcome,
    length: int,
    steps: _Steps,
    starts: list[tuple[int, int]],
    jump: float,
) -> tuple[TrialResult, Rollout]:
    env_id = trial.number
    target = drawn.target_class[env_id]
    decisions = [decision for decision in steps.decisions if decision[0] < length]
    result = TrialResult(
        policy=name,
        condition=trial.condition,
        number=trial.number,
        seed=trial.seed,
        outcome=outcome.label,
        target_class=OBJECT_CLASSES[target],
        shape=drawn.shapes[env_id][target],
        belt_speed=drawn.belt_speed[env_id],
        duration_s=length / POLICY_RATE_HZ,
        decisions=len(decisions),
        blended=0,
        largest_jump=jump,
        held_steps=0,
    )
    rows: dict[str, Any] = {
        key: torch.stack([row[env_id] for row in values[:length]]).numpy().astype(np.float32)
        for key, values in (("joint_pos", steps.joint_pos), ("actions", steps.actions), ("target_pose_b", steps.target))
    }
    taken = [start for step, start in starts if step < length]
    asked = np.array([step for step, _, _ in decisions], dtype=np.int32)
    rollout = Rollout(
        time_s=np.arange(length) / POLICY_RATE_HZ,
        **rows,
        decision_step=asked,
        start_index=np.array(taken + [-1] * (len(asked) - len(taken)), dtype=np.int32),
        head_rgb=np.stack([seen["head_rgb"][env_id].numpy() for _, seen, _ in decisions]),
        wrist_rgb=np.stack([seen["wrist_rgb"][env_id].numpy() for _, seen, _ in decisions]),
        decision_joint_pos=np.stack([seen["policy"][env_id].numpy() for _, seen, _ in decisions]).astype(np.float32),
        chunks=np.stack([chunks[env_id].numpy() for _, _, chunks in decisions]).astype(np.float32),
        meta={**result.to_dict(), "success": result.success},
    )
    return result, rollout
