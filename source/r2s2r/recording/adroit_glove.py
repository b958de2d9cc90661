"""Demonstrations with a data glove of a simulated Adroit (Shadow) hand, as `adroit_door_demos.npz` holds them.

A person drove the hand of the door task of hand_dapg in virtual reality: its joints are the person's as the glove and
the tracker saw them and the simulated hand followed.
"""

import re
from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_exp, quat_from_matrix, quat_multiply, quat_rotate
from r2s2r.recording.hand_facts import SourceFacts, which_hand
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.npz_file import npz_names, read_npz
from r2s2r.recording.shadow_hand import PALM_AXES, SKELETON, keypoints_in_palm

STEP_S = 0.01
"""Time between rows [s]: 5 physics steps of 2 ms (hand_dapg's door environment)."""

FOREARM_EULER = (-1.57, 0.0, 3.14)
"""How the forearm is mounted: turned about x, then its own y and z [rad] (the task's model, `DAPG_door.xml`)."""

GRASP_SITE = (0.007, -0.05, 0.07)
"""Point of the palm that the recorded position is of, in the palm's frame [m]. With it, the arm's joints and the
recorded position agree within 0.5 mm, once the 2 ms are added by which the simulator's positions trail."""

OBSERVATIONS = 39
"""Numbers in a row."""

_ARM, _WRIST, _FINGERS, _PALM, _HANDLE = slice(0, 3), slice(3, 5), slice(5, 27), slice(29, 32), slice(32, 35)

_NAME = re.compile(r"(demo_\d+)/observations")


def adroit_demonstrations(path: Path) -> tuple[str, ...]:
    """Return the names of the demonstrations in a file, in natural order.

    Raises:
        RecordingError: the file is missing or damaged, or holds none.
    """
    found = [match.group(1) for name in npz_names(path) if (match := _NAME.fullmatch(name))]
    if not found:
        raise RecordingError(f"{path}: no demonstrations (arrays demo_00/observations and so on)")
    return tuple(sorted(found, key=lambda name: int(name.removeprefix("demo_"))))


def load_adroit(path: Path, handedness: str | None = None, demonstration: str | None = None) -> HandRecording:
    """Return one demonstration. The wrist is the palm's origin, in the second hinge of the wrist; the object is the
    door's handle.

    Args:
        path: file with the arrays described in the data folder's README.
        handedness: the hand asked for; Adroit is a right one.
        demonstration: its name; None: the first one.

    Raises:
        RecordingError: see :class:`HandRecording` and :func:`adroit_demonstrations`; the demonstration is unknown, or
            its rows have another width.
    """
    names = adroit_demonstrations(path)
    name = names[0] if demonstration is None else demonstration
    if name not in names:
        raise RecordingError(f"{path}: demonstration {name!r}, allowed are {', '.join(names)}")
    rows = read_npz(path, (f"{name}/observations",))[f"{name}/observations"].astype(float)
    if rows.ndim != 2 or rows.shape[1] != OBSERVATIONS:
        raise RecordingError(f"{path}: {name}/observations has shape {rows.shape}, expected (T, {OBSERVATIONS})")
    if not np.isfinite(rows).all():
        row = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise RecordingError(f"{path}: {name}/observations is not finite in row {row}")
    hand, _ = which_hand(path, "right", handedness)
    palm = palm_quat(rows[:, _ARM], rows[:, _WRIST])
    wrist_pos = rows[:, _PALM] - quat_rotate(palm, np.array(GRASP_SITE))
    wrist_quat = quat_multiply(palm, quat_from_matrix(PALM_AXES))
    local = keypoints_in_palm(rows[:, _FINGERS])
    return HandRecording(
        source=f"Adroit glove {path} {name}",
        handedness=hand,
        time_s=np.arange(len(rows)) * STEP_S,
        keypoints_m=quat_rotate(wrist_quat[:, None], local) + wrist_pos[:, None],
        valid=np.ones((len(rows), local.shape[1]), dtype=bool),
        wrist_pos=wrist_pos,
        wrist_quat=wrist_quat,
        object_pos=rows[:, _HANDLE],
        facts=_facts(name, len(names)),
    )


def palm_quat(arm: np.ndarray, wrist: np.ndarray) -> np.ndarray:
    """Return how the palm is turned in the world (T, 4) xyzw.

    Args:
        arm: turns (T, 3) of the forearm about its x, y and z, one after the other [rad].
        wrist: hinges WRJ1 about y and WRJ0 about x (T, 2) [rad].
    """
    quat = np.array([0.0, 0.0, 0.0, 1.0])
    mount = np.broadcast_to(FOREARM_EULER, (len(arm), 3))
    for axis, angle in zip((0, 1, 2, 0, 1, 2, 1, 0), np.hstack([mount, arm, wrist]).T, strict=True):
        quat = quat_multiply(quat, quat_exp(angle[:, None] * np.eye(3)[axis]))
    return quat


def _facts(name: str, count: int) -> SourceFacts:
    return SourceFacts(
        kind=f"data glove on a simulated Adroit (Shadow) hand, {name} of {count}",
        unit="metres and radians, as in the file",
        axes="x right, y away from the person, z up, which are ours",
        handedness="declared by the hand's model",
        wrist="the palm's recorded position, turned by the recorded joints of forearm and wrist",
        notes=(
            f"fact: {len(SKELETON.hinges)} finger joints of the simulated hand; keypoints by its published kinematics",
            "fact: a simulated hand and door; the motion is a person's, forces and contacts are not real",
            f"assumption: rows are {1e3 * STEP_S:g} ms of the person's time apart, as they are of the simulation's",
            "fact: the fingers start straight, where the simulation was reset, and reach the glove's pose within 0.3 s",
        ),
    )
