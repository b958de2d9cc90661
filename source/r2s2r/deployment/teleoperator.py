"""A person who sorts by teleoperation: the operator model, seen through a hand tracker and retargeted to the robot."""

from dataclasses import dataclass, replace

import numpy as np
import warp as wp

from r2s2r.behavior.behavior import Planner
from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.live_retargeting import LiveRetargeter
from r2s2r.behavior.operator import OperatorModel
from r2s2r.behavior.pick_plan import START_Y, OperatorScene
from r2s2r.behavior.retargeting import FrameStatus
from r2s2r.contracts.action import HAND_JOINT_POS
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.contracts.trials import Trial
from r2s2r.deployment.tracked_hand import TrackedHand
from r2s2r.replay.batch import BatchReplay
from r2s2r.replay.cfg import ReplayCfg

TREMOR_M, TREMOR_RAD = 0.0005, 0.005
"""Standard deviations of the wrist's slow unsteadiness, its tracker's error included [m], [rad]; ours."""

FINGER_CLOSING = 0.7
"""Share of the grasp's closing that the person's fingers do. The whole of it leads through the person's own thumb,
where the retargeter does not follow; this much leaves thumb and fingers touching. It sorted all of 8 objects that the
whole closing, retargeted, had lost."""

_THUMB = 12
"""First joint of the thumb in HAND_JOINTS."""

_UNTURNED = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class TargetView:
    """What the person sees at one moment, in the robot base."""

    target_pose_b: np.ndarray
    """T_base_object (4, 4) of the target."""
    belt_speed: float
    """[m/s]"""
    wrist_pose_b: np.ndarray
    """(7,) position [m] and quaternion xyzw of the robot's wrist, as the encoders tell it."""


def person_grasp() -> GraspGeometry:
    """Return the grasp as fingers do it that cannot pass through each other."""
    grasp = GraspGeometry()
    share = np.ones(len(HAND_JOINTS))
    share[:_THUMB] = FINGER_CLOSING
    return replace(grasp, close_amount=tuple(share * np.array(grasp.close_amount)))


class Teleoperator:
    """Gives an action every 1 / 30 s of one attempt.

    The planner decides what wrist and fingers do. The wrist follows the moving object as it is seen; the fingers are
    those of a person before a tracker, whose keypoints come with noise and now and then not at all, and go to the robot
    through the live retargeter.
    """

    def __init__(self, lead_s: float, planner: Planner | None = None, hand: TrackedHand | None = None):
        """Prepare.

        Args:
            lead_s: how far ahead of the moving object the wrist aims [s], see :func:`.lead.measure_lead`.
            planner: what the person does; None for the operator model with the person's grasp.
            hand: fingers and tracker; None for the default ones.
        """
        self._lead_s, self._planner = lead_s, planner or OperatorModel(grasp=person_grasp())
        self._hand = hand or TrackedHand()
        self._retargeter = LiveRetargeter(self._hand.person.fingers)

    def begin(self, trial: Trial, view: TargetView, bin_pos_b: np.ndarray) -> Demonstration:
        """Plan an attempt and return the plan; all that is drawn follows from the trial.

        Args:
            trial: names the attempt.
            view: what is seen at its beginning.
            bin_pos_b: middle of the floor of the target's bin (3) [m].
        """
        pos, yaw = view.target_pose_b[:3, 3], np.arctan2(view.target_pose_b[1, 0], view.target_pose_b[0, 0])
        scene = OperatorScene(
            object_pos_b=np.array([pos[0], START_Y, pos[2]]),
            object_yaw=float(yaw),
            belt_velocity_b=np.array([0.0, view.belt_speed, 0.0]),
            bin_pos_b=bin_pos_b,
            wrist_pos_b=view.wrist_pose_b[:3],
            wrist_quat_b=view.wrist_pose_b[3:],
        )
        plan = self._planner.demonstrate(scene, trial.stream("operator"), f"operator_{trial.seed}_{trial}")
        cfg = ReplayCfg(
            seed=int(trial.stream("tremor").integers(2**31)),
            time_warp=(1.0, 1.0),
            pos_noise=TREMOR_M,
            rot_noise=TREMOR_RAD,
            hand_noise=0.0,
            lead_s=self._lead_s,
        )
        self._replay = BatchReplay([[plan]], num_envs=1, cfg=cfg)
        zero = np.zeros(1)
        self._replay.start(*(wp.array(zero, dtype=dtype, device="cpu") for dtype in (wp.int32, wp.int32, wp.int64)))
        self._bin = wp.array([bin_pos_b], dtype=wp.vec3, device="cpu")
        self._hand.begin(trial.stream("tracker"))
        self._retargeter.reset()
        return plan

    def act(self, time_s: float, view: TargetView) -> tuple[np.ndarray, bool]:
        """Return the next action (25) float32, and whether the fingers were tracked in it.

        Args:
            time_s: now, on the cell's clock [s]; later than at the last call.
            view: what is seen.
        """
        quat = quat_from_matrix(view.target_pose_b[:3, :3])
        self._replay.step(
            wp.array([[*view.target_pose_b[:3, 3], *quat]], dtype=wp.transform, device="cpu"),
            wp.array([view.belt_speed], dtype=wp.float32, device="cpu"),
            self._bin,
            wp.array([view.wrist_pose_b[:3]], dtype=wp.vec3, device="cpu"),
        )
        action = self._replay.actions.numpy()[0].copy()
        stamp_s, keypoints = self._hand.frame(time_s, action[HAND_JOINT_POS])
        frame = self._retargeter.retarget(stamp_s, keypoints, np.zeros(3), _UNTURNED)
        action[HAND_JOINT_POS] = frame.joint_pos
        return action, frame.status not in (FrameStatus.HELD, FrameStatus.PARTLY_MEASURED)

    @property
    def late(self) -> bool:
        """Whether the hand closed without the wrist having arrived."""
        return bool(self._replay.late.numpy()[0])

    @property
    def waited_s(self) -> float:
        """How long closing has waited for the wrist [s]."""
        return float(self._replay.waited_s.numpy()[0])
