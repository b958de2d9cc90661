"""One attempt of a teleoperator at sorting, on a cell: made, judged, and an episode if it succeeded."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.cell import CAMERAS, SortingCell
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import CellPoses
from r2s2r.deployment.control_stack import ControlStack
from r2s2r.deployment.episode_log import EpisodeLog, PictureGapError
from r2s2r.deployment.lead import measure_lead
from r2s2r.deployment.teleoperator import TargetView, Teleoperator
from r2s2r.evaluation.judging import Outcome, judging_cfg
from r2s2r.evaluation.trial_judge import TrialJudge
from r2s2r.robot.ready import READY_ARM, READY_HAND

STATE_NAMES = (
    *(f"target_pos_b.{axis}" for axis in "xyz"),
    *(f"target_quat_b.{axis}" for axis in "xyzw"),
    *(f"target_bin_b.{axis}" for axis in "xyz"),
    "belt_speed",
)
"""What a person standing by sees; the simulated sets know more."""

LAST_LOOK_STEPS = 2
"""Steps after the last action in which its pictures arrive: they are stamped 40 ms after they were exposed."""

LONGEST_WAIT_S = 1.0
"""How long the operator waits for the first picture of both cameras [s]: thirty of each."""

PICTURE_GAP = "picture_gap"
"""Outcome of an attempt that sorted the target while a camera lost several pictures in a row."""


@dataclass(frozen=True)
class DemonstrationAttempt:
    """What became of one attempt."""

    number: int
    """Of its trial."""
    object_class: str
    """Of the target."""
    shape: str
    """Of the target."""
    belt_speed: float
    """That was sent [m/s]."""
    outcome: str
    """Label of an :class:`~r2s2r.evaluation.judging.Outcome`, or PICTURE_GAP."""
    steps: int
    """Actions."""
    unfollowable_steps: int
    """Actions that asked for more than a joint's limits allow."""
    untracked_steps: int
    """Actions in which the tracker did not find the fingers."""
    waited_s: float
    """How long closing waited for the wrist [s]."""
    late: bool
    """Whether the hand closed without the wrist having arrived."""

    @property
    def success(self) -> bool:
        """Whether the target was sorted."""
        return self.outcome == Outcome.SUCCESS.label

    @property
    def duration_s(self) -> float:
        """[s]"""
        return self.steps / POLICY_RATE_HZ

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return asdict(self)


class DemonstrationMaker:
    """Makes attempts on one cell, each independent of those before."""

    def __init__(self, open_cell: Callable[[], SortingCell], poses: CellPoses, pictures: bool = True):
        """Open the cell and measure how late its arm is.

        Args:
            open_cell: makes the cell.
            poses: bins and belt that attempts are planned and judged by.
            pictures: whether they are recorded.

        Raises:
            RecordingError: the arm does not follow.
        """
        self._cell, self._poses, self._pictures = open_cell(), poses, pictures
        self._stack = ControlStack(self._cell.info)
        self._rest = np.array([*READY_ARM, *READY_HAND])
        self.lead_s = measure_lead(self._cell, self._stack, self._rest)
        """How far ahead of the moving object the wrist aims [s]."""
        self._person = Teleoperator(self.lead_s)

    def make(self, trial: Trial) -> tuple[DemonstrationAttempt, Episode | None]:
        """Make one attempt and return what became of it, and its episode if it succeeded.

        Raises:
            RecordingError: an encoder or a camera failed.
        """
        cell, stack, log = self._cell, self._stack, EpisodeLog(state_names=STATE_NAMES)
        cell.begin(trial)
        stack.reset(self._rest)
        self._wait_for_pictures(log)
        bin_pos_b = np.array(self._poses.bin_pos_b[trial.target_class])
        view = TargetView(cell.target_pose_b(), cell.belt_speed(), stack.wrist_pose_b(self._rest))
        plan = self._person.begin(trial, view, bin_pos_b)
        judge = TrialJudge(judging_cfg(self._poses), trial.target_class, view.target_pose_b[:3, 3])
        outcome = Outcome.RUNNING
        while outcome is Outcome.RUNNING:
            time_s = cell.now()
            action, tracked = self._person.act(time_s, view)
            self._look()
            stack.command(cell, action)
            state = _state(view, bin_pos_b)
            log.sent(time_s, action, stack.joint_pos_target, stack.followable, tracked=tracked, state=state)
            log.take(cell)
            wrist = stack.wrist_pose_b(log.joint_pos(np.array([cell.now()]))[0])
            view = TargetView(cell.target_pose_b(), cell.belt_speed(), wrist)
            outcome = judge.step(view.target_pose_b[:3, 3])
        attempt = self._attempt(trial, outcome, log)
        if not attempt.success:
            return attempt, None
        for _ in range(LAST_LOOK_STEPS):
            self._look()
            cell.wait(1.0 / POLICY_RATE_HZ)
        log.take(cell)
        try:
            episode = log.episode(success=True, source_demo=plan.name, attributes=self._attributes(trial, attempt))
        except PictureGapError:
            return replace(attempt, outcome=PICTURE_GAP), None
        return attempt, episode

    def _wait_for_pictures(self, log: EpisodeLog) -> None:
        """Let the operator wait until both cameras show something, since nobody moves a robot before."""
        begin_s = self._cell.now()
        while self._pictures and log.latest() is None:
            if self._cell.now() - begin_s > LONGEST_WAIT_S:
                raise RecordingError(f"episode: no picture of both cameras within {LONGEST_WAIT_S} s; are they on?")
            self._look()
            self._cell.wait(1.0 / POLICY_RATE_HZ)
            log.take(self._cell)

    def _look(self) -> None:
        if self._pictures:
            for camera in CAMERAS:
                self._cell.request_picture(camera)

    def _attempt(self, trial: Trial, outcome: Outcome, log: EpisodeLog) -> DemonstrationAttempt:
        target, _ = trial.objects()
        return DemonstrationAttempt(
            number=trial.number,
            object_class=trial.target_class,
            shape=str(target.shape),
            belt_speed=trial.belt_speed,
            outcome=outcome.label,
            steps=len(log),
            unfollowable_steps=log.unfollowable_steps,
            untracked_steps=log.untracked_steps,
            waited_s=self._person.waited_s,
            late=self._person.late,
        )

    def _attributes(self, trial: Trial, attempt: DemonstrationAttempt) -> dict[str, str | int | float | bool]:
        return {
            "object_class": attempt.object_class,
            "shape": attempt.shape,
            "belt_speed": attempt.belt_speed,
            "condition": trial.condition,
            "trial": str(trial),
            "attempt": trial.number,
            "waited_s": attempt.waited_s,
            "lead_s": self.lead_s,
        }


def _state(view: TargetView, bin_pos_b: np.ndarray) -> np.ndarray:
    pos, quat = view.target_pose_b[:3, 3], quat_from_matrix(view.target_pose_b[:3, :3])
    return np.concatenate([pos, quat, bin_pos_b, [view.belt_speed]])
