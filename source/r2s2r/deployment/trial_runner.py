"""One trial of a policy on a cell: driven, judged, and kept as a rollout."""

import numpy as np

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.cell import SortingCell
from r2s2r.contracts.policy import Policy
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.contracts.trials import Trial
from r2s2r.deployment.control_stack import ControlStack
from r2s2r.deployment.policy_runner import Decision, PolicyRunner, RunnerCfg
from r2s2r.evaluation.judging import JudgingCfg, Outcome
from r2s2r.evaluation.rollout import Rollout
from r2s2r.evaluation.trial_judge import TrialJudge
from r2s2r.evaluation.trial_result import TrialResult
from r2s2r.robot.ready import READY_ARM, READY_HAND


def run_trial(
    cell: SortingCell,
    policy: Policy,
    trial: Trial,
    judging: JudgingCfg,
    cfg: RunnerCfg,
    *,
    name: str | None = None,
    stack: ControlStack | None = None,
) -> tuple[TrialResult, Rollout]:
    """Run one trial and return what it came to.

    Args:
        cell: where it is made.
        policy: who is tried; its random numbers follow from the trial, equal for all policies.
        trial: what is placed on the belt.
        judging: geometry and limits of the verdict.
        cfg: how the policy's answers are executed.
        name: of the policy in the comparison; None: its own.
        stack: the cell's controller; None: a new one.

    Raises:
        ConfigError: the policy is slower than its control period, or answers something else than it says.
    """
    cell.begin(trial)
    policy.reset(int(trial.stream("policy").integers(2**31)))
    rest = np.array([*READY_ARM, *READY_HAND])
    runner = PolicyRunner(cell, policy, cfg, stack or ControlStack(cell.info), rest)
    poses = [cell.target_pose_b()]
    judge = TrialJudge(judging, trial.target_class, poses[0][:3, 3])
    times, actions = [cell.now()], []
    outcome = Outcome.RUNNING
    while outcome is Outcome.RUNNING:
        actions.append(runner.step())
        poses.append(cell.target_pose_b())
        times.append(cell.now())
        outcome = judge.step(poses[-1][:3, 3])
    runner.log.take(cell)
    actions.append(runner.queue.last)
    result = _result(name or str(policy.info["name"]), trial, outcome, judge.steps, runner)
    return result, _rollout(runner, result, np.array(times), np.stack(actions), np.stack(poses))


def _result(name: str, trial: Trial, outcome: Outcome, steps: int, runner: PolicyRunner) -> TrialResult:
    target, _ = trial.objects()
    joins = [decision.join for decision in runner.decisions if decision.join is not None]
    return TrialResult(
        policy=name,
        condition=trial.condition,
        number=trial.number,
        seed=trial.seed,
        outcome=outcome.label,
        target_class=trial.target_class,
        shape=str(target.shape),
        belt_speed=trial.belt_speed,
        duration_s=steps / POLICY_RATE_HZ,
        decisions=len(runner.decisions),
        blended=sum(join.blended for join in joins),
        largest_jump=max((join.hand_jump for join in joins), default=0.0),
        held_steps=runner.held_steps,
    )


def _rollout(
    runner: PolicyRunner, result: TrialResult, times: np.ndarray, actions: np.ndarray, poses: np.ndarray
) -> Rollout:
    seen = [decision.observation for decision in runner.decisions]
    chunks = [decision.chunk for decision in runner.decisions]
    return Rollout(
        time_s=times,
        joint_pos=runner.log.joint_pos(times).astype(np.float32),
        actions=actions.astype(np.float32),
        target_pose_b=np.concatenate([poses[:, :3, 3], quat_from_matrix(poses[:, :3, :3])], axis=1).astype(np.float32),
        decision_step=np.array([decision.step for decision in runner.decisions], dtype=np.int32),
        start_index=np.array([_start(decision) for decision in runner.decisions], dtype=np.int32),
        head_rgb=np.stack([observation.head_rgb for observation in seen]),
        wrist_rgb=np.stack([observation.wrist_rgb for observation in seen]),
        decision_joint_pos=np.stack([observation.joint_pos for observation in seen]).astype(np.float32),
        chunks=np.stack(chunks).astype(np.float32),
        meta={**result.to_dict(), "success": result.success},
    )


def _start(decision: Decision) -> int:
    join = decision.join
    return -1 if join is None or join.start >= len(decision.chunk) else join.start
