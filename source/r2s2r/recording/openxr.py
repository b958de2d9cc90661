"""Hand motion of OpenXR and WebXR headsets: 26 or 25 joints and their validity, in the room or the wrist's frame."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import matrix_from_quat, quat_from_matrix
from r2s2r.recording.field_file import Fields, read_fields
from r2s2r.recording.hand_axes import Z_UP_FROM_Y_UP, knuckle_axes
from r2s2r.recording.hand_facts import HANDEDNESS, SourceFacts, which_hand
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.joint_orders import KEYPOINTS_OF_25, OPENXR_JOINTS, WEBXR_JOINTS

R_JOINT_WRIST = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""Our wrist axes in OpenXR's: its wrist has y out of the back of either hand and -z along the fingers."""

SPACES = ("world", "wrist")
"""Where joints are measured: `world`, the room with y up and -z ahead, or `wrist`, the wrist joint's own frame."""

MIN_QUAT_LENGTH = 0.5
"""A quaternion shorter than this was never set; runtimes leave zeros where nothing is tracked."""


@dataclass(frozen=True)
class HeadsetJoints:
    """T frames of a headset's 25 joints in WebXR's order, axes as OpenXR has them."""

    time_s: np.ndarray
    """(T,) [s]."""

    pos: np.ndarray
    """(T, 25, 3) [m]."""

    valid: np.ndarray
    """(T, 25) bool."""

    wrist_quat: np.ndarray | None = None
    """(T, 4) xyzw of the wrist joint; None where only positions are known."""


def load_openxr(path: Path, handedness: str | None = None) -> HandRecording:
    """Return hand motion as docs/human-recordings.md lays it out in .npz or .json.

    Raises:
        RecordingError: a field is missing, of a wrong shape or not allowed; see :class:`HandRecording`.
    """
    fields = read_fields(path)
    hand, who = which_hand(path, fields.word("handedness", HANDEDNESS), handedness)
    space = fields.word("space", SPACES, "the room, or the wrist joint's own frame")
    joints, notes = _joints(fields, space)
    return headset_recording(f"OpenXR hand {path.name}", "OpenXR or WebXR hand motion", hand, who, space, joints, notes)


def headset_recording(
    source: str, kind: str, handedness: str, who: str, space: str, joints: HeadsetJoints, notes: tuple[str, ...]
) -> HandRecording:
    """Return the recording of a headset's joints; see :class:`HandRecording` for what is refused.

    Args:
        source: device and file, for messages.
        kind: type of the source in words.
        handedness: `right` or `left`.
        who: who says so.
        space: one of :data:`SPACES`.
        joints: what was measured.
        notes: what else is to be told.
    """
    valid = joints.valid & np.all(np.isfinite(joints.pos), axis=-1)
    keypoints = np.where(valid[..., None], joints.pos, np.nan)[:, KEYPOINTS_OF_25]
    wrist, axes = "none", "hand-local: the wrist's own frame, the palm's axes from the knuckles"
    changes: dict[str, Any] = {}
    if space == "world":
        axes = "x right, y up, -z ahead, turned to z up"
        keypoints = keypoints @ Z_UP_FROM_Y_UP.T
        wrist = "wrist joint as measured" if joints.wrist_quat is not None else "wrist joint, axes from the knuckles"
        changes = _wrist_pose(keypoints, joints.wrist_quat, handedness)
    return HandRecording(
        source=source,
        handedness=handedness,
        time_s=joints.time_s,
        keypoints_m=keypoints,
        valid=np.all(np.isfinite(keypoints), axis=-1),
        facts=SourceFacts(kind, "metres, taken as they are", axes, who, wrist, notes),
        **changes,
    )


def _wrist_pose(keypoints: np.ndarray, wrist_quat: np.ndarray | None, handedness: str) -> dict[str, Any]:
    """Return the wrist's fields of a recording in the room, keypoints (T, 21, 3) being in our axes already."""
    if wrist_quat is None:
        axes = knuckle_axes(keypoints, handedness)
    else:
        length = np.linalg.norm(wrist_quat, axis=-1, keepdims=True)
        unit = np.where(length > MIN_QUAT_LENGTH, wrist_quat / np.maximum(length, MIN_QUAT_LENGTH), np.nan)
        axes = Z_UP_FROM_Y_UP @ matrix_from_quat(unit) @ R_JOINT_WRIST
    valid = np.all(np.isfinite(keypoints[:, 0]), axis=-1) & np.all(np.isfinite(axes), axis=(1, 2))
    axes = np.where(valid[:, None, None], axes, np.eye(3))
    return {"wrist_pos": keypoints[:, 0], "wrist_quat": quat_from_matrix(axes), "wrist_valid": valid}


def _joints(fields: Fields, space: str) -> tuple[HeadsetJoints, tuple[str, ...]]:
    """Return the joints in a file and what has to be told about them."""
    time_s = fields.times()
    pos = fields.array("joint_positions_m", (len(time_s), None, 3))
    order = _order(fields, pos.shape[1])
    notes = () if len(OPENXR_JOINTS) == pos.shape[1] else ("no palm joint in the file, none is needed",)
    if "joint_valid" in fields:
        valid = fields.flags("joint_valid", pos.shape[:2])
    else:
        valid = np.all(np.isfinite(pos), axis=-1) & (
            np.any(pos != 0.0, axis=-1) | (np.arange(pos.shape[1]) == order[0])
        )
        notes += ("no validity in the file: joints that are missing or exactly zero count as not tracked",)
    quat = None
    if "joint_quats" in fields:
        fields.word("quaternion_order", ("xyzw",), "the order of joint_quats")
        quat = fields.array("joint_quats", (*pos.shape[:2], 4))[:, order[0]]
    return HeadsetJoints(time_s, pos[:, order], valid[:, order], quat), notes


def _order(fields: Fields, count: int) -> list[int]:
    """Return the index in the file of each of WebXR's 25 joints."""
    if "joint_names" in fields:
        names = fields.words("joint_names")
        missing = [name for name in WEBXR_JOINTS if name not in names]
        if missing or len(names) != count:
            raise RecordingError(
                f"{fields.path}: {len(names)} joint_names for {count} joints, missing: {', '.join(missing) or 'none'}"
            )
        return [names.index(name) for name in WEBXR_JOINTS]
    if count not in (len(WEBXR_JOINTS), len(OPENXR_JOINTS)):
        raise RecordingError(
            f"{fields.path}: {count} joints without joint_names; allowed are 25 (WebXR's order) and 26 (OpenXR's, the "
            "palm first)"
        )
    return list(range(count - len(WEBXR_JOINTS), count))
