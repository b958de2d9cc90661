"""Single hand poses from a headset through WebXR hand tracking: 25 joints in the wrist's own frame."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.hand_recording import HandRecording

POSE_SECONDS = 1.0
"""Poses are no motion; they are put this far apart in time."""

_FINGERS = ("index-finger", "middle-finger", "ring-finger", "pinky-finger")
KEYPOINT_NAMES = (
    "wrist",
    *(f"thumb-{joint}" for joint in ("metacarpal", "phalanx-proximal", "phalanx-distal", "tip")),
    *(
        f"{finger}-{joint}"
        for finger in _FINGERS
        for joint in ("phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip")
    ),
)
"""WebXR's name of each of the 21 keypoints; the metacarpals of the four fingers have no counterpart."""


def load_webxr(path: Path) -> HandRecording:
    """Return the poses of a file, one a frame, as a hand-local recording.

    Raises:
        RecordingError: the file is missing, no JSON of this kind, or see :class:`HandRecording`.
    """
    content = _read_json(path)
    try:
        order = [content["joint_names"].index(name) for name in KEYPOINT_NAMES]
        poses, handedness = content["poses"], {pose["handedness"] for pose in content["poses"]}
        joints_mm = np.array([[pose["jointPositions"][k] for k in order] for pose in poses], dtype=float)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise RecordingError(f"{path}: no WebXR pose file ({error})") from error
    if len(handedness) != 1:
        raise RecordingError(f"{path}: poses of {sorted(handedness)} hands; one hand a file")
    return HandRecording(
        source=f"WebXR {path}",
        handedness=handedness.pop(),
        time_s=np.arange(len(poses)) * POSE_SECONDS,
        keypoints_m=joints_mm / 1000.0,
        valid=np.ones(joints_mm.shape[:2], dtype=bool),
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecordingError(f"{path}: there is no such file") from error
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: damaged, or no JSON ({error})") from error
