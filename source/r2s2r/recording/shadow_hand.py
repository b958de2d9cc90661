"""The Shadow hand as Adroit models it: two wrist hinges, 22 hinges of the fingers, and where the keypoints are.

Places, axes and lengths: `resources/chain.xml` of vikashplus/Adroit (Apache-2.0, after the maker's description). Names
are the maker's: first, middle, ring, little finger and thumb; within a finger the highest number is nearest the palm.
"""

import numpy as np

from r2s2r.recording.hand_skeleton import ROOT, HandSkeleton, Hinge

WRIST_TO_PALM_M = 0.034
"""From the first hinge of the wrist (WRJ1, about y) to the second (WRJ0, about x), which is the palm's origin [m]."""

PALM_AXES = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Columns: our wrist axes (x out of the palm, y to the index side, z along the fingers) in the palm's frame, in which
stretched fingers point along z and bend towards -y, and the first finger lies on the side of x."""

PROXIMAL_M, MIDDLE_M, TIP_M = 0.045, 0.025, 0.026
"""Parts of every finger, the last one to the tip [m]."""

THUMB_M = (0.038, 0.032, 0.0275)
"""Parts of the thumb, the last one to the tip [m]."""

_X, _Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
_ORIGIN = (0.0, 0.0, 0.0)

_FINGERS = (
    ("FF", "index", ROOT, (0.033, 0.0, 0.095)),
    ("MF", "middle", ROOT, (0.011, 0.0, 0.099)),
    ("RF", "ring", ROOT, (-0.011, 0.0, 0.095)),
    ("LF", "pinky", "LFJ4", (-0.017, 0.0, 0.044)),
)
"""Name, our name, what the knuckle hangs on, and where it is there [m]."""


def _skeleton() -> HandSkeleton:
    hinges, keypoints = [], {"wrist": (ROOT, _ORIGIN)}
    for short, finger, parent, knuckle in _FINGERS:
        if parent != ROOT:  # the little finger's metacarpal arches the palm
            hinges.append(Hinge(parent, ROOT, (-0.017, 0.0, 0.044), (0.571, 0.0, 0.821)))
        hinges += [
            Hinge(f"{short}J3", parent, knuckle, _Y),
            Hinge(f"{short}J2", f"{short}J3", _ORIGIN, _X),
            Hinge(f"{short}J1", f"{short}J2", (0.0, 0.0, PROXIMAL_M), _X),
            Hinge(f"{short}J0", f"{short}J1", (0.0, 0.0, MIDDLE_M), _X),
        ]
        keypoints |= {f"{finger}_{name}": (f"{short}J{k}", _ORIGIN) for name, k in (("mcp", 2), ("pip", 1), ("dip", 0))}
        keypoints[f"{finger}_tip"] = (f"{short}J0", (0.0, 0.0, TIP_M))
    hinges += [
        Hinge("THJ4", ROOT, (0.034, -0.009, 0.029), (0.0, 0.0, -1.0), (0.0, 0.785, 0.0)),
        Hinge("THJ3", "THJ4", _ORIGIN, _X),
        Hinge("THJ2", "THJ3", (0.0, 0.0, THUMB_M[0]), _X),
        Hinge("THJ1", "THJ2", _ORIGIN, _Y),
        Hinge("THJ0", "THJ1", (0.0, 0.0, THUMB_M[1]), _Y),
    ]
    keypoints |= {"thumb_cmc": ("THJ3", _ORIGIN), "thumb_mcp": ("THJ1", _ORIGIN), "thumb_ip": ("THJ0", _ORIGIN)}
    keypoints["thumb_tip"] = ("THJ0", (0.0, 0.0, THUMB_M[2]))
    return HandSkeleton(tuple(hinges), keypoints)


SKELETON = _skeleton()
"""In the palm's frame; its 22 hinges are in the order of Adroit's joint vectors."""


def keypoints_in_palm(joint_pos: np.ndarray) -> np.ndarray:
    """Return keypoints (T, 21, 3) [m] in our wrist axes at the palm's origin, at joint positions (T, 22) [rad]."""
    return SKELETON.keypoints_r(joint_pos) @ PALM_AXES
