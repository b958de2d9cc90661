"""A planner, such as the operator model, demonstrates the task, once in each environment; what succeeds is kept."""

import numpy as np
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.behavior.behavior import Planner
from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.pick_plan import START_Y, OperatorScene
from r2s2r.contracts.errors import SimulationError
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.evaluation.judging import Outcome, count_reasons
from r2s2r.replay.batch import BatchReplay
from r2s2r.replay.cfg import ReplayCfg
from r2s2r_tasks.belt_sort.attempts import Attempt, AttemptRunner
from r2s2r_tasks.belt_sort.mdp.observations import episode, wrist_pose_b
from r2s2r_tasks.belt_sort.replay_driver import ReplayDriver

UNVARIED = ReplayCfg(time_warp=(1.0, 1.0), pos_noise=0.0, rot_noise=0.0, hand_noise=0.0)
"""A demonstration is executed as it is."""


def demonstrate(
    env: ManagerBasedRLEnv, planner: Planner, seed: int
) -> tuple[dict[str, list[Demonstration]], list[Attempt]]:
    """Let a planner sort once in every environment.

    Args:
        env: the task; its next episodes are what the planner sees.
        planner: who demonstrates.
        seed: of the planner's variation.

    Returns:
        The demonstrations that succeeded, by object class, and what each attempt came to.

    Raises:
        SimulationError: a class has no successful demonstration.
    """
    obs, _ = env.reset()
    made = plan_demonstrations(env, planner, seed)
    replay = BatchReplay([[demo for _, demo in group] for group in made], env.num_envs, env.device, UNVARIED)
    driver = ReplayDriver(env, replay)
    owners = [env_id for group in made for env_id, _ in group]
    driver.begin_all(demo=np.argsort(owners))
    tried: dict[int, Attempt] = {}
    for attempt in AttemptRunner(env, driver).run(obs):
        tried.setdefault(attempt.env_id, attempt)
        if len(tried) == env.num_envs:
            break
    kept = {
        name: [demo for env_id, demo in group if tried[env_id].outcome is Outcome.SUCCESS]
        for name, group in zip(OBJECT_CLASSES, made, strict=True)
    }
    attempts = [tried[env_id] for env_id in sorted(tried)]
    for name, demos in kept.items():
        if not demos:
            reasons = count_reasons(np.array([attempt.outcome for attempt in attempts]))
            raise SimulationError(f"demonstrations: none of class {name} succeeded in {len(tried)} attempts: {reasons}")
    return kept, attempts


def plan_demonstrations(env: ManagerBasedRLEnv, planner: Planner, seed: int) -> list[list[tuple[int, Demonstration]]]:
    """Return for each class the environments whose target is of that class, with what the planner would do there.

    Raises:
        SimulationError: a class is the target nowhere.
    """
    term = episode(env)
    wrist = wrist_pose_b(None, env)(env).cpu().numpy().astype(float)
    layout, classes = term.layout.cpu().numpy().astype(float), term.target_class.cpu().numpy()
    z = term.target_state_b()[:, 2].cpu().numpy().astype(float)
    bins, speed = term.target_bin_b.cpu().numpy().astype(float), term.belt_speed.cpu().numpy().astype(float)
    made: list[list[tuple[int, Demonstration]]] = [[] for _ in OBJECT_CLASSES]
    for env_id in range(env.num_envs):
        scene = OperatorScene(
            object_pos_b=np.array([layout[env_id, 0], START_Y, z[env_id]]),
            object_yaw=layout[env_id, 2],
            belt_velocity_b=np.array([0.0, speed[env_id], 0.0]),
            bin_pos_b=bins[env_id],
            wrist_pos_b=wrist[env_id, :3],
            wrist_quat_b=wrist[env_id, 3:],
        )
        name = f"{planner.label}_{seed}_{env_id:04d}"
        demo = planner.demonstrate(scene, np.random.default_rng((seed, env_id)), name)
        made[classes[env_id]].append((env_id, demo))
    for name, group in zip(OBJECT_CLASSES, made, strict=True):
        if not group:
            raise SimulationError(f"demonstrations: no environment of {env.num_envs} has a target of class {name}")
    return made
