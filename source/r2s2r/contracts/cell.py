"""What every robot cell offers, the virtual one and the one over ROS: commands in, messages and pictures out.

A policy runner or a calibration routine that keeps to :class:`Cell` does not know which it has.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.checks import set_number, set_table, set_vector
from r2s2r.contracts.errors import choose
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.targets import CalibrationTargets, default_targets
from r2s2r.contracts.trials import Trial

STREAMS = ("arm_command", "hand_command", "belt_command", "arm_joint_pos", "hand_joint_pos")
"""Numeric streams of a cell: what was sent (7, 16, 1 numbers: rad, rad, m/s), and what encoders read (7, 16) [rad]."""

CAMERAS = ("wrist", "head")
"""Cameras of a cell."""

HAND_VARIANTS = ("allegro_v4_right",)
"""Hands that are known, maker and side; fingertips differ between them by millimetres."""


@dataclass(frozen=True)
class CellInfo:
    """What is known of a cell without measuring: data sheets, drawings, settings.

    Raises:
        ConfigError: a value is not allowed.
    """

    name: str
    """Names the cell in reports."""
    arm_stiffness: tuple[float, ...]
    """Position gains (7) set in the arm's controller [N m/rad]."""
    arm_damping: tuple[float, ...]
    """Velocity gains (7) set in the arm's controller [N m s/rad]."""
    hand_variant: str
    """One of HAND_VARIANTS."""
    wrist_camera: FisheyeCamera
    """Picture size and lens as the data sheet has them."""
    head_camera: PinholeCamera
    """Picture size and lens as the data sheet has them."""
    targets: CalibrationTargets = field(default_factory=default_targets)
    """Tags in the cell."""
    factory_kinematics: tuple[tuple[float, ...], ...] | None = None
    """Per joint the twist (7, 6) [m, rad] from the arm maker's calibration sheet, as in ArmModel; None: no sheet."""

    def __post_init__(self):
        set_vector(self, "arm_stiffness", len(ARM_JOINTS), 1e-3, 1e6)
        set_vector(self, "arm_damping", len(ARM_JOINTS), 0.0, 1e6)
        if self.factory_kinematics is not None:
            set_table(self, "factory_kinematics", len(ARM_JOINTS), 6)
        choose("CellInfo.hand_variant", self.hand_variant, HAND_VARIANTS)


@dataclass(frozen=True)
class Message:
    """One reading or command."""

    stream: str
    """One of STREAMS."""
    time_s: float
    """Stamp on the clock of the stream's source [s]."""
    value: np.ndarray
    """(n,) numbers."""


@dataclass(frozen=True)
class Picture:
    """One camera picture."""

    camera: str
    """One of CAMERAS."""
    time_s: float
    """Stamp when it arrived [s]; exposure was some time before, by a delay that is constant for a camera."""
    rgb: np.ndarray
    """(H, W, 3) uint8."""

    def __post_init__(self):
        set_number(self, "time_s")


PICTURE_DELAY_S = 0.04
"""From the exposure of a picture to the stamp of its arrival [s], by the data sheets of cameras of this kind."""


class Cell(Protocol):
    """A cell that can be driven. Commands hold until the next one of their kind."""

    @property
    def info(self) -> CellInfo:
        """Data sheets and settings."""
        ...

    def now(self) -> float:
        """Return the host's monotonic time [s]."""
        ...

    def command_arm(self, joint_pos: np.ndarray) -> None:
        """Send arm joint targets (7) [rad]."""
        ...

    def command_hand(self, joint_pos: np.ndarray) -> None:
        """Send hand joint targets (16) [rad]."""
        ...

    def command_belt(self, speed: float) -> None:
        """Send the belt's speed [m/s]."""
        ...

    def wait(self, duration_s: float) -> None:
        """Let `duration_s` pass."""
        ...

    def read(self) -> list[Message]:
        """Return what arrived since the last call, sent commands included, each stream in order of arrival."""
        ...

    def picture(self, camera: str) -> Picture:
        """Wait for the next picture of one of CAMERAS and return it."""
        ...

    def request_picture(self, camera: str) -> None:
        """Ask for the next picture of one of CAMERAS without waiting for it, so that commands can go on meanwhile."""
        ...

    def requested_pictures(self) -> list[Picture]:
        """Return the pictures that were requested and have arrived since the last call."""
        ...


class SortingCell(Cell, Protocol):
    """A cell on whose belt trials are made, by a teleoperator or a policy that does not know which cell it is."""

    def begin(self, trial: Trial) -> None:
        """Begin a trial: the robot rests at the ready pose, the objects are placed, the belt runs, the lamps are lit.

        Messages and pictures of what was before are gone. What follows depends on the cell, the trial and the calls
        from now on, not on what was done before.
        """
        ...

    def target_pose_b(self) -> np.ndarray:
        """Return T_base_object (4, 4) of the target now, as a person standing by sees it: for verdict and operator."""
        ...

    def belt_speed(self) -> float:
        """Return how fast the belt runs now [m/s], as a person standing by sees it."""
        ...
