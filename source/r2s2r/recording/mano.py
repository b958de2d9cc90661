"""Hands of the MANO model: joints, or pose parameters together with the joints of the rest pose.

No part of the licensed model is needed: its 16 joints form a chain, and where they are at rest comes with the file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_from_matrix, so3_exp
from r2s2r.recording.field_file import Fields, read_fields
from r2s2r.recording.hand_axes import Z_UP_FROM, knuckle_axes
from r2s2r.recording.hand_facts import HANDEDNESS, SourceFacts, which_hand
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.joint_orders import KEYPOINTS_OF_MANO, MANO_PARENTS, MANO_TIP_PARENTS

JOINT_ORDERS = {"mano": KEYPOINTS_OF_MANO, "openpose": tuple(range(21))}
"""MANO's own order with the five tips behind, and that of MediaPipe and OpenPose."""

SPACES = ("world", "wrist")
"""Whether joints move about with the wrist, or are relative to it."""

POSE_SPACES, POSE_MEANS = ("axis_angle", "pca"), ("flat", "mean")

POSE_SIZE = 3 * (len(MANO_PARENTS) - 1)
"""Rotation vectors of the 15 joints that are not the wrist."""


def load_mano(path: Path, handedness: str | None = None) -> HandRecording:
    """Return joints (`mano_joints_m`) or parameters (`hand_pose`) laid out as in docs/human-recordings.md.

    Raises:
        RecordingError: a field is missing, of a wrong shape or not allowed: the order of the joints, the space of the
            pose and its mean are never guessed; see :class:`HandRecording`.
    """
    fields = read_fields(path)
    hand, who = which_hand(path, fields.word("handedness", HANDEDNESS), handedness)
    time_s = fields.times()
    if "mano_joints_m" in fields:
        points, moves = _ordered_joints(fields, len(time_s)), fields.word("space", SPACES) == "world"
        axes, how = knuckle_axes(points, hand), "wrist joint, axes from the knuckles"
        notes = ()
    else:
        points, axes, notes = _posed(fields, hand, len(time_s))
        moves, how = "transl" in fields, "wrist joint and global_orient"
    valid = np.all(np.isfinite(points), axis=-1)
    if "joint_valid" in fields:
        valid &= fields.flags("joint_valid", points.shape[:2])
    told, wrist = "hand-local: relative to the wrist, the palm's axes from the knuckles", {}
    if moves:
        up = fields.word("up_axis", tuple(Z_UP_FROM), "which axis of the file points up")
        points, axes = points @ Z_UP_FROM[up].T, Z_UP_FROM[up] @ axes
        told, wrist = f"{up} up" + ("" if up == "z" else ", turned to z up"), _wrist(points, axes, valid)
    return HandRecording(
        source=f"MANO {path.name}",
        handedness=hand,
        time_s=time_s,
        keypoints_m=points,
        valid=valid,
        facts=SourceFacts("MANO hand", "metres, taken as they are", told, who, how if moves else "none", notes),
        **wrist,
    )


def chain_joints(rest: np.ndarray, rotvec: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return joints and tips (T, 21, 3) and the wrist's rotation (T, 3, 3), the wrist where it is at rest.

    Args:
        rest: (21, 3) MANO's 16 joints and five tips in the rest pose [m].
        rotvec: (T, 16, 3) rotation vector of each joint relative to its parent, the wrist's first [rad].
    """
    turns = so3_exp(rotvec)
    frames = [turns[:, 0]]
    places = [np.tile(rest[0], (len(rotvec), 1))]
    for joint, parent in enumerate(MANO_PARENTS[1:], start=1):
        places.append(places[parent] + frames[parent] @ (rest[joint] - rest[parent]))
        frames.append(frames[parent] @ turns[:, joint])
    for tip, parent in enumerate(MANO_TIP_PARENTS, start=len(MANO_PARENTS)):
        places.append(places[parent] + frames[parent] @ (rest[tip] - rest[parent]))
    return np.stack(places, axis=1), frames[0]


def _ordered_joints(fields: Fields, frames: int) -> np.ndarray:
    """Return keypoints (T, 21, 3) of a file of joints."""
    joints = fields.array("mano_joints_m", (frames, 21, 3))
    order = fields.word("joint_order", tuple(JOINT_ORDERS), "the order of mano_joints_m")
    return joints[:, JOINT_ORDERS[order]]


def _posed(fields: Fields, handedness: str, frames: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return keypoints (T, 21, 3), the palm's axes (T, 3, 3) and notes of a file of parameters."""
    pose, notes = _hand_pose(fields, frames)
    rest = fields.array("rest_joints", (None, 3))
    if len(rest) != 21:
        raise RecordingError(
            f"{fields.path}: rest_joints has {len(rest)} rows, expected 21: the 16 joints, then the tips of thumb, "
            "index, middle, ring and little finger, which are vertices of the model"
        )
    root = fields.array("global_orient", (frames, 3))
    points, turn = chain_joints(rest, np.concatenate([root[:, None], pose.reshape(frames, -1, 3)], axis=1))
    if "transl" in fields:
        points = points + fields.array("transl", (frames, 3))[:, None]
    palm = knuckle_axes(rest[list(KEYPOINTS_OF_MANO)], handedness)
    return points[:, KEYPOINTS_OF_MANO], turn @ palm, notes


def _hand_pose(fields: Fields, frames: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the 15 joints' rotation vectors (T, 45), relative to the rest pose, and what they were made of."""
    why = "the same numbers mean other hands in each"
    space = fields.word("pose_space", POSE_SPACES, why)
    mean = fields.word("pose_mean", POSE_MEANS, why)
    if space == "axis_angle":
        pose, told = fields.array("hand_pose", (frames, POSE_SIZE)), "axis-angle"
    else:
        said, pose = float(fields.array("components", ())), fields.array("hand_pose", (frames, None))
        count = pose.shape[1]
        if count != said:
            raise RecordingError(f"{fields.path}: hand_pose has {count} columns, components says {said:g}")
        pose, told = pose @ fields.array("pca_basis", (count, POSE_SIZE)), f"PCA of {count} components"
    if mean == "mean":
        pose = pose + fields.array("mean_pose", (POSE_SIZE,))
    return pose, (f"pose: {told}, " + ("mean pose of the file added" if mean == "mean" else "flat hand at zero"),)


def _wrist(points: np.ndarray, axes: np.ndarray, valid: np.ndarray) -> dict[str, Any]:
    """Return the wrist's fields of a recording; a wrist without its axes is not tracked."""
    seen = valid[:, 0] & np.all(np.isfinite(axes), axis=(1, 2))
    quat = quat_from_matrix(np.where(seen[:, None, None], axes, np.eye(3)))
    return {"wrist_pos": points[:, 0], "wrist_quat": quat, "wrist_valid": seen}
