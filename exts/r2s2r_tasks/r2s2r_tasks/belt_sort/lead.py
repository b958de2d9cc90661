"""How far ahead of a moving object the wrist has to aim: the arm's delay on a steady motion, measured in its world."""

import torch
from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.contracts.errors import SimulationError
from r2s2r.robot.ready import READY_HAND
from r2s2r_tasks.belt_sort.mdp.observations import wrist_pose_b
from r2s2r_tasks.belt_sort.wrist_actions import wrist_actions

SPEED = 0.1
"""Of the steady motion along the belt [m/s]: the middle of what the belt does."""

REST_S, MOTION_S = 0.5, 1.5
"""Time to settle at the ready pose, and to reach the steady state afterwards [s]."""

LONGEST_S = 0.5
"""An arm that is later than this cannot follow a belt [s]."""


def measure_lead(env: ManagerBasedRLEnv) -> float:
    """Return by how much the wrist is later than its target [s], the median over the environments.

    The wrist moves at constant speed along the base's y axis from the ready pose. `env` is reset.

    Raises:
        SimulationError: the arm does not follow.
    """
    env.reset()
    observe = wrist_pose_b(None, env)
    wrist = observe(env).clone()
    hand = torch.tensor(READY_HAND, device=env.device).repeat(env.num_envs, 1)
    rest, moving = (round(time / env.step_dt) for time in (REST_S, MOTION_S))
    for step in range(rest + moving):
        y = wrist[:, 1] + SPEED * env.step_dt * max(step - rest, 0)
        late = (y - observe(env)[:, 1]) / SPEED
        target = torch.cat((wrist[:, :1], y[:, None], wrist[:, 2:]), dim=-1)
        env.step(wrist_actions(target, hand))
    lead = float(late.median())
    if not 0.0 <= lead <= LONGEST_S:
        raise SimulationError(f"arm: the wrist is {lead:.3f} s behind a steady motion, allowed are 0 to {LONGEST_S} s")
    return lead
