"""Leap Motion controller: palm pose and finger joints, as `leap_grab.npz` and `leap_pinch.npz` hold them."""

from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.recording.hand_axes import Z_UP_FROM_Y_UP
from r2s2r.recording.hand_facts import SourceFacts, which_hand
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.npz_file import read_npz

FINGERS = ("thumb", "index", "middle", "ring", "pinky")
JOINTS = ("mcp", "pip", "dip", "tip")

_ARRAYS = (
    "time_us",
    "palm_position_mm",
    "palm_normal",
    "palm_direction",
    "finger_joints_mm",
    "finger_names",
    "joint_names",
)


def load_leap(path: Path, handedness: str | None = None) -> HandRecording:
    """Return a Leap Motion recording. The wrist frame lies in the centre of the palm, where the device puts it.

    The four joints that the device gives a thumb are those that MediaPipe calls cmc, mcp, ip and tip. The wrist joint
    (keypoint 0) is not part of the recording.

    Args:
        path: file with the arrays that docs/human-recordings.md describes.
        handedness: which hand it was, since the file does not say; right if None.

    Raises:
        RecordingError: see :class:`HandRecording` and :func:`read_npz`; finger or joint names in another order.
    """
    arrays = read_npz(path, _ARRAYS)
    if tuple(arrays["finger_names"]) != FINGERS or tuple(arrays["joint_names"]) != JOINTS:
        raise RecordingError(f"{path}: finger or joint names differ from {', '.join(FINGERS)} by {', '.join(JOINTS)}")
    hand, who = which_hand(path, None, handedness)
    frames = len(arrays["time_us"])
    keypoints = np.full((frames, 21, 3), np.nan)
    keypoints[:, 1:] = arrays["finger_joints_mm"].reshape(frames, 20, 3) @ Z_UP_FROM_Y_UP.T / 1000.0
    valid = np.ones((frames, 21), dtype=bool)
    valid[:, 0] = False
    normal, direction = arrays["palm_normal"] @ Z_UP_FROM_Y_UP.T, arrays["palm_direction"] @ Z_UP_FROM_Y_UP.T
    axes = np.stack([normal, np.cross(direction, normal), direction], axis=-1)
    return HandRecording(
        source=f"Leap Motion {path.name}",
        handedness=hand,
        time_s=(arrays["time_us"] - arrays["time_us"][:1]) / 1e6,
        keypoints_m=keypoints,
        valid=valid,
        wrist_pos=arrays["palm_position_mm"] @ Z_UP_FROM_Y_UP.T / 1000.0,
        wrist_quat=quat_from_matrix(axes),
        facts=SourceFacts(
            kind="Leap Motion controller",
            unit="millimetres, divided by 1000",
            axes="x right, y up, z towards the user, turned to z up",
            handedness=who,
            wrist="centre of the palm, axes from its normal and direction as measured",
            notes=("the wrist joint itself is not in the file",),
        ),
    )
