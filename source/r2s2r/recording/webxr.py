"""Single hand poses from a headset through WebXR hand tracking: 25 joints in the wrist's own frame."""

from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.field_file import read_json
from r2s2r.recording.hand_facts import SourceFacts, which_hand
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.joint_orders import KEYPOINTS_OF_25, WEBXR_JOINTS

POSE_SECONDS = 1.0
"""Poses are no motion; they are put this far apart in time."""


def load_webxr(path: Path, handedness: str | None = None) -> HandRecording:
    """Return the poses of a file, one a frame, as a hand-local recording. Motion is another source: `openxr`.

    Raises:
        RecordingError: the file is missing, no JSON of this kind, or see :class:`HandRecording`.
    """
    content = read_json(path)
    try:
        order = [content["joint_names"].index(WEBXR_JOINTS[k]) for k in KEYPOINTS_OF_25]
        poses, hands = content["poses"], {pose["handedness"] for pose in content["poses"]}
        joints_mm = np.array([[pose["jointPositions"][k] for k in order] for pose in poses], dtype=float)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise RecordingError(f"{path}: no WebXR pose file ({error})") from error
    if len(hands) != 1:
        raise RecordingError(f"{path}: poses of {sorted(hands)} hands; one hand a file")
    hand, who = which_hand(path, hands.pop(), handedness)
    return HandRecording(
        source=f"WebXR {path.name}",
        handedness=hand,
        time_s=np.arange(len(poses)) * POSE_SECONDS,
        keypoints_m=joints_mm / 1000.0,
        valid=np.ones(joints_mm.shape[:2], dtype=bool),
        facts=SourceFacts(
            kind="WebXR hand poses",
            unit="millimetres, divided by 1000",
            axes="hand-local: the wrist's own frame, the palm's axes from the knuckles",
            handedness=who,
            wrist="none",
            notes=(f"single poses, no motion: {POSE_SECONDS:g} s apart",),
        ),
    )
