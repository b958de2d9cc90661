"""Leap Motion controller: palm pose and finger joints, as `leap_grab.npz` and `leap_pinch.npz` hold them."""

from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.recording.field_file import read_fields
from r2s2r.recording.hand_axes import Z_UP_FROM_Y_UP
from r2s2r.recording.hand_facts import SourceFacts, which_hand
from r2s2r.recording.hand_recording import HandRecording

FINGERS = ("thumb", "index", "middle", "ring", "pinky")
JOINTS = ("mcp", "pip", "dip", "tip")

UNIT_TOLERANCE = 0.01
"""How far the length of the palm's unit vectors may be from one; the device's are off by 1e-6."""


def load_leap(path: Path, handedness: str | None = None) -> HandRecording:
    """Return a Leap Motion recording. The wrist frame lies in the centre of the palm, where the device puts it.

    The four joints that the device gives a thumb are those that MediaPipe calls cmc, mcp, ip and tip. The wrist joint
    (keypoint 0) is not part of the recording.

    Args:
        path: file with the arrays that docs/human-recordings.md describes.
        handedness: which hand it was, since the file does not say; right if None.

    Raises:
        RecordingError: see :class:`HandRecording` and :class:`Fields`; finger or joint names in another order.
    """
    fields = read_fields(path)
    hand, who = which_hand(path, None, handedness)
    time_us = fields.times("time_us")
    frames = len(time_us)
    position, normal, direction = (
        fields.array(name, (frames, 3)) @ Z_UP_FROM_Y_UP.T
        for name in ("palm_position_mm", "palm_normal", "palm_direction")
    )
    joints = fields.array("finger_joints_mm", (frames, len(FINGERS), len(JOINTS), 3)) @ Z_UP_FROM_Y_UP.T
    if fields.words("finger_names") != FINGERS or fields.words("joint_names") != JOINTS:
        raise RecordingError(f"{path}: finger or joint names differ from {', '.join(FINGERS)} by {', '.join(JOINTS)}")
    keypoints = np.full((frames, 21, 3), np.nan)
    keypoints[:, 1:] = joints.reshape(frames, 20, 3) / 1000.0
    valid = np.ones((frames, 21), dtype=bool)
    valid[:, 0] = False
    return HandRecording(
        source=f"Leap Motion {path.name}",
        handedness=hand,
        time_s=(time_us - time_us[0]) / 1e6,
        keypoints_m=keypoints,
        valid=valid,
        wrist_pos=position / 1000.0,
        wrist_quat=_palm_quat(path, normal, direction),
        facts=SourceFacts(
            kind="Leap Motion controller",
            unit="millimetres, divided by 1000",
            axes="x right, y up, z towards the user, turned to z up",
            handedness=who,
            wrist="centre of the palm, axes from its normal and direction as measured",
            notes=("the wrist joint itself is not in the file",),
        ),
    )


def _palm_quat(path: Path, normal: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return the orientation (T, 4) of a palm with the measured unit vectors (T, 3)."""
    lengths = np.linalg.norm([normal, direction], axis=-1)
    broken = ~(np.abs(lengths - 1.0) < UNIT_TOLERANCE).all(axis=0)
    if broken.any():
        raise RecordingError(
            f"{path}: palm_normal or palm_direction is no unit vector at frame {int(np.argmax(broken))}"
        )
    return quat_from_matrix(np.stack([normal, np.cross(direction, normal), direction], axis=-1))
