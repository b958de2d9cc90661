"""A human recording as robot motion: fingers, wrist, or both, and the file it is kept in."""

import json
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.behavior.arm_following import follow_wrist
from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.retargeting import FrameStatus, RetargetedHand, retarget_hand
from r2s2r.behavior.wrist import RetargetedWrist, Workspace, retarget_wrist
from r2s2r.contracts.errors import RetargetingError
from r2s2r.contracts.files import whole_file
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.robot.ready import READY_ARM, READY_HAND

FORMAT_VERSION = 1
"""Of the file."""

WRIST_BEHIND_M = 0.01
"""An arm that stays further than this from the wrist's path does not follow it [m]."""


class WristStatus(IntEnum):
    """How the arm's wrist came about in a frame."""

    FOLLOWED = 0
    HELD = 1
    """Not measured; the path holds its last pose."""
    BEHIND = 2
    """The joints' limits or speeds keep the arm from the path."""


@dataclass(frozen=True)
class RobotMotion:
    """Robot motion over T frames, with what was left open and why."""

    recording: HandRecording
    """Where it comes from."""

    hand: RetargetedHand | None
    """Fingers; None where the source does not measure them well enough."""

    wrist: RetargetedWrist | None
    """Wrist path; None for a hand-local source."""

    arm_joint_pos: np.ndarray
    """(T, 7) [rad]; the ready pose where there is no wrist path."""

    wrist_error_m: np.ndarray
    """(T,) distance between the wrist path and where the arm takes the wrist [m]; 0 without a path."""

    left_out: tuple[str, ...]
    """Why fingers or wrist are missing."""

    @property
    def joint_pos(self) -> np.ndarray:
        """(T, 23) [rad] in the order of ROBOT_JOINTS; an open hand where the fingers are missing."""
        hand = np.tile(READY_HAND, (len(self.recording), 1)) if self.hand is None else self.hand.joint_pos
        return np.hstack([self.arm_joint_pos, hand])

    @property
    def tracked(self) -> np.ndarray:
        """(T,) bool: False where nothing was measured, or fingers could not be solved, so that the robot holds."""
        tracked = self.recording.tracked
        return tracked if self.hand is None else tracked & (self.hand.status != FrameStatus.HELD)

    @property
    def wrist_status(self) -> np.ndarray:
        """(T,) int64, values of :class:`WristStatus`; FOLLOWED without a path."""
        behind = np.where(self.wrist_error_m > WRIST_BEHIND_M, WristStatus.BEHIND, WristStatus.FOLLOWED)
        valid = self.recording.wrist_valid
        return (behind if valid is None else np.where(valid, behind, WristStatus.HELD)).astype(np.int64)

    def summary(self) -> dict[str, Any]:
        """Return what a user wants to know about the result, JSON-able."""
        result: dict[str, Any] = {"frames": len(self.recording), "left_out": list(self.left_out)}
        result["rate_hz"] = self.recording.rate_hz
        result["tracked"] = int(self.tracked.sum())
        if self.hand is not None:
            median, worst = np.nanquantile(self.hand.residual_m, (0.5, 0.95))
            result["fingertip_residual_m"] = {"median": float(median), "q95": float(worst)}
            result["status"] = {s.name.lower(): int((self.hand.status == s).sum()) for s in FrameStatus}
        if self.wrist is not None:
            result["wrist_scale"] = self.wrist.scale
            result["wrist_status"] = {s.name.lower(): int((self.wrist_status == s).sum()) for s in WristStatus}
            error = self.wrist_error_m
            result["wrist_error_m"] = {"median": float(np.median(error)), "max": float(error.max())}
        return result

    def save(self, path: Path, provenance: dict[str, Any]) -> None:
        """Write joint trajectory and residuals as .npz without pickle, beside a JSON header that names the columns."""
        header = {
            "format_version": FORMAT_VERSION,
            "joint_names": [*ARM_JOINTS, *HAND_JOINTS],
            "quaternion_order": "xyzw",
            "summary": self.summary(),
            "provenance": provenance,
        }
        arrays = {"time_s": self.recording.time_s, "joint_pos": self.joint_pos, "wrist_error_m": self.wrist_error_m}
        arrays["tracked"] = self.tracked
        if self.hand is not None:
            arrays |= {"status": self.hand.status, "residual_m": self.hand.residual_m}
        if self.wrist is not None:
            arrays |= {"wrist_pos_b": self.wrist.wrist_pos_b, "wrist_quat_b": self.wrist.wrist_quat_b}
            arrays |= {"wrist_valid": np.asarray(self.recording.wrist_valid), "wrist_status": self.wrist_status}
        with whole_file(path) as aside, open(aside, "wb") as file:
            np.savez(file, allow_pickle=False, header=np.array(json.dumps(header, sort_keys=True)), **arrays)


def retarget(
    recording: HandRecording, hand: HandModel | None = None, workspace: Workspace | None = None
) -> RobotMotion:
    """Return what a recording gives: fingers where they are measured, wrist motion where there is any.

    Raises:
        RetargetingError: it gives neither.
    """
    left_out = []
    fingers, wrist = None, None
    try:
        fingers = retarget_hand(recording, hand)
    except RetargetingError as error:
        left_out.append(str(error))
    try:
        wrist = retarget_wrist(recording, workspace)
    except RetargetingError as error:
        left_out.append(str(error))
    if fingers is None and wrist is None:
        raise RetargetingError("; ".join(left_out))
    if wrist is None:
        arm, error_m = np.tile(READY_ARM, (len(recording), 1)), np.zeros(len(recording))
    else:
        arm, error_m = follow_wrist(wrist.wrist_pos_b, wrist.wrist_quat_b, recording.rate_hz)
    return RobotMotion(recording, fingers, wrist, arm, error_m, tuple(left_out))
