"""A made-up hand written in the layout of every source, for tests: each from its own definition of axes, not from ours.

`points` are keypoints (T, 21, 3) in the wrist's axes (x out of the palm, z along the fingers), `pos` (T, 3) and `quat`
(T, 4) the wrist in a room with z up, x to the right and y ahead.
"""

import json
from pathlib import Path

import numpy as np

from r2s2r.contracts.transforms import matrix_from_quat, quat_exp, quat_from_matrix

MEDIAPIPE_TO_MANO = (0, 5, 6, 7, 9, 10, 11, 17, 18, 19, 13, 14, 15, 1, 2, 3, 4, 8, 12, 16, 20)
"""Keypoint of each of MANO's 16 joints and the tips of thumb, index, middle, ring and little finger."""

Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Room coordinates with y up and -z ahead of those with z up and y ahead."""

LEVEL_CAMERA = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Coordinates of a level camera, x right, y down, z ahead, of a room with z up and y ahead."""


def wandering(frames: int, rate_hz: float = 30.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return time (T,), wrist position (T, 3) and orientation (T, 4) of a wrist that moves and turns slowly."""
    time_s = np.arange(frames) / rate_hz
    pos = 0.15 * np.stack([np.sin(time_s), np.cos(0.7 * time_s), np.sin(0.5 * time_s)], axis=-1) + (0.1, 0.3, 1.0)
    turn = 0.4 * np.stack([np.sin(0.9 * time_s), np.cos(0.4 * time_s), np.sin(1.1 * time_s)], axis=-1)
    return time_s, pos, quat_exp(turn + (0.0, 1.0, 0.3))


FRAMES = 60
TIME_S, POS, QUAT = wandering(FRAMES)
"""Time and wrist of the tests in which they do not matter."""


def in_room(points: np.ndarray, pos: np.ndarray, quat: np.ndarray) -> np.ndarray:
    """Return the keypoints in the room (T, 21, 3)."""
    return np.einsum("tij,tkj->tki", matrix_from_quat(quat), points) + pos[:, None]


def headset_joints(points: np.ndarray, count: int) -> np.ndarray:
    """Return 25 joints of WebXR, or 26 of OpenXR with the palm first, for keypoints (T, 21, 3) in any frame."""
    wrist = points[:, 0]
    joints = [wrist, *np.moveaxis(points[:, 1:5], 1, 0)]
    for knuckle in (5, 9, 13, 17):
        joints += [0.6 * wrist + 0.4 * points[:, knuckle], *np.moveaxis(points[:, knuckle : knuckle + 4], 1, 0)]
    palm = 0.4 * wrist + 0.6 * points[:, 9]
    return np.stack(joints if count == 25 else [palm, *joints], axis=1)


def openxr_axes(quat: np.ndarray) -> np.ndarray:
    """Return OpenXR's wrist axes (T, 3, 3) in the room with z up: y out of the back, z away from the fingers."""
    palm, across, along = np.moveaxis(matrix_from_quat(quat), -1, 0)
    return np.stack([np.cross(-palm, -along), -palm, -along], axis=-1)


def openxr_fields(points, pos, quat, time_s, handedness="right", count=26, **changes) -> dict:
    """Return the fields of OpenXR motion in the room."""
    joints = headset_joints(in_room(points, pos, quat), count) @ Y_UP.T
    quats = np.tile([0.0, 0.0, 0.0, 1.0], (*joints.shape[:2], 1))
    quats[:, count - 25] = quat_from_matrix(Y_UP @ openxr_axes(quat))
    fields = {
        "time_s": time_s,
        "handedness": handedness,
        "space": "world",
        "joint_positions_m": joints,
        "joint_quats": quats,
        "quaternion_order": "xyzw",
        "joint_valid": np.ones(joints.shape[:2], dtype=bool),
    }
    return fields | changes


def vision_pro_fields(points, pos, quat, time_s, handedness="right", count=25, **changes) -> dict:
    """Return the fields of a Vision Pro stream: ARKit's wrist axes, z towards the thumb of a right hand."""
    palm, across, along = np.moveaxis(matrix_from_quat(quat), -1, 0)
    # Our y is across the palm to the left of a hand that points ahead, palm down: a right hand's thumb, a left one's
    # little finger.
    axes = (-along, -palm, across) if handedness == "right" else (along, palm, across)
    wrist = np.tile(np.eye(4), (len(time_s), 1, 1))
    wrist[:, :3, :3], wrist[:, :3, 3] = np.stack(axes, axis=-1), pos
    joints = np.tile(np.eye(4), (len(time_s), count, 1, 1))
    room = headset_joints(in_room(points, pos, quat), 25)
    joints[:, :25, :3, 3] = np.einsum("tji,tkj->tki", wrist[:, :3, :3], room - pos[:, None])
    head = np.tile(np.eye(4), (len(time_s), 1, 1))
    head[:, 2, 3] = 1.6
    fields = {"time_s": time_s, "head": head}
    return fields | {f"{handedness}_wrist": wrist[:, None], f"{handedness}_fingers": joints} | changes


def mano_joint_fields(points, pos, quat, time_s, handedness="right", **changes) -> dict:
    """Return the fields of MANO joints seen by a level camera."""
    joints = in_room(points, pos, quat)[:, MEDIAPIPE_TO_MANO] @ LEVEL_CAMERA.T
    fields = {"time_s": time_s, "handedness": handedness, "space": "world", "up_axis": "-y"}
    return fields | {"mano_joints_m": joints, "joint_order": "mano"} | changes


def mano_parameter_fields(flat, bend, pos, quat, time_s, rest_turn=(0.3, -0.8, 1.9), **changes) -> dict:
    """Return the fields of MANO parameters of a right hand whose finger joints bend by `bend` (T, 4) each [rad].

    Args:
        flat: keypoints (21, 3) of the flat hand in the wrist's axes [m].
        bend: of index, middle, ring and little finger.
        pos: of the wrist (T, 3).
        quat: of the wrist (T, 4).
        time_s: (T,).
        rest_turn: how the rest pose lies in the model's frame [rad].
        changes: fields to change.
    """
    rest_axes = matrix_from_quat(quat_exp(np.array(rest_turn)))
    rest = flat[list(MEDIAPIPE_TO_MANO)] @ rest_axes.T + (0.09, 0.006, 0.006)
    pose = np.zeros((len(time_s), 15, 3))
    for first, finger in ((0, 0), (3, 1), (6, 3), (9, 2)):  # index, middle, little, ring finger
        pose[:, first : first + 3] = bend[:, None, finger, None] * rest_axes[:, 1]
    # In the room the wrist's axes are quat; in the model they are rest_axes.
    root = Y_UP @ matrix_from_quat(quat) @ rest_axes.T
    fields = {
        "time_s": time_s,
        "handedness": "right",
        "up_axis": "y",
        "pose_space": "axis_angle",
        "pose_mean": "flat",
        "hand_pose": pose.reshape(len(time_s), 45),
        "global_orient": _rotvec(root),
        "transl": pos @ Y_UP.T - rest[0],
        "rest_joints": rest,
    }
    return fields | changes


def mediapipe_fields(points, quat, time_s, handedness="right", **changes) -> dict:
    """Return the fields of MediaPipe world landmarks: about the hand's centre, in a camera's axes."""
    turned = in_room(points, np.zeros((len(time_s), 3)), quat) @ LEVEL_CAMERA.T
    fields = {"time_s": time_s, "handedness": handedness, "mirrored_input": False}
    return fields | {"hand_world_landmarks": turned - turned.mean(axis=1, keepdims=True)} | changes


FIELDS = {"openxr": openxr_fields, "vision_pro": vision_pro_fields, "mano": mano_joint_fields}
"""What makes the fields of each source type that has the wrist's motion, of (points, pos, quat, time_s, handedness)."""


def save(path: Path, fields: dict) -> Path:
    """Write fields as .npz or, by the name's end, as .json, and return the path."""
    if path.suffix == ".json":
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items()}
        path.write_text(json.dumps(plain).replace("NaN", "null"))
    else:
        np.savez(path, **fields)
    return path


def _rotvec(matrix: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(matrix).as_rotvec()
