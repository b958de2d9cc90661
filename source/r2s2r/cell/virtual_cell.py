"""The virtual cell: what a physical one offers, with a truth behind it that its users do not see."""

import math

import numpy as np

from r2s2r.cell.clock import Sample
from r2s2r.cell.draws import Streams, stream
from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.physics import CellPhysics
from r2s2r.cell.scene_state import SceneState
from r2s2r.cell.sources import Shutter, encoders
from r2s2r.contracts.cell import CAMERAS, HAND_VARIANTS, CellInfo, Message, Picture
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.targets import ITEM_SIZE
from r2s2r.contracts.transforms import pose, yaw_quat
from r2s2r.contracts.trials import Trial
from r2s2r.contracts.world import World

LARGEST_WAIT_S = 0.05
"""Waiting is cut into pieces of this length [s], shorter than the memory of the motion."""

ITEM_START = (-0.45, 0.0, 0.5 * ITEM_SIZE[2])
"""Where a person puts the block, in the belt frame [m]: where the head camera begins to see the belt."""

BELT_SPEED_LIMIT = 0.5
"""Largest speed that the belt takes, of either sign [m/s]."""

_A, _H = len(ARM_JOINTS), len(HAND_JOINTS)


class VirtualCell:
    """A :class:`r2s2r.contracts.cell.SortingCell` in which time passes only while it is waited for.

    The same seed and the same calls give the same messages and pictures. Messages do not depend on pictures.
    """

    def __init__(
        self,
        seed: int,
        *,
        cameras: bool = True,
        hidden: HiddenWorld | None = None,
        picture_size: int | None = None,
    ):
        """Build the cell.

        Args:
            seed: draws the hidden world and all noise.
            cameras: whether there are any; without them nothing is loaded that draws.
            hidden: the truth; None: drawn from `seed`.
            picture_size: pictures come squeezed to so many pixels each way, as a camera with binning gives them; None:
                as large as the data sheet has them.

        Raises:
            ConfigError: the seed is negative, or the picture size is not positive.
            RobotDescriptionError: the robot's description is missing or damaged.
        """
        self.hidden = HiddenWorld.draw(seed) if hidden is None else hidden
        if picture_size is not None and picture_size < 1:
            raise ConfigError(f"virtual cell: picture_size {picture_size}, allowed are whole numbers from 1")
        self._seed, self._has_cameras, self._picture_size = seed, cameras, picture_size
        self._cameras = None
        self._placing = stream(self.hidden.seed, "place_item")
        self._start(None)

    @property
    def info(self) -> CellInfo:
        """Data sheets and settings."""
        nominal, arm = World.nominal(), self.hidden.world.arm
        return CellInfo(
            name=f"virtual cell {self._seed}",
            arm_stiffness=arm.drive_stiffness,
            arm_damping=arm.drive_damping,
            hand_variant=HAND_VARIANTS[0],
            wrist_camera=self._squeezed(nominal.wrist_cameras.camera),
            head_camera=self._squeezed(nominal.poses.head_camera),
            factory_kinematics=self.hidden.factory_kinematics,
        )

    def now(self) -> float:
        """Return the host's monotonic time [s]."""
        return self._now_s

    def command_arm(self, joint_pos: np.ndarray) -> None:
        """Send arm joint targets (7) [rad].

        Raises:
            ConfigError: they are not 7 finite numbers.
        """
        self._physics.command_arm(self._now_s, self._sent("arm_command", joint_pos, _A))

    def command_hand(self, joint_pos: np.ndarray) -> None:
        """Send hand joint targets (16) [rad].

        Raises:
            ConfigError: they are not 16 finite numbers.
        """
        self._physics.command_hand(self._now_s, self._sent("hand_command", joint_pos, _H))

    def command_belt(self, speed: float) -> None:
        """Send the belt's speed [m/s].

        Raises:
            ConfigError: it is not a number within BELT_SPEED_LIMIT.
        """
        if not abs(speed) <= BELT_SPEED_LIMIT:
            raise ConfigError(
                f"belt speed: received {speed}, allowed are {-BELT_SPEED_LIMIT} to {BELT_SPEED_LIMIT} m/s"
            )
        self._physics.command_belt(float(self._sent("belt_command", np.array([speed]), 1)[0]))

    def wait(self, duration_s: float) -> None:
        """Let `duration_s` pass.

        Raises:
            ConfigError: the time is negative or not finite.
        """
        if not 0.0 <= duration_s < math.inf:
            raise ConfigError(f"wait: received {duration_s} s, allowed are finite times from 0")
        self._wait_until(self._now_s + duration_s)

    def read(self) -> list[Message]:
        """Return what arrived since the last call, sent commands included, each stream in order of arrival."""
        messages, self._messages = self._messages, []
        return messages

    def picture(self, camera: str) -> Picture:
        """Wait for the next picture of one of CAMERAS and return it.

        Raises:
            ConfigError: there is no such camera.
        """
        requested = camera in self._pending
        self.request_picture(camera)
        self._wait_until(self._pending[camera].arrival_s)
        picture = next(picture for picture in reversed(self._arrived) if picture.camera == camera)
        if not requested:
            self._arrived = [other for other in self._arrived if other is not picture]
        return picture

    def request_picture(self, camera: str) -> None:
        """Ask for the next picture of one of CAMERAS; asked twice before it arrives, it comes once.

        Raises:
            ConfigError: there is no such camera.
        """
        choose("camera", camera, CAMERAS if self._has_cameras else ())
        if camera not in self._pending:
            self._pending[camera] = self._shutters[camera].next_after(self._now_s)

    def requested_pictures(self) -> list[Picture]:
        """Return the pictures that were requested and have arrived since the last call."""
        pictures, self._arrived = self._arrived, []
        return pictures

    def begin(self, trial: Trial) -> None:
        """Begin a trial; see :meth:`r2s2r.contracts.cell.SortingCell.begin`. The clock starts anew, too."""
        self._start(trial)

    def target_pose_b(self) -> np.ndarray:
        """Return T_base_object (4, 4) of the target now; 10 m below when it fell off everything.

        Raises:
            ConfigError: no trial was begun.
        """
        self._need_trial()
        return self._physics.scene_at(self._now_s).object_poses[0]

    def belt_speed(self) -> float:
        """Return how fast the belt's surface truly moves now [m/s]."""
        return self._physics.belt_speed

    def place_item(self) -> None:
        """Put the tagged block on the belt's start, as a person would: within 2 cm along, 3 cm across, 20 degrees.

        Raises:
            ConfigError: a trial was begun.
        """
        x, y, yaw = self._placing.uniform(-1.0, 1.0, 3) * (0.02, 0.03, math.radians(20.0))
        poses = self.hidden.world.poses
        T_base_belt = pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b))
        self._physics.place_item(T_base_belt @ pose(np.array(ITEM_START) + (x, y, 0.0), yaw_quat(yaw)))

    def scene_at(self, time_s: float) -> SceneState:
        """Return where everything truly was at a recent time [s]: for judging, not for grounding.

        Raises:
            SimulationError: the time is not remembered any more, or not reached yet.
        """
        return self._physics.scene_at(time_s)

    def _start(self, trial: Trial | None) -> None:
        """Let a run begin: for a trial, or after the cell was built."""
        self._trial = trial
        streams = Streams(self.hidden.seed, "" if trial is None else f"trial.{trial.seed}.{trial}")
        self._streams = streams
        self._physics = CellPhysics(self.hidden, trial=trial, streams=streams)
        self._now_s = self.hidden.clock_start_s
        self._encoders = encoders(self.hidden, streams)
        self._shutters = {camera: Shutter(camera, self.hidden, streams) for camera in CAMERAS}
        self._messages: list[Message] = []
        self._pending: dict[str, Sample] = {}
        self._arrived: list[Picture] = []
        if self._cameras is not None:
            self._cameras.begin(trial, streams)

    def _need_trial(self) -> None:
        if self._trial is None:
            raise ConfigError("virtual cell: there is no target, no trial was begun")

    def _squeezed(self, lens):
        """Return a lens as the pictures have it."""
        return lens if self._picture_size is None else lens.resized(self._picture_size, self._picture_size)

    def _sent(self, name: str, value: np.ndarray, size: int) -> np.ndarray:
        """Note a command and return a copy of it."""
        value = np.array(value, dtype=float)
        if value.shape != (size,) or not np.isfinite(value).all():
            raise ConfigError(f"{name}: received {value.tolist()}, allowed are {size} finite numbers")
        self._messages.append(Message(name, self._now_s, value))
        return value

    def _wait_until(self, end_s: float) -> None:
        while self._now_s < end_s:
            self._now_s = min(end_s, self._now_s + LARGEST_WAIT_S)
            self._physics.advance(self._now_s)
            readings = [reading for encoder in self._encoders for reading in encoder.until(self._now_s, self._physics)]
            self._messages.extend(message for _, message in sorted(readings, key=lambda reading: reading[0]))
            self._take_pictures()

    def _take_pictures(self) -> None:
        """Draw the requested pictures that have arrived."""
        for camera, sample in sorted(self._pending.items(), key=lambda item: item[1].arrival_s):
            if sample.arrival_s <= self._now_s:
                rgb = self._drawing().render(camera, self._physics.scene_at, sample.arrival_s)
                self._arrived.append(Picture(camera, sample.stamp_s, rgb))
                del self._pending[camera]

    def _drawing(self):
        if self._cameras is None:
            from r2s2r.cell.camera import CellCameras  # loads Warp and Newton

            self._cameras = CellCameras(self.hidden, picture_size=self._picture_size)
            self._cameras.begin(self._trial, self._streams)
        return self._cameras
