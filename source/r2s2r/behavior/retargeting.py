"""Human hand motion to the joints of the robot hand, all frames at once."""

from dataclasses import dataclass
from enum import IntEnum

import newton.ik as ik
import numpy as np
import warp as wp

from r2s2r.behavior.hand_model import FINGERTIPS, MIDDLE_LINKS, HandModel
from r2s2r.behavior.hand_targets import HandTargets, hand_targets
from r2s2r.behavior.low_pass import low_pass
from r2s2r.behavior.posture_objective import PostureObjective
from r2s2r.contracts.errors import RetargetingError
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.robot.limits import HAND_LIMITS

MIDDLE_WEIGHT = 0.3
"""Weight of the middle joints against the fingertips' 1: it settles which of the many postures with the same tips."""

UNREACHED_M = 0.05
"""A frame whose fingertips stay further than this from their targets counts as not solved [m]."""

POSTURE_WEIGHT = 0.05
"""A radian away from the posture weighs like fingertips 5 mm off. A straight robot finger cannot move sideways (its
first joint turns about its own length), so that without this the joint would run to its limit for nothing."""

REST_POSTURE = np.array([0.0, 0.3, 0.4, 0.4] * 3 + [0.9, 0.3, 0.3, 0.3])
"""Half open hand (16) [rad], the first guess."""

_POSITION_SCALE = 10.0
"""Decimetres put the rows of the least-squares problem near one, where the solver's damping is meant to act."""
_LIMIT_WEIGHT = 10.0
_ITERATIONS = 30


class FrameStatus(IntEnum):
    """How a frame of the result came about."""

    SOLVED = 0
    PARTLY_MEASURED = 1
    """At least one finger was not measured; it holds its last target."""
    HELD = 2
    """Nothing measured, or no solution: the last solution is held."""


@dataclass(frozen=True)
class RetargetedHand:
    """Joint targets of the robot hand over T frames."""

    time_s: np.ndarray
    """(T,) as in the recording [s]."""

    joint_pos: np.ndarray
    """(T, 16) [rad] in the order of `contracts.joints.HAND_JOINTS`, within the limits."""

    status: np.ndarray
    """(T,) int64, values of :class:`FrameStatus`."""

    residual_m: np.ndarray
    """(T,) mean distance of the measured fingertips from their targets; NaN where nothing was measured [m]."""


def retarget_hand(recording: HandRecording, hand: HandModel | None = None) -> RetargetedHand:
    """Return the robot hand's motion for a recording.

    Raises:
        RetargetingError: a left hand, a finger that is never measured, or no frame that can be solved.
    """
    hand = hand or HandModel()
    targets = hand_targets(recording, hand)
    rest = np.tile(REST_POSTURE, (len(recording), 1))
    joint_pos = solve_hand(hand, targets, rest)
    joint_pos = solve_hand(hand, targets, low_pass(joint_pos, recording.rate_hz))
    solved = np.isfinite(joint_pos).all(axis=-1) & targets.measured.any(axis=-1)
    joint_pos = _within_limits(low_pass(_hold_last(joint_pos, solved, recording), recording.rate_hz))
    distance = np.linalg.norm(hand.link_pos(joint_pos, FINGERTIPS) - targets.tips, axis=-1)
    solved &= np.where(targets.measured, distance, 0.0).max(axis=-1) <= UNREACHED_M
    joint_pos = _hold_last(joint_pos, solved, recording)
    status = np.where(targets.measured.all(axis=-1), FrameStatus.SOLVED, FrameStatus.PARTLY_MEASURED)
    seen = np.where(targets.measured, distance, np.nan)
    residual = np.full(len(recording), np.nan)
    residual[targets.measured.any(axis=-1)] = np.nanmean(seen[targets.measured.any(axis=-1)], axis=-1)
    return RetargetedHand(
        recording.time_s, joint_pos, np.where(solved, status, FrameStatus.HELD).astype(np.int64), residual
    )


def solve_hand(
    hand: HandModel, targets: HandTargets, posture: np.ndarray, posture_weight: float = POSTURE_WEIGHT
) -> np.ndarray:
    """Return joint positions (T, 16) [rad] that bring the fingertips closest to their targets.

    Levenberg-Marquardt over all frames as one batch; each is its own problem, the posture ties it to its neighbours.

    Args:
        hand: the robot hand.
        targets: where the fingertips should be.
        posture: (T, 16) where each frame starts and what it is drawn to [rad].
        posture_weight: how strongly it is drawn there, in decimetres of the fingertips a radian.
    """
    start = wp.array(hand.to_model(_within_limits(posture)), dtype=wp.float32, device=hand.device)
    objectives: list[ik.IKObjective] = [
        ik.IKObjectivePosition(
            link_index=hand.body_index(link),
            link_offset=wp.vec3(0.0, 0.0, 0.0),
            target_positions=wp.array(np.ascontiguousarray(place, dtype=np.float32), dtype=wp.vec3, device=hand.device),
            weight=weight * _POSITION_SCALE,
        )
        for links, places, weight in ((FINGERTIPS, targets.tips, 1.0), (MIDDLE_LINKS, targets.middles, MIDDLE_WEIGHT))
        for link, place in zip(links, np.swapaxes(places, 0, 1), strict=True)
    ]
    limits = hand.model.joint_limit_lower, hand.model.joint_limit_upper
    objectives.append(ik.IKObjectiveJointLimit(*limits, weight=_LIMIT_WEIGHT))
    objectives.append(PostureObjective(wp.clone(start), posture_weight))
    solver = ik.IKSolver(hand.model, len(posture), objectives, jacobian_mode=ik.IKJacobianType.ANALYTIC)
    result = wp.empty_like(start)
    solver.step(start, result, iterations=_ITERATIONS)
    return _within_limits(hand.from_model(result.numpy().astype(float)))


def _within_limits(joint_pos: np.ndarray) -> np.ndarray:
    return np.clip(joint_pos, HAND_LIMITS.lower, HAND_LIMITS.upper)


def _hold_last(joint_pos: np.ndarray, solved: np.ndarray, recording: HandRecording) -> np.ndarray:
    """Return `joint_pos` with each unsolved frame replaced by the last solved one, before the first by the first."""
    good = np.flatnonzero(solved)
    if not len(good):
        raise RetargetingError(f"{recording.source}: no frame could be retargeted; check its unit and its wrist frame")
    source = good[np.maximum(np.searchsorted(good, np.arange(len(solved)), side="right") - 1, 0)]
    return joint_pos[source]
