"""The robot hand that follows a human hand frame by frame, as teleoperation needs it."""

from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_objective import TIPS, HandGoals
from r2s2r.behavior.hand_solver import HandSolver, Piece
from r2s2r.behavior.hand_targets import HandTargets
from r2s2r.behavior.human_hand import HumanHand
from r2s2r.behavior.palm_points import finger_keypoints, in_palm, measured_fingers
from r2s2r.behavior.retargeting import FrameStatus, frame_status
from r2s2r.contracts.errors import RetargetingError
from r2s2r.recording.hand_recording import KEYPOINTS


@dataclass(frozen=True)
class LiveFrame:
    """Joint targets of the robot hand in one frame."""

    joint_pos: np.ndarray
    """(16,) [rad] in the order of `contracts.joints.HAND_JOINTS`, within the limits."""
    status: FrameStatus
    """How they came about."""


class LiveRetargeter:
    """One frame in, joints out; what is not measured is held. Same objective as :func:`retarget_hand`, no look ahead.

    Nothing is filtered but by the objective's pull to the frame before: a filter would be late.
    """

    def __init__(self, human: HumanHand, hand: HandModel | None = None):
        """Compare the hands; the first kernel of a machine takes some seconds to compile.

        Args:
            human: the person's hand, :meth:`HumanHand.measure` of a calibration recording or given.
            hand: the robot hand; None for the default one.
        """
        self._solver = HandSolver(hand or HandModel())
        self._targets = HandTargets(self._solver.hand, human)
        self.reset()

    def reset(self) -> None:
        """Forget everything: the next frame is the first."""
        self._points = np.full((len(KEYPOINTS), 3), np.nan)
        self._joint_pos = np.array(self._solver.objective.rest)
        self._time_s = -np.inf
        self._solved_s = -np.inf

    def retarget(
        self,
        time_s: float,
        keypoints_m: np.ndarray,
        wrist_pos: np.ndarray | None = None,
        wrist_quat: np.ndarray | None = None,
    ) -> LiveFrame:
        """Return what the robot hand should do now.

        Args:
            time_s: later than the frame before [s].
            keypoints_m: a right hand (21, 3) in the order of `recording.hand_recording.KEYPOINTS`, NaN where not
                measured [m].
            wrist_pos: (3,) in the same frame [m]; None: the keypoint.
            wrist_quat: (4,) xyzw, x out of the palm and z along the hand; None: from the knuckles.

        Raises:
            RetargetingError: the time does not increase, or the keypoints have another shape.
        """
        keypoints_m = np.asarray(keypoints_m, dtype=float)
        if keypoints_m.shape != self._points.shape:
            raise RetargetingError(
                f"live hand: keypoints have shape {keypoints_m.shape}, expected {self._points.shape}"
            )
        if not time_s > self._time_s:
            raise RetargetingError(f"live hand: time {time_s} s after {self._time_s} s; it must increase")
        self._time_s = time_s
        points = in_palm(keypoints_m, wrist_pos, wrist_quat)
        measured = measured_fingers(points)
        for finger in np.flatnonzero(measured):
            self._points[finger_keypoints(finger)] = points[finger_keypoints(finger)]
        vectors = self._targets.vectors(self._points)
        # A finger that was never measured has no target yet: it rests.
        known = np.isfinite(vectors).all(axis=-1)
        weights = np.where(known, self._targets.weights(self._points, measured), 0.0)
        goals = HandGoals(vectors[None], weights[None], np.array([time_s - self._solved_s]))
        solution = self._solver.solve(goals, [Piece(0, 0, 1)], self._joint_pos[None])
        if solution.solved[0]:
            self._joint_pos, self._solved_s = solution.joint_pos[0], time_s
        status = frame_status(solution.solved, measured[None], solution.error_m[:, TIPS])[0]
        return LiveFrame(self._joint_pos.copy(), FrameStatus(status))
