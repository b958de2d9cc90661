"""Human hand motion to the joints of the robot hand, all frames at once."""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import newton.ik as ik
import numpy as np
import warp as wp

from r2s2r.behavior.hand_model import FINGER_JOINTS, FINGERTIPS, MIDDLE_LINKS, HandModel
from r2s2r.behavior.hand_targets import HandTargets, hand_targets
from r2s2r.behavior.low_pass import low_pass
from r2s2r.behavior.posture_objective import PostureObjective
from r2s2r.contracts.errors import RetargetingError
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.robot.limits import HAND_LIMITS

MIDDLE_WEIGHT = 0.3
"""Weight of the middle joints against the fingertips' 1: it settles which of the many postures with the same tips."""

OUT_OF_REACH_M = 0.05
"""A fingertip that stays further than this from its target is out of reach [m]."""

POSTURE_WEIGHT = 0.05
"""A radian away from the posture weighs like fingertips 5 mm off. A straight robot finger cannot move sideways (its
first joint turns about its own length), so that without this the joint would run to its limit for nothing."""

REST_POSTURE = np.array([0.0, 0.2, 0.2, 0.2] * 3 + [0.9, 0.3, 0.3, 0.3])
"""Slightly bent hand (16) [rad], the first guess: near enough to stretched not to bend stretched fingers."""

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
    OUT_OF_REACH = 3
    """A fingertip stays far from its target; the posture is the closest one."""


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
    targets = _smooth(hand_targets(recording, hand), recording.rate_hz)
    rest = np.tile(REST_POSTURE, (len(recording), 1))
    guess, _ = _hold_last(solve_hand(hand, targets, rest), targets, recording)
    posture = low_pass(guess, recording.rate_hz)
    joint_pos, solved = _hold_last(solve_hand(hand, targets, posture), targets, recording)
    distance = np.linalg.norm(hand.link_pos(joint_pos, FINGERTIPS) - targets.tips, axis=-1)
    distance = np.where(targets.measured, distance, 0.0)
    count = targets.measured.sum(axis=-1)
    status = np.select(
        [~solved, distance.max(axis=-1) > OUT_OF_REACH_M, count < distance.shape[1]],
        [FrameStatus.HELD, FrameStatus.OUT_OF_REACH, FrameStatus.PARTLY_MEASURED],
        FrameStatus.SOLVED,
    )
    residual = np.where(count > 0, distance.sum(axis=-1) / np.maximum(count, 1), np.nan)
    return RetargetedHand(recording.time_s, joint_pos, status.astype(np.int64), residual)


def solve_hand(
    hand: HandModel,
    targets: HandTargets,
    posture: np.ndarray,
    middle_weight: float = MIDDLE_WEIGHT,
    posture_weight: float = POSTURE_WEIGHT,
) -> np.ndarray:
    """Return joint positions (T, 16) [rad] that bring the fingertips closest to their targets.

    Levenberg-Marquardt over all frames as one batch; each is its own problem, the posture ties it to its neighbours.
    The fingers are solved one after the other: they share no joint, and one that is out of reach must not spend the
    single precision that the others converge with.

    Args:
        hand: the robot hand.
        targets: where the fingertips should be.
        posture: (T, 16) where each frame starts and what it is drawn to [rad].
        middle_weight: weight of the middle joints against the fingertips' 1.
        posture_weight: how strongly it is drawn there, in decimetres of the fingertips a radian.
    """
    joint_pos: Any = wp.array(hand.to_model(_within_limits(posture)), dtype=wp.float32, device=hand.device)
    limits = ik.IKObjectiveJointLimit(hand.model.joint_limit_lower, hand.model.joint_limit_upper, weight=_LIMIT_WEIGHT)
    drawn = PostureObjective(wp.clone(joint_pos), posture_weight)
    for finger in range(len(FINGERTIPS)):
        tip = _place(hand, FINGERTIPS[finger], targets.tips[:, finger], 1.0)
        middle = _place(hand, MIDDLE_LINKS[finger], targets.middles[:, finger], middle_weight)
        moves = np.zeros(len(HAND_JOINTS), dtype=bool)
        moves[FINGER_JOINTS[finger]] = True
        solver = ik.IKSolver(
            hand.model,
            len(posture),
            [tip, middle, limits, drawn],
            jacobian_mode=ik.IKJacobianType.ANALYTIC,
            joint_dof_mask=wp.array(hand.to_model(moves), dtype=wp.bool, device=hand.device),
        )
        solver.step(joint_pos, joint_pos, iterations=_ITERATIONS)
    return _within_limits(hand.from_model(joint_pos.numpy().astype(float)))


def _place(hand: HandModel, link: str, target: np.ndarray, weight: float) -> ik.IKObjectivePosition:
    """Return the objective that puts the origin of `link` at `target` (T, 3)."""
    return ik.IKObjectivePosition(
        link_index=hand.body_index(link),
        link_offset=wp.vec3(0.0, 0.0, 0.0),
        target_positions=wp.array(np.ascontiguousarray(target, dtype=np.float32), dtype=wp.vec3, device=hand.device),
        weight=weight * _POSITION_SCALE,
    )


def _smooth(targets: HandTargets, rate_hz: float) -> HandTargets:
    """Return `targets` low-passed. Filtering targets, not joints, keeps a failed frame from touching its neighbours."""
    return replace(targets, tips=low_pass(targets.tips, rate_hz), middles=low_pass(targets.middles, rate_hz))


def _within_limits(joint_pos: np.ndarray) -> np.ndarray:
    return np.clip(joint_pos, HAND_LIMITS.lower, HAND_LIMITS.upper)


def _hold_last(joint_pos: np.ndarray, targets: HandTargets, recording: HandRecording) -> tuple[np.ndarray, np.ndarray]:
    """Return joint positions and which frames are solved (T,).

    An unsolved frame takes the last solved one's joints, before the first solved one those of the first.
    """
    solved = np.all(np.isfinite(joint_pos), axis=-1) & np.any(targets.measured, axis=-1)
    good = np.flatnonzero(solved)
    if not len(good):
        raise RetargetingError(f"{recording.source}: no frame could be retargeted; check its unit and its wrist frame")
    source = good[np.maximum(np.searchsorted(good, np.arange(len(solved)), side="right") - 1, 0)]
    return joint_pos[source], solved
