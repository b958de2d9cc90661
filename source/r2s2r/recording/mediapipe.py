"""Hands of MediaPipe: 21 world landmarks in metres about the hand's centre. Hand-local, seen by one camera."""

from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.field_file import read_fields
from r2s2r.recording.hand_facts import HANDEDNESS, SourceFacts, other_hand, which_hand
from r2s2r.recording.hand_recording import HandRecording

WORLD, IMAGE = "hand_world_landmarks", "hand_landmarks"


def load_mediapipe(path: Path, handedness: str | None = None) -> HandRecording:
    """Return world landmarks as a hand-local recording; NaN where no hand was found in the picture.

    Raises:
        RecordingError: the file holds image landmarks alone, or says nothing about label or mirroring; see
            :class:`HandRecording`.
    """
    fields = read_fields(path)
    if WORLD not in fields and IMAGE in fields:
        raise RecordingError(
            f"{path}: {IMAGE} are places in the picture with a depth of no unit, no hand in metres; save {WORLD}"
        )
    label = fields.word("handedness", HANDEDNESS)
    mirrored = fields.flag("mirrored_input", "MediaPipe's label is that of a mirrored picture; true exchanges it")
    shown = other_hand(label) if mirrored else label
    hand, who = which_hand(path, shown, handedness)
    time_s = fields.times()
    points = fields.array(WORLD, (len(time_s), 21, 3))
    return HandRecording(
        source=f"MediaPipe {path.name}",
        handedness=hand,
        time_s=time_s,
        keypoints_m=points - points[:, :1],
        valid=np.all(np.isfinite(points), axis=-1) & np.all(np.isfinite(points[:, :1]), axis=-1),
        facts=SourceFacts(
            kind="MediaPipe world landmarks",
            unit="metres, taken as they are; MediaPipe estimates them from the look of the hand",
            axes="hand-local: relative to the wrist, the palm's axes from the knuckles",
            handedness=f"{who}, label {label}" + (" exchanged since the picture was mirrored" if mirrored else ""),
            wrist="none",
        ),
    )
