"""The Inspire RH56 right hand: six motors, twelve hinges, and where its keypoints are.

Lengths, coupling and ranges: `inspire_hand_right.urdf` of dexsuite/dex-urdf (robots/hands/inspire_hand). The maker's
description (`DFQ_right_hand.urdf` of unitreerobotics/unitree_ros) has the same lengths; it couples a finger's second
joint 1 to 1 and bends further (1.7 rad), and the thumb's last joint more than twice as far.
"""

import numpy as np

from r2s2r.recording.hand_skeleton import ROOT, HandSkeleton, Hinge

MOTORS = ("Pinky", "Ring", "Middle", "Index", "ThumbBend", "ThumbRotation")
"""The six motors in the maker's order."""

FINGER_RANGE, THUMB_BEND_RANGE, THUMB_ROTATION_RANGE = 1.47, 0.6, 1.308
"""Way of a motor's first hinge [rad]: 0 at share 1 (open), this far at share 0 (closed; the thumb opposed)."""

FINGER_COUPLING = (1.06399, -0.04545)
"""Second hinge of a finger = 1.06399 x first - 0.04545 [rad]: a four-bar linkage, made linear."""

THUMB_COUPLING = (1.334, 0.667)
"""Second and third bending hinge of the thumb over its first."""

_PI = np.pi

_FINGERS = (
    # name, knuckle in the base, its turn about x, middle joint in the knuckle, tip in the middle joint
    ("index", (0.00028533, -0.13653, -0.032268), -3.1067, (-0.0026138, 0.032026, -0.001), (-0.0008, 0.045, -0.005)),
    ("middle", (0.00028533, -0.1371, -0.01295), -_PI, (-0.0024229, 0.032041, -0.001), (-0.001, 0.048, -0.005)),
    ("ring", (0.00028533, -0.13691, 0.0062872), 3.0892, (-0.0024229, 0.032041, -0.001), (-0.0008, 0.045, -0.005)),
    ("pinky", (0.00028533, -0.13571, 0.025488), 3.0369, (-0.0024229, 0.032041, -0.001), (-0.0008, 0.037, -0.005)),
)
"""[m, rad]; a finger has two hinges, so that there is no last joint before the tip."""

_Z = (0.0, 0.0, 1.0)

PALM_AXES = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]])
"""Columns: our wrist axes (x out of the palm, y to the index side, z along the fingers) in the hand's base frame, in
which open fingers lie along -y, the index finger on the side of -z and the thumb on that of -x."""


def _skeleton() -> HandSkeleton:
    hinges = [
        Hinge("thumb_yaw", ROOT, (-0.01696, -0.0691, -0.02045), (0.0, 0.0, -1.0), (0.5 * _PI, -0.5 * _PI, 0.0)),
        Hinge("thumb_1", "thumb_yaw", (-0.0088099, 0.010892, -0.00925), _Z, (0.5 * _PI, 0.0, 2.8587)),
        Hinge("thumb_2", "thumb_1", (0.04407, 0.034553, -0.0008), _Z),
        Hinge("thumb_3", "thumb_2", (0.020248, 0.010156, -0.0012), _Z),
    ]
    origin = (0.0, 0.0, 0.0)
    keypoints = {"wrist": (ROOT, origin), "thumb_tip": ("thumb_3", (0.0202, 0.0140, -0.006))}
    keypoints |= {f"thumb_{point}": (f"thumb_{k}", origin) for k, point in ((1, "cmc"), (2, "mcp"), (3, "ip"))}
    for finger, knuckle, roll, middle, tip in _FINGERS:
        hinges.append(Hinge(f"{finger}_1", ROOT, knuckle, _Z, (roll, 0.0, 0.0)))
        hinges.append(Hinge(f"{finger}_2", f"{finger}_1", middle, _Z))
        keypoints |= {f"{finger}_mcp": (f"{finger}_1", origin), f"{finger}_pip": (f"{finger}_2", origin)}
        keypoints |= {f"{finger}_tip": (f"{finger}_2", tip)}
    return HandSkeleton(tuple(hinges), keypoints)


SKELETON = _skeleton()
"""In the frame of the hand's base."""


def hinge_angles(share: np.ndarray) -> np.ndarray:
    """Return the hinges (T, 12) [rad] of :data:`SKELETON` at shares (T, 6) of the motors in the order of MOTORS."""
    way = 1.0 - np.clip(share, 0.0, 1.0)
    bend = THUMB_BEND_RANGE * way[:, 4]
    columns = [THUMB_ROTATION_RANGE * way[:, 5], bend, THUMB_COUPLING[0] * bend, THUMB_COUPLING[1] * bend]
    for motor in (3, 2, 1, 0):  # index to pinky
        first = FINGER_RANGE * way[:, motor]
        columns += [first, FINGER_COUPLING[0] * first + FINGER_COUPLING[1]]
    return np.stack(columns, axis=-1)


def keypoints_in_palm(share: np.ndarray) -> np.ndarray:
    """Return keypoints (T, 21, 3) [m] in our wrist axes at the hand's base; NaN where the hand has no such joint."""
    return SKELETON.keypoints_r(hinge_angles(share)) @ PALM_AXES
