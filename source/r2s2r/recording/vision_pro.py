"""Streams of an Apple Vision Pro as github.com/Improbable-AI/VisionProTeleop (`avp_stream`) gives them, saved as .npz.

The stream has z up already: x right, y ahead. Its wrists have ARKit's axes: of the right hand y out of the back, z
towards the thumb and -x along the fingers; of the left hand y out of the palm, z away from the thumb and x along the
fingers. Joints are in the wrist's frame.
"""

from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import pose_apply, quat_from_matrix
from r2s2r.recording.field_file import Fields, read_fields
from r2s2r.recording.hand_facts import HANDEDNESS, SourceFacts, which_hand
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.joint_orders import KEYPOINTS_OF_25

R_ARKIT_WRIST = {
    "right": np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "left": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
}
"""Our wrist axes in ARKit's."""

JOINT_COUNTS = (25, 27)
"""25 hand joints; newer versions add two of the forearm behind them."""

ROTATION_TOLERANCE = 1e-2
"""How far a matrix may be from a rotation; single precision leaves 1e-6."""

NO_EXTENT_M = 0.01
"""A hand smaller than this was not seen yet: the stream begins with unit matrices."""

MIN_UP_COSINE = 0.5
"""The head's own up and the world's agree within 60 deg; with another axis up they are 90 deg apart."""


def load_vision_pro(path: Path, handedness: str | None = None) -> HandRecording:
    """Return one hand of a stream; of two recorded hands the one asked for, else the right one.

    Raises:
        RecordingError: a field is missing or of a wrong shape, a matrix is no pose, z is not up; see
            :class:`HandRecording`.
    """
    fields = read_fields(path)
    there = [hand for hand in HANDEDNESS if f"{hand}_wrist" in fields]
    if not there:
        raise RecordingError(f"{path}: neither right_wrist nor left_wrist; the file holds {', '.join(fields.values)}")
    in_file = there[0] if len(there) == 1 or handedness is None else handedness
    hand, who = which_hand(path, in_file, handedness)
    if "time_s" not in fields:
        raise RecordingError(f"{path}: time_s missing; the stream has no stamps, save one for each frame")
    time_s = fields.times()
    frames, notes = len(time_s), _check_up(fields, len(time_s))
    wrist, joints = _poses(fields, f"{hand}_wrist", frames, ()), _poses(fields, f"{hand}_fingers", frames, JOINT_COUNTS)
    local = joints[:, :, :3, 3][:, KEYPOINTS_OF_25]
    seen = np.linalg.norm(np.ptp(local, axis=1), axis=-1) > NO_EXTENT_M
    if f"{hand}_tracked" in fields:
        seen &= fields.flags(f"{hand}_tracked", (frames,))
    else:
        notes += ("no validity in the stream: repeated and jumping poses tell",)
    return HandRecording(
        source=f"Vision Pro {path.name}",
        handedness=hand,
        time_s=time_s,
        keypoints_m=pose_apply(wrist[:, None], local),
        valid=np.repeat(seen[:, None], 21, axis=1),
        wrist_pos=wrist[:, :3, 3],
        wrist_quat=quat_from_matrix(wrist[:, :3, :3] @ R_ARKIT_WRIST[hand]),
        wrist_valid=seen,
        facts=SourceFacts(
            kind="Apple Vision Pro stream (avp_stream)",
            unit="metres, taken as they are",
            axes="x right, y ahead, z up, taken as they are",
            handedness=f"{who} ({hand}_wrist)",
            wrist="wrist as measured, ARKit's axes turned to ours",
            notes=notes,
        ),
    )


def _poses(fields: Fields, name: str, frames: int, joints: tuple[int, ...]) -> np.ndarray:
    """Return poses (T, 4, 4), or (T, J, 4, 4) with J one of `joints`, of T frames."""
    value = fields.values.get(name)
    if value is not None and not joints and value.ndim == 4 and value.shape[1] == 1:
        value = value[:, 0]  # as streamed, each frame is (1, 4, 4)
    shape = (frames, 4, 4) if not joints else (frames, None, 4, 4)
    poses = Fields(fields.path, fields.values if value is None else {name: value}).array(name, shape)
    if joints and poses.shape[1] not in joints:
        allowed = " or ".join(str(count) for count in joints)
        raise RecordingError(f"{fields.path}: {name} has {poses.shape[1]} joints, allowed are {allowed}")
    finite = np.all(np.isfinite(poses), axis=(-2, -1))
    turn, last = np.where(finite[..., None, None], poses, 0.0)[..., :3, :3], poses[..., 3, :]
    off = np.abs(np.swapaxes(turn, -1, -2) @ turn - np.eye(3)).max(axis=(-2, -1)) + np.abs(np.linalg.det(turn) - 1.0)
    broken = ~(off + np.abs(last - (0.0, 0.0, 0.0, 1.0)).max(axis=-1) <= ROTATION_TOLERANCE)
    if broken.any():
        frame = int(np.argwhere(broken)[0, 0])
        raise RecordingError(
            f"{fields.path}: {name} is no pose (rotation, position, last row 0 0 0 1) at frame {frame}"
        )
    return poses


def _check_up(fields: Fields, frames: int) -> tuple[str, ...]:
    """Return what has to be told about the world's axes, after comparing them with the head's."""
    if "head" not in fields:
        return ("no head in the file: that z is up was not checked",)
    up = float(np.median(_poses(fields, "head", frames, ())[:, 2, 2]))
    if up < MIN_UP_COSINE:
        raise RecordingError(
            f"{fields.path}: the head's up is {np.degrees(np.arccos(np.clip(up, -1.0, 1.0))):.0f} deg away from z; the "
            "stream has z up, do not turn it"
        )
    return ()
