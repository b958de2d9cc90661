"""Where an episode starts: the arm over the belt, the hand open and turned as for a grasp."""

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS

READY_ARM = (-0.8079, -0.5992, 0.3666, 0.7149, 1.1852, 0.6829, 1.8685)
"""Arm joints [rad] in the order of ARM_JOINTS. They put the wrist at (0.42, -0.12, 0.42) m in the base, fingers forward
and 34 degrees down, palm towards belt and base (a test recomputes the pose)."""

READY_HAND = (
    *(0.04, -0.03, 0.41, 0.18),
    *(0.0, -0.03, 0.41, 0.18),
    *(-0.04, -0.03, 0.41, 0.18),
    *(1.35, 0.14, 0.1, 0.18),
)
"""Hand joints [rad] in the order of HAND_JOINTS, open: a grasp starts here (a test compares it with the grasp's)."""

READY_JOINT_POS = dict(zip(ARM_JOINTS + HAND_JOINTS, READY_ARM + READY_HAND, strict=True))
"""All joints by name [rad]."""
