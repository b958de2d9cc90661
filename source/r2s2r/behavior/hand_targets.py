"""From human keypoints to where the robot hand's fingertips should be.

Each robot finger copies the directions of the human finger's parts at its own lengths, so that bent stays bent and
straight stays straight; the fan in which a human holds the fingers becomes the robot's own. The thumb's tip keeps its
place relative to the knuckles, scaled by the fingers' lengths. Where human thumb and finger come close the robot's do
too, at the human distance scaled: a pinch stays a pinch.
"""

from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.hand_model import FINGERTIPS, KNUCKLE_LINKS, MIDDLE_LINKS, HandModel
from r2s2r.contracts.errors import RetargetingError
from r2s2r.contracts.transforms import matrix_from_quat
from r2s2r.recording.hand_recording import HandRecording

FINGERS = ("thumb", "index", "middle", "ring")
"""Human fingers that the robot hand has, in the order of `hand_model.FINGERTIPS`; the little finger has no match."""

PINCH_FAR, PINCH_NEAR = 0.08, 0.03
"""Human distance between thumb and finger [m] below which the robot starts to keep it, and does so fully (scaled)."""

_KNUCKLE, _MIDDLE, _LAST, _TIP = (5, 9, 13), (6, 10, 14), (7, 11, 15), (8, 12, 16)
_THUMB_IP, _THUMB_TIP = 3, 4


@dataclass(frozen=True)
class HandTargets:
    """Targets in the robot's palm frame, fingers in the order of :data:`FINGERS`."""

    tips: np.ndarray
    """(T, 4, 3) centres of the fingertips [m]."""

    middles: np.ndarray
    """(T, 4, 3) last joint of the thumb, middle joints of the fingers [m]."""

    measured: np.ndarray
    """(T, 4) bool; where False the last measured target is held."""


def hand_targets(recording: HandRecording, hand: HandModel) -> HandTargets:
    """Return the targets of every frame of `recording`.

    Raises:
        RetargetingError: a left hand, or a finger that is not measured in any frame.
    """
    if recording.handedness != "right":
        raise RetargetingError(f"{recording.source}: a {recording.handedness} hand; the robot hand is a right one")
    points = _in_palm(recording)
    measured = _measured(points, recording)
    points = _hold(points, measured)
    rest = hand.link_pos(np.zeros((1, 16)), FINGERTIPS + MIDDLE_LINKS + KNUCKLE_LINKS)[0]
    robot_tips, robot_middles, robot_knuckles = rest[:4], rest[4:8], rest[8:]
    upper, lower = _scales(points, robot_knuckles, robot_middles[1:], robot_tips[1:])
    knuckles, middles, ends = points[:, _KNUCKLE], points[:, _MIDDLE], points[:, _TIP]
    fan = _splay(robot_middles[1:] - robot_knuckles) - _usual_splay(middles - knuckles)
    finger_middles = robot_knuckles + upper[:, None] * _turned_about_normal(middles - knuckles, fan)
    finger_tips = finger_middles + lower[:, None] * _turned_about_normal(ends - middles, fan)
    scale = float(np.mean([upper[:2], lower[:2]]))
    thumb = points[:, _THUMB_TIP]
    thumb_tip = robot_knuckles[:2].mean(axis=0) + scale * (thumb - knuckles[:, :2].mean(axis=1))
    tips = _keep_pinches(np.concatenate([thumb_tip[:, None], finger_tips], axis=1), thumb, ends, scale)
    last_length = np.linalg.norm(robot_tips[0] - robot_middles[0])
    thumb_middle = tips[:, 0] + last_length * _unit(points[:, _THUMB_IP] - thumb)
    middles = np.concatenate([thumb_middle[:, None], finger_middles], axis=1)
    return HandTargets(tips, middles, measured)


def palm_axes(recording: HandRecording) -> np.ndarray:
    """Return the palm's axes (T, 3, 3) as columns: x out of the palm, z along the hand.

    A source that measures the wrist's orientation gives them; else z runs from the wrist to the middle knuckle and y
    across the knuckles towards the index finger.
    """
    if recording.wrist_quat is not None:
        return matrix_from_quat(recording.wrist_quat)
    points = recording.keypoints_m
    along = _unit(points[:, 9] - points[:, 0])
    across = points[:, 5] - points[:, 17]
    normal = _unit(np.cross(across, along))
    return np.stack([normal, np.cross(along, normal), along], axis=-1)


def _in_palm(recording: HandRecording) -> np.ndarray:
    """Return the keypoints (T, 21, 3) in the palm's axes, relative to the wrist [m]."""
    wrist = recording.keypoints_m[:, 0] if recording.wrist_pos is None else recording.wrist_pos
    return np.einsum("tji,tkj->tki", palm_axes(recording), recording.keypoints_m - wrist[:, None])


def _scales(
    points: np.ndarray, knuckles: np.ndarray, middles: np.ndarray, tips: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return robot over human length of each finger's first part (3,) and of the rest (3,)."""
    first = np.median(_length(points[:, _MIDDLE] - points[:, _KNUCKLE]), axis=0)
    parts = _length(points[:, _LAST] - points[:, _MIDDLE]) + _length(points[:, _TIP] - points[:, _LAST])
    rest = np.median(parts, axis=0)
    # Where the last joint is not always measured the stretched finger gives the length.
    stretched = np.quantile(_length(points[:, _TIP] - points[:, _MIDDLE]), 0.95, axis=0)
    rest = np.where(np.isfinite(rest), rest, stretched)
    return _length(middles - knuckles) / first, _length(tips - middles) / rest


def _splay(first_part: np.ndarray) -> np.ndarray:
    """Return the angle (...) between a finger's first part (..., 3) and the hand's length, about the palm's normal."""
    return np.arctan2(-first_part[..., 1], first_part[..., 2])


def _usual_splay(first_part: np.ndarray) -> np.ndarray:
    """Return each finger's median splay (F,) over the frames (T, F, 3) in which its first part points forward."""
    forward = first_part[..., 2] > 0.7 * _length(first_part)
    splay = np.where(forward, _splay(first_part), np.nan)
    seen = forward.any(axis=0)
    usual = np.zeros(first_part.shape[1])
    usual[seen] = np.nanmedian(splay[:, seen], axis=0)
    return usual


def _turned_about_normal(vector: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return vectors (T, F, 3) turned about x by `angle` (F,) [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = np.moveaxis(vector, -1, 0)
    return np.stack([x, c * y - s * z, s * y + c * z], axis=-1)


def _keep_pinches(tips: np.ndarray, thumb: np.ndarray, ends: np.ndarray, scale: float) -> np.ndarray:
    """Return `tips` (T, 4, 3) with thumb and finger moved towards each other where the human's are close."""
    human = ends - thumb[:, None]
    share = np.clip((PINCH_FAR - _length(human)) / (PINCH_FAR - PINCH_NEAR), 0.0, 1.0)
    share = share * share * (3.0 - 2.0 * share)
    excess = (tips[:, 1:] - tips[:, :1]) - scale * human
    closest = share.max(axis=1, keepdims=True)
    weight = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-9) * closest
    moved = tips.copy()
    moved[:, 0] += 0.5 * np.einsum("tf,tfi->ti", weight, excess)
    moved[:, 1:] -= share[..., None] * (excess - (moved[:, :1] - tips[:, :1]))
    return moved


def _measured(points: np.ndarray, recording: HandRecording) -> np.ndarray:
    """Return which fingers (T, 4) are measured well enough in which frame."""
    needed = ((_THUMB_IP, _THUMB_TIP, *_KNUCKLE[:2]), *zip(_KNUCKLE, _MIDDLE, _TIP, strict=True))
    measured = np.stack([np.isfinite(points[:, keypoints]).all(axis=(1, 2)) for keypoints in needed], axis=1)
    unseen = [finger for finger, seen in zip(FINGERS, np.any(measured, axis=0), strict=True) if not seen]
    if unseen:
        raise RetargetingError(
            f"{recording.source}: {', '.join(unseen)} not measured in any frame; "
            "knuckle, middle joint and tip of each finger are needed"
        )
    return measured


def _hold(points: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Return keypoints (T, 21, 3) in which a finger that is not measured stays where it was in the palm.

    Before the first measurement it is where that finds it. A hidden tip left at zero would drag its finger along.
    """
    held, frames = points.copy(), np.arange(len(points))
    for finger in range(measured.shape[1]):
        seen = np.flatnonzero(measured[:, finger])
        source = seen[np.maximum(np.searchsorted(seen, frames, side="right") - 1, 0)]
        joints = slice(1 + 4 * finger, 5 + 4 * finger)
        held[:, joints] = points[source, joints]
    return held


def _length(vector: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vector, axis=-1)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / _length(vector)[..., None]
