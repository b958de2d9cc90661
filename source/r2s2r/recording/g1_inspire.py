"""A teleoperated Unitree G1 with Inspire hands: its right arm and hand as a recorded hand.

The arm's path is forward kinematics of the published description, the fingers are those of
:mod:`r2s2r.recording.inspire_hand`; from there on the robot's motion goes the way of a human's.
"""

import numpy as np

from r2s2r.contracts.errors import MissingDependencyError, RecordingError
from r2s2r.contracts.transforms import pose, pose_apply, quat_from_matrix
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.recording.cell_log import Stream
from r2s2r.recording.hand_facts import SourceFacts
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.inspire_hand import MOTORS, PALM_AXES, keypoints_in_palm
from r2s2r.recording.teleop_recording import TeleopRecording
from r2s2r.recording.unit_checks import check_limits
from r2s2r.robot.description import packaged_share
from r2s2r.robot.limits import JointLimits

ROBOT_TYPES = ("Unitree_G1_Inspire",)
"""`robot_type` of data sets whose columns are named as below."""

ARM_LINKS = ("ShoulderPitch", "ShoulderRoll", "ShoulderYaw", "Elbow", "WristRoll", "WristPitch", "WristYaw")
"""Joints of an arm from the torso to the hand, the same order in the data sets and in the URDF."""

RIGHT_ARM = tuple(f"kRight{joint}" for joint in ARM_LINKS)
RIGHT_HAND = tuple(f"kRightHand{motor}" for motor in MOTORS)
"""Columns of the right arm [rad] and hand [share]."""

URDF = "example-robot-data/robots/g1_description/urdf/g1_29dof_rev_1_0.urdf"
"""The maker's description (unitreerobotics/unitree_ros), as `example-robot-data` packages it."""

WRIST_LINK = "right_wrist_yaw_link"
"""Link that the hand is mounted on."""

WAIST_JOINTS = 3
"""Joints between pelvis and torso; data sets of the arms do not hold them."""

MOUNT_POS = (0.0415, 0.0, 0.0)
MOUNT_AXES = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""The hand's base in WRIST_LINK, position [m] and axes as columns: roll pi, yaw -pi/2 of the maker's
`DFQ_right_hand.urdf`. Open fingers point along the link's x, the palm faces its y, the index finger is on top."""

STATEMENTS = (
    "fact: wrist path by forward kinematics of the seven arm joints with Unitree's URDF (g1_29dof_rev_1_0)",
    "assumption: the waist is straight and the torso upright; the set does not hold the waist's joints",
    "fact: the hand sits on the wrist as in Unitree's g1_description (DFQ_right_hand.urdf), palm inwards, index on top",
    "fact: a motor's share is 1 open, 0 closed (Unitree's xr_teleoperate, which recorded such sets)",
    "assumption: a share moves its hinge evenly over 1.47 rad (fingers), 0.6 rad (thumb bend) or 1.308 rad (thumb "
    "rotation), and the linkages are linear, as dex-urdf's inspire_hand_right has them; the maker's URDF bends further",
)
"""What of the mapping from the data set to a hand's keypoints is known, and what is not."""


def column_unit(name: str) -> str | None:
    """Return the unit of a column of a G1 with Inspire hands; None for another column."""
    for side in ("Left", "Right"):
        if name in {f"k{side}{joint}" for joint in ARM_LINKS}:
            return "rad"
        if name in {f"k{side}Hand{motor}" for motor in MOTORS}:
            return "share"
    return None


def right_arm() -> SerialChain:
    """Return the chain from the pelvis to WRIST_LINK: three joints of the waist and seven of the arm.

    Raises:
        MissingDependencyError: `example-robot-data` is not installed.
        RobotDescriptionError: its URDF is damaged.
    """
    share = packaged_share()
    if not share:
        raise MissingDependencyError("Unitree G1: example-robot-data is not installed; pip install 'r2s2r[sim]'")
    return serial_chain(share[0] / URDF, WRIST_LINK)


def right_hand(recording: TeleopRecording, signal: str = "measured") -> HandRecording:
    """Return right arm and hand as a recorded hand: x of the world is the robot's forward, z up, origin at the pelvis.

    The wrist is the base of the Inspire hand; its fingers have no last joint before the tip.

    Args:
        recording: of a G1 with Inspire hands.
        signal: `measured`, what the robot did and the video shows, or `commanded`, what the operator asked for.

    Raises:
        RecordingError: columns are missing, not in their unit, or beyond the arm's limits.
        MissingDependencyError: `example-robot-data` is not installed.
    """
    for name in (*RIGHT_ARM, *RIGHT_HAND):
        if name in recording.joint_names:
            unit = recording.units[recording.joint_names.index(name)]
            if unit != column_unit(name):
                raise RecordingError(f"{recording.source}: column {name} is in {unit}, {column_unit(name)} is needed")
    arm, share = recording.columns(RIGHT_ARM, signal), recording.columns(RIGHT_HAND, signal)
    known = np.all(np.isfinite(np.hstack([arm, share])), axis=1)
    chain = right_arm()
    _check_arm(recording, arm[known], known, chain)
    wrist = _wrist(chain, arm)
    placed = pose_apply(wrist[:, None], keypoints_in_palm(share))
    return HandRecording(
        source=recording.source,
        handedness="right",
        time_s=recording.time_s,
        keypoints_m=placed,
        valid=np.all(np.isfinite(placed), axis=-1),
        wrist_pos=wrist[:, :3, 3],
        wrist_quat=_quat(wrist, known),
        wrist_valid=known,
        facts=_facts(recording, signal),
    )


def _wrist(chain: SerialChain, arm: np.ndarray) -> np.ndarray:
    """Return T_pelvis_wrist (T, 4, 4), the wrist with our axes at the base of the hand."""
    joints = np.hstack([np.zeros((len(arm), WAIST_JOINTS)), arm])
    hand = pose(np.array(MOUNT_POS), quat_from_matrix(MOUNT_AXES @ PALM_AXES))
    return chain.wrist_pose(joints) @ hand


def _quat(wrist: np.ndarray, known: np.ndarray) -> np.ndarray:
    quat = np.full((len(wrist), 4), np.nan)
    quat[known] = quat_from_matrix(wrist[known, :3, :3])
    return quat


def _check_arm(recording: TeleopRecording, arm: np.ndarray, known: np.ndarray, chain: SerialChain) -> None:
    joints = slice(WAIST_JOINTS, None)
    limits = JointLimits(
        RIGHT_ARM, chain.lower[joints], chain.upper[joints], chain.velocity[joints], np.full(len(RIGHT_ARM), np.inf)
    )
    check_limits(recording.source, Stream(recording.time_s[known], arm), limits)


def _facts(recording: TeleopRecording, signal: str) -> SourceFacts:
    return SourceFacts(
        kind=f"teleoperated {recording.robot}, {signal} joints",
        unit="joints in rad and shares of motors; lengths in metres from the robot's description",
        axes="x forward, y left, z up at the robot's pelvis, which is ours",
        handedness="declared by the names of the columns",
        wrist="forward kinematics of the arm to the base of the Inspire hand",
        notes=(*recording.statements, *STATEMENTS),
    )
