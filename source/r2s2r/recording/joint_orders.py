"""Orders of hand joints in files, and which of them are our 21 keypoints.

Headsets know the bones inside the palm too: 25 joints, the four fingers' metacarpals beside our keypoints.
"""

_FINGERS = ("index-finger", "middle-finger", "ring-finger", "pinky-finger")

WEBXR_JOINTS = (
    "wrist",
    *(f"thumb-{joint}" for joint in ("metacarpal", "phalanx-proximal", "phalanx-distal", "tip")),
    *(
        f"{finger}-{joint}"
        for finger in _FINGERS
        for joint in ("metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip")
    ),
)
"""The 25 joints of WebXR Hand Input in its order; ARKit's first 25 are the same joints under other names."""

OPENXR_JOINTS = ("palm", *WEBXR_JOINTS)
"""The 26 joints of OpenXR (XrHandJointEXT) in its order, by WebXR's names."""

KEYPOINTS_OF_25 = tuple(k for k, name in enumerate(WEBXR_JOINTS) if "finger-metacarpal" not in name)
"""Index into :data:`WEBXR_JOINTS` of each of the 21 keypoints."""

MANO_PARENTS = (-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11, 0, 13, 14)
"""Parent of each of MANO's 16 joints: wrist, then three each of index, middle, pinky, ring finger and thumb."""

MANO_TIP_PARENTS = (15, 3, 6, 12, 9)
"""Joint that moves each of the five tips, which follow the 16 joints: thumb, index, middle, ring, pinky."""

KEYPOINTS_OF_MANO = (0, 13, 14, 15, 16, 1, 2, 3, 17, 4, 5, 6, 18, 10, 11, 12, 19, 7, 8, 9, 20)
"""Index into MANO's 16 joints and five tips of each of the 21 keypoints."""
