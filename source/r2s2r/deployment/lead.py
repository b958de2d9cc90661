"""How far ahead of a moving object the wrist has to aim: the arm's delay on a steady motion, measured on its cell."""

import numpy as np

from r2s2r.contracts.action import POLICY_RATE_HZ, WRIST_POS
from r2s2r.contracts.cell import Cell
from r2s2r.contracts.errors import RecordingError
from r2s2r.deployment.control_stack import ControlStack
from r2s2r.deployment.episode_log import EpisodeLog

SPEED = 0.1
"""Of the steady motion along the belt [m/s]: the middle of what the belt does."""

REST_S, MOTION_S = 0.5, 1.5
"""Time at rest, and to reach the steady state afterwards [s]."""

LONGEST_S = 0.5
"""An arm that is later than this cannot follow a belt [s]."""


def measure_lead(cell: Cell, stack: ControlStack, rest: np.ndarray) -> float:
    """Return by how much the wrist is later than its target [s], as the encoders tell it.

    The wrist moves at constant speed along the base's y axis.

    Args:
        cell: at rest.
        stack: its controller; is reset.
        rest: joint positions (23) [rad] that the robot rests at.

    Raises:
        RecordingError: the arm does not follow.
    """
    stack.reset(rest)
    action, log = stack.rest_action(rest), EpisodeLog()
    steps, still = round((REST_S + MOTION_S) * POLICY_RATE_HZ), round(REST_S * POLICY_RATE_HZ)
    begin_y, times, targets = float(action[WRIST_POS][1]), [], []
    for step in range(steps):
        action[WRIST_POS][1] = begin_y + SPEED * max(step - still, 0) / POLICY_RATE_HZ
        times.append(cell.now())
        targets.append(float(action[WRIST_POS][1]))
        stack.command(cell, action)
        log.take(cell)
    reached = [stack.wrist_pose_b(joint_pos)[1] for joint_pos in log.joint_pos(np.array(times))]
    late = (np.array(targets) - np.array(reached)) / SPEED
    lead = float(np.median(late[-still:]))  # half a second of steady motion
    if not 0.0 <= lead <= LONGEST_S:
        raise RecordingError(f"arm: the wrist is {lead:.3f} s behind a steady motion, allowed are 0 to {LONGEST_S} s")
    return lead
