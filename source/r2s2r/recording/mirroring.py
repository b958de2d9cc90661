"""A left hand as a right one: everything seen in a mirror that stands upright."""

from dataclasses import replace

import numpy as np

from r2s2r.recording.hand_facts import other_hand
from r2s2r.recording.hand_recording import HandRecording

_ACROSS = np.array([1.0, -1.0, 1.0])
"""The mirror is the plane of x and z. Up stays up, and the wrist's y, across the palm, changes sides too."""

_TURNED = np.array([-1.0, 1.0, -1.0, 1.0])
"""What becomes of a quaternion when both frames are mirrored in y."""


def mirrored(recording: HandRecording) -> HandRecording:
    """Return `recording` as the other hand: y of the world becomes -y."""
    other = other_hand(recording.handedness)
    facts = recording.facts
    if facts is not None:
        facts = replace(facts, handedness=f"a {recording.handedness} hand ({facts.handedness}) mirrored on request")
    return replace(
        recording,
        handedness=other,
        keypoints_m=recording.keypoints_m * _ACROSS,
        wrist_pos=None if recording.wrist_pos is None else recording.wrist_pos * _ACROSS,
        wrist_quat=None if recording.wrist_quat is None else recording.wrist_quat * _TURNED,
        object_pos=None if recording.object_pos is None else recording.object_pos * _ACROSS,
        measured_handedness=other,
        facts=facts,
    )
