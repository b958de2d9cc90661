"""A stream of 21 keypoints relative to the wrist, as camera-based hand trackers give it: no wrist motion."""

from pathlib import Path

import numpy as np

from r2s2r.recording.field_file import read_fields
from r2s2r.recording.hand_facts import SourceFacts, other_hand, which_hand
from r2s2r.recording.hand_recording import HandRecording

ASSUMED_RATE_HZ = 30.0
"""The file carries no time; cameras of hand trackers run at 30 Hz."""


def load_keypoints(
    path: Path, handedness: str | None = None, *, mirrored_input: bool = False, rate_hz: float = ASSUMED_RATE_HZ
) -> HandRecording:
    """Return the keypoints `joints_m` (T, 21, 3) of an .npz file as a hand-local recording.

    Args:
        path: file with the array `joints_m` in metres, MediaPipe order.
        handedness: the label that the tracker gave, since the file does not say; right if None.
        mirrored_input: the label refers to a mirrored picture, so that `left` means a right hand.
        rate_hz: frames a second.

    Raises:
        RecordingError: see :class:`HandRecording` and :class:`Fields`.
    """
    hand, who = which_hand(path, None, handedness)
    if mirrored_input:
        hand, who = other_hand(hand), f"{who}, exchanged since the picture was mirrored"
    keypoints = read_fields(path).array("joints_m", (None, 21, 3))
    return HandRecording(
        source=f"keypoint stream {path.name}",
        handedness=hand,
        time_s=np.arange(len(keypoints)) / rate_hz,
        keypoints_m=keypoints,
        valid=np.ones(keypoints.shape[:2], dtype=bool),
        facts=SourceFacts(
            kind="stream of 21 keypoints",
            unit="metres, taken as they are",
            axes="hand-local: relative to the wrist, the palm's axes from the knuckles",
            handedness=who,
            wrist="none",
            notes=(f"the file has no times: {rate_hz:g} Hz assumed",),
        ),
    )
