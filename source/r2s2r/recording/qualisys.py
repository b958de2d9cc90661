"""Optical motion capture of a right hand: markers on its back and fingers, and on the object it reaches for."""

from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.recording.field_file import Fields, read_fields
from r2s2r.recording.hand_facts import SourceFacts, which_hand
from r2s2r.recording.hand_recording import KEYPOINTS, HandRecording

HAND_MARKERS = ("hand_top", "hand_left", "hand_right")
"""Rigid triangle on the back of the hand: top towards the fingers, left on the thumb's side."""

OBJECT_MARKERS = ("pillow_top", "pillow_left", "pillow_right")

FINGER_MARKERS = {
    "thumb_tip": "thumb_tip",
    "thumb_ip": "thumb_middle",
    **{f"{finger}_tip": f"{finger}_tip" for finger in ("index", "middle", "ring")},
    **{f"{finger}_pip": f"{finger}_middle" for finger in ("index", "middle", "ring")},
    "pinky_tip": "little_tip",
    "pinky_pip": "little_middle",
}
"""Marker of each keypoint. The middle markers sit on the skin near the middle joints; knuckles carry none."""

RIGID_TO_M = 0.002
"""How far a distance of the hand's triangle may vary (standard deviation) [m]; measured: 0.0001."""


SHORTEST_SIDE_M = 0.01
"""Markers closer together than this show no direction [m]; measured: 0.031."""


def load_qualisys(path: Path, handedness: str | None = None) -> HandRecording:
    """Return a reach-and-grasp recording with the wrist's and the object's motion. The layout is that of a right hand.

    The wrist frame lies in the centre of the triangle: y from the right to the left marker, z towards the top marker, x
    through the hand, out of the palm.

    Raises:
        RecordingError: markers are missing, the hand's triangle is never seen or not rigid; see :class:`HandRecording`.
    """
    fields = read_fields(path)
    time_s = fields.times()
    markers = _named_markers(fields, len(time_s))
    hand, _ = which_hand(path, "right", handedness)
    wrist_pos, axes, seen = _hand_pose(markers, path)
    keypoints = np.full((len(time_s), 21, 3), np.nan)
    for keypoint, marker in FINGER_MARKERS.items():
        keypoints[:, KEYPOINTS.index(keypoint)] = markers[marker]
    return HandRecording(
        source=f"Qualisys {path.name}",
        handedness=hand,
        time_s=time_s,
        keypoints_m=keypoints,
        valid=np.all(np.isfinite(keypoints), axis=-1),
        wrist_pos=wrist_pos,
        wrist_quat=quat_from_matrix(axes),
        wrist_valid=seen,
        object_pos=np.mean([markers[name] for name in OBJECT_MARKERS], axis=0),
        facts=SourceFacts(
            kind="Qualisys optical motion capture",
            unit="millimetres, divided by 1000",
            axes="z up, taken as it is",
            handedness="by the layout of the markers",
            wrist="rigid triangle of markers on the back of the hand",
            notes=("knuckles carry no markers: middle joints and tips only",),
        ),
    )


def _named_markers(fields: Fields, frames: int) -> dict[str, np.ndarray]:
    """Return positions (T, 3) [m] of each marker that is needed."""
    names = fields.words("marker_names")
    needed = (*HAND_MARKERS, *OBJECT_MARKERS, *FINGER_MARKERS.values())
    missing = [name for name in needed if name not in names]
    if missing:
        raise RecordingError(f"{fields.path}: markers missing: {', '.join(missing)}; the file has {', '.join(names)}")
    markers = fields.array("markers_mm", (frames, len(names), 3)) / 1000.0
    markers = np.where(np.isfinite(markers), markers, np.nan)
    return {name: markers[:, names.index(name)] for name in needed}


def _hand_pose(markers: dict[str, np.ndarray], path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions (T, 3), axes (T, 3, 3) and whether it was seen (T,) of the triangle on the back of the hand."""
    triangle = np.stack([markers[name] for name in HAND_MARKERS])
    seen = np.all(np.isfinite(triangle), axis=(0, 2))
    if not seen.any():
        raise RecordingError(f"{path}: the markers {', '.join(HAND_MARKERS)} are never seen together")
    top, left, right = np.where(seen[:, None], triangle, triangle[:, np.argmax(seen)][:, None])
    sides = np.array([np.linalg.norm(a - b, axis=-1) for a, b in ((top, left), (top, right), (left, right))])
    spread, shortest = float(sides.std(axis=1).max()), float(sides.min())
    if not (spread <= RIGID_TO_M and shortest >= SHORTEST_SIDE_M):
        raise RecordingError(
            f"{path}: the markers {', '.join(HAND_MARKERS)} are no rigid triangle: sides vary by {spread:.4f} m "
            f"and are {shortest:.4f} m at least; allowed are {RIGID_TO_M} m, and {SHORTEST_SIDE_M} m and more"
        )
    across = _unit(left - right)
    normal = _unit(np.cross(across, top - 0.5 * (left + right)))
    axes = np.stack([normal, across, np.cross(normal, across)], axis=-1)
    return (top + left + right) / 3.0, axes, seen


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)
