"""What a recording of the task does not say of itself: which bin it was for, and which way the belt runs."""

import numpy as np

from r2s2r.behavior.phases import PickRecord
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.transforms import quat_rotate
from r2s2r.contracts.world import OBJECT_CLASSES, CellPoses
from r2s2r.recording.cell_demonstration import CellDemonstration

SAME_RATE = 1e-3
"""Rates that differ by less than this share are one: stamps are rounded to microseconds."""


def class_of(wrist_pos_b: np.ndarray, poses: CellPoses) -> str:
    """Return the object class whose bin the wrist's path (T, 3) comes nearest to."""
    away = {
        name: np.linalg.norm(wrist_pos_b[:, :2] - np.asarray(poses.bin_pos_b[name])[:2], axis=1).min()
        for name in OBJECT_CLASSES
    }
    return min(away, key=lambda name: away[name])


def belt_velocity(poses: CellPoses, commanded_speed: float) -> np.ndarray:
    """Return the velocity of the belt's surface in the base (3,) [m/s] at a commanded speed [m/s]."""
    return quat_rotate(np.asarray(poses.belt_quat_b), np.array([poses.belt_speed_scale * commanded_speed, 0.0, 0.0]))


def pick_record(recorded: CellDemonstration, poses: CellPoses) -> tuple[str, PickRecord]:
    """Return the object class and the record of a demonstration that a cell recorded."""
    object_class = class_of(recorded.wrist_pos_b, poses)
    rate = recorded.rate_hz
    return object_class, PickRecord(
        name=recorded.name,
        wrist_pos_b=recorded.wrist_pos_b,
        wrist_quat_b=recorded.wrist_quat_b,
        hand_joint_pos=recorded.hand_joint_pos,
        bin_pos_b=np.asarray(poses.bin_pos_b[object_class]),
        rate_hz=POLICY_RATE_HZ if abs(rate / POLICY_RATE_HZ - 1.0) < SAME_RATE else rate,
        belt_velocity_b=(
            None if recorded.belt_speed is None else belt_velocity(poses, float(np.median(recorded.belt_speed)))
        ),
        tracked=recorded.tracked,
        provenance=recorded.provenance or {},
    )
