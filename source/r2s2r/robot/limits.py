"""What the joints can do, by the vendors, and how fast the tool may move."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS

TOOL_SPEED_LIMIT = 1.0
"""Largest speed of the end effector [m/s] (UFACTORY xArm user manual, technical specifications, xArm 5/6/7)."""

ARM_ACCELERATION_LIMIT = 20.0
"""Largest acceleration of an arm joint [rad/s2]: 1145 deg/s2 (xArm developer manual, motion parameters)."""


@dataclass(frozen=True)
class JointLimits:
    """Limits of named joints, each array in their order (J)."""

    names: tuple[str, ...]
    """Joint names (J)."""
    lower: np.ndarray
    """Smallest position (J) [rad]."""
    upper: np.ndarray
    """Largest position (J) [rad]."""
    velocity: np.ndarray
    """Largest speed (J) [rad/s]."""
    effort: np.ndarray
    """Largest torque (J) [N m]."""


def _arm() -> JointLimits:
    """xArm7. Positions and torques: the vendor's URDF (xarm_ros2, xarm_description, xarm7). Speed: 180 deg/s (user
    manual, technical specifications), which the URDF rounds down to 3.14."""
    turn = 6.283185307179586
    return JointLimits(
        ARM_JOINTS,
        lower=np.array([-turn, -2.059, -turn, -0.19198, -turn, -1.69297, -turn]),
        upper=np.array([turn, 2.0944, turn, 3.927, turn, 3.141592653589793, turn]),
        velocity=np.full(7, 3.14),
        effort=np.array([50.0, 50.0, 30.0, 30.0, 30.0, 20.0, 20.0]),
    )


def _hand() -> JointLimits:
    """Allegro right hand. Positions and speed: the vendor's URDF (allegro_hand_ros); the specification's 0.11 s for
    60 deg is faster, 9.5 rad/s. Torque: 0.70 N m (Wonik Robotics, Allegro Hand technical specifications); the URDF's
    15 N m is no property of the motors."""
    finger_lower, finger_upper = [-0.47, -0.196, -0.174, -0.227], [0.47, 1.61, 1.709, 1.618]
    return JointLimits(
        HAND_JOINTS,
        lower=np.array(3 * finger_lower + [0.263, -0.105, -0.189, -0.162]),
        upper=np.array(3 * finger_upper + [1.396, 1.163, 1.644, 1.719]),
        velocity=np.full(16, 7.0),
        effort=np.full(16, 0.7),
    )


ARM_LIMITS = _arm()
"""Limits of the xArm7 in the order of ARM_JOINTS."""

HAND_LIMITS = _hand()
"""Limits of the Allegro hand in the order of HAND_JOINTS. The thumb's first joint (12) cannot reach 0."""
