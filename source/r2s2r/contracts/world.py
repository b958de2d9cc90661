"""The world that a simulator, a controller and a camera agree on: four factors, each grounded or nominal.

The frame `b` is the robot base: origin on the table top, x forward, z up. Everything the factors do not name is
shared by all worlds.
"""

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera, look_at
from r2s2r.contracts.checks import set_number, set_table, set_unit_quat, set_vector
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.tables import from_table
from r2s2r.contracts.transforms import quat_exp, yaw_quat

FORMAT_VERSION = 1
"""Version of :meth:`World.to_dict`."""

OBJECT_CLASSES = ("box", "round")
"""Classes that are sorted; each has its bin."""

ARM_CONTROLLERS = ("damped_least_squares", "weighted_ik")
"""What can stand between a wrist target and joint targets."""

READY_INERTIA = (0.476304, 0.859600, 0.648199, 0.769251, 0.015140, 0.072688, 0.002133)
"""Composite inertia [kg m2] about each arm joint at the ready pose (:mod:`r2s2r.robot.ready`), in the order of
ARM_JOINTS: the diagonal of the joint-space inertia of the composed xArm7 + Allegro without armature. A test recomputes
it with Pinocchio."""

NATURAL_FREQUENCY = 42.0
"""Natural frequency [rad/s] of the calculated arm gains. With damping ratio 0.7 a joint then follows a steady motion
2 x 0.7 / 42 = 1/30 s late: one step of the 30 Hz policy."""

DAMPING_RATIO = 0.7
"""Damping ratio of the calculated gains (the paper's Table 1)."""

_J, _H = len(ARM_JOINTS), len(HAND_JOINTS)


@dataclass(frozen=True)
class WristCameras:
    """Fisheye camera on the flange (link 7)."""

    camera: FisheyeCamera
    """Intrinsics at a reference size; take `resized` for other pictures."""
    pos_flange: tuple[float, ...]
    """T_flange_cam, position (3) [m]."""
    quat_flange: tuple[float, ...]
    """T_flange_cam, orientation (4) xyzw of the optical frame."""
    blur_sigma_px: float = 0.0
    """Gaussian blur of the lens [px of `camera`]."""
    grounded: bool = False
    """Whether the values were fitted to the physical cell."""

    def __post_init__(self):
        set_vector(self, "pos_flange", 3)
        set_unit_quat(self, "quat_flange")
        set_number(self, "blur_sigma_px", 0.0, 100.0)

    def resized(self, width: int, height: int) -> "WristCameras":
        """Return the same camera with pictures of another size; the blur scales along."""
        blur = self.blur_sigma_px * width / self.camera.width
        return replace(self, camera=self.camera.resized(width, height), blur_sigma_px=blur)


@dataclass(frozen=True)
class CellPoses:
    """Where head camera, belt and bins stand, seen from the robot base."""

    head_camera: PinholeCamera
    """Intrinsics at a reference size."""
    head_pos_b: tuple[float, ...]
    """T_base_head, position (3) [m]."""
    head_quat_b: tuple[float, ...]
    """T_base_head, orientation (4) xyzw of the optical frame."""
    base_quat_w: tuple[float, ...]
    """Orientation (4) xyzw of the base in the world; gravity is -z of the world."""
    belt_pos_b: tuple[float, ...]
    """T_base_belt, position (3) [m] of the middle of the belt's upper side."""
    belt_quat_b: tuple[float, ...]
    """T_base_belt, orientation (4) xyzw: x along the motion, z up."""
    belt_size: tuple[float, ...]
    """Length along the motion and width (2) [m]."""
    belt_speed_scale: float
    """Speed of the surface over the commanded speed."""
    bin_pos_b: dict[str, tuple[float, ...]]
    """For each of OBJECT_CLASSES the middle of its bin's floor (3) [m]."""
    bin_size: tuple[float, ...]
    """Inner length and width of a bin and height of its walls (3) [m]."""
    grounded: bool = False
    """Whether the values were registered in the physical cell."""

    def __post_init__(self):
        for name in ("head_pos_b", "belt_pos_b"):
            set_vector(self, name, 3)
        for name in ("head_quat_b", "base_quat_w", "belt_quat_b"):
            set_unit_quat(self, name)
        set_vector(self, "belt_size", 2, 0.01, 100.0)
        set_vector(self, "bin_size", 3, 0.01, 10.0)
        set_number(self, "belt_speed_scale", 0.1, 10.0)
        if set(self.bin_pos_b) != set(OBJECT_CLASSES):
            raise ConfigError(f"CellPoses.bin_pos_b: received {list(self.bin_pos_b)}, allowed are {OBJECT_CLASSES}")
        for name, pos in self.bin_pos_b.items():
            if np.shape(pos) != (3,) or not np.isfinite(pos).all():
                raise ConfigError(f"CellPoses.bin_pos_b[{name!r}]: received {pos!r}, allowed are 3 finite numbers")
        bins = {name: tuple(float(x) for x in self.bin_pos_b[name]) for name in OBJECT_CLASSES}
        object.__setattr__(self, "bin_pos_b", bins)


@dataclass(frozen=True)
class ArmModel:
    """What lies between a wrist target and the arm's motion. Vectors are in the order of ARM_JOINTS.

    The arm's weight is compensated in every world, as the vendor's controller does.
    """

    drive_stiffness: tuple[float, ...]
    """Position gain of the drive (7) [N m/rad]."""
    drive_damping: tuple[float, ...]
    """Velocity gain of the drive (7) [N m s/rad]."""
    armature: tuple[float, ...] = (0.0,) * _J
    """Rotor inertia seen at the joint (7) [kg m2]."""
    viscous_friction: tuple[float, ...] = (0.0,) * _J
    """Passive viscous friction (7) [N m s/rad]."""
    coulomb_friction: tuple[float, ...] = (0.0,) * _J
    """Passive dry friction (7) [N m]."""
    encoder_bias: tuple[float, ...] = (0.0,) * _J
    """Encoder reading minus joint position (7) [rad]. The drive follows its own motor side, so that an arm at rest
    reads its target plus the bias."""
    command_delay_s: float = 0.0
    """From sending a joint target to its effect [s]."""
    kinematic_offsets: tuple[tuple[float, ...], ...] = ((0.0,) * 6,) * _J
    """Per joint the twist (7, 6) [m, rad], linear first, that moves its frame from the nominal place, in that frame."""
    controller: str = "damped_least_squares"
    """One of ARM_CONTROLLERS."""
    grounded: bool = False
    """Whether the values were identified on the physical arm."""

    def __post_init__(self):
        for name in ("drive_stiffness", "drive_damping", "armature", "viscous_friction", "coulomb_friction"):
            set_vector(self, name, _J, 0.0, 1e6)
        set_vector(self, "encoder_bias", _J, -math.pi, math.pi)
        set_number(self, "command_delay_s", 0.0, 1.0)
        set_table(self, "kinematic_offsets", _J, 6)
        choose("ArmModel.controller", self.controller, ARM_CONTROLLERS)


@dataclass(frozen=True)
class HandResponse:
    """How the fingers answer to joint targets. Vectors are in the order of HAND_JOINTS."""

    drive_stiffness: tuple[float, ...]
    """Position gain (16) [N m/rad], never in firmware units: above 50 the vendor's 0.7 N m saturate at 14 mrad."""
    drive_damping: tuple[float, ...]
    """Velocity gain (16) [N m s/rad]."""
    armature: tuple[float, ...]
    """Rotor inertia seen at the joint (16) [kg m2]."""
    coulomb_friction: tuple[float, ...]
    """Passive dry friction (16) [N m]."""
    delay_s: tuple[float, ...] = (0.0,) * _H
    """Dead time (16) [s]."""
    deadband: tuple[float, ...] = (0.0,) * _H
    """Half width of the play (16) [rad]: the accepted target trails the target by at most this much, and a change of
    target within it moves nothing."""
    lag_s: tuple[float, ...] = (0.0,) * _H
    """Time constant of the first-order answer to targets (16) [s]."""
    grounded: bool = False
    """Whether the values were fitted to the physical hand."""

    def __post_init__(self):
        set_vector(self, "drive_stiffness", _H, 0.0, 50.0)
        set_vector(self, "drive_damping", _H, 0.0, 50.0)
        set_vector(self, "armature", _H, 0.0, 1.0)
        set_vector(self, "coulomb_friction", _H, 0.0, 1.0)
        for name in ("delay_s", "lag_s"):
            set_vector(self, name, _H, 0.0, 2.0)
        set_vector(self, "deadband", _H, 0.0, 1.0)


@dataclass(frozen=True)
class World:
    """One world out of four factors (the paper's Table 1)."""

    wrist_cameras: WristCameras
    """Fisheye intrinsics, mount and blur."""
    poses: CellPoses
    """Head camera, base, belt and bins."""
    arm: ArmModel
    """Controller, gains, friction, kinematics."""
    hand: HandResponse
    """Finger drives, delay, deadband, lag."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Where the values come from; plain JSON."""

    @classmethod
    def nominal(cls) -> "World":
        """Return the ungrounded world: vendor data, calculated gains, tape measure."""
        return cls(nominal_wrist_cameras(), nominal_poses(), nominal_arm(), nominal_hand(), {"source": "World.nominal"})

    @property
    def grounded_factors(self) -> tuple[str, ...]:
        """Names of the factors that are grounded."""
        return tuple(name for name in FACTORS if getattr(self, name).grounded)

    def combine(self, grounded: "World", factors: Iterable[str]) -> "World":
        """Return this world with `factors` taken from `grounded`.

        Raises:
            ConfigError: a factor is unknown.
        """
        chosen = sorted(set(factors))
        for name in chosen:
            choose("world factor", name, FACTORS)
        provenance = {"base": self.provenance, "factors": chosen, "taken_from": grounded.provenance}
        return replace(self, provenance=provenance, **{name: getattr(grounded, name) for name in chosen})

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists, numbers and strings, as JSON and YAML take them."""
        return {"format_version": FORMAT_VERSION, **_plain(dataclasses.asdict(self))}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "World":
        """Return the world that :meth:`to_dict` wrote.

        Raises:
            ConfigError: another version; a key is missing or unknown; a value is not allowed.
        """
        content = dict(content)
        version = content.pop("format_version", None)
        if version != FORMAT_VERSION:
            raise ConfigError(f"world: format_version {version!r}, allowed is {FORMAT_VERSION}")
        return from_table(cls, content, "world")


FACTORS = tuple(f.name for f in fields(World) if f.name != "provenance")
"""The four factors by name."""


def nominal_wrist_cameras() -> WristCameras:
    """Return an ideal 160 degree equidistant fisheye without blur at its CAD mount (Table 1, ungrounded).

    The mount is ours: 9 cm beside the flange's axis, 3 cm along it, tilted 14 degrees towards the fingers, from where
    belt, object, all fingers and the thumb are seen during a grasp.
    """
    camera = FisheyeCamera.equidistant(640, 480, math.radians(160.0))
    quat = quat_exp(np.array([0.0, -math.radians(14.0), 0.0]))
    return WristCameras(camera, (0.09, 0.0, 0.03), tuple(quat))


def nominal_poses() -> CellPoses:
    """Return the cell as laid out: belt across the front, a bin on either side of the base, head view from beyond."""
    head_pos_b = (1.0, 0.0, 0.85)
    return CellPoses(
        head_camera=PinholeCamera.with_horizontal_fov(640, 480, math.radians(62.0)),
        head_pos_b=head_pos_b,
        head_quat_b=tuple(look_at(np.array(head_pos_b), np.array([0.36, 0.0, 0.12]))),
        base_quat_w=(0.0, 0.0, 0.0, 1.0),
        belt_pos_b=(0.52, 0.0, 0.10),
        belt_quat_b=tuple(yaw_quat(0.5 * math.pi)),
        belt_size=(2.0, 0.25),
        belt_speed_scale=1.0,
        bin_pos_b={"box": (0.12, 0.50, 0.0), "round": (0.12, -0.50, 0.0)},
        bin_size=(0.24, 0.24, 0.12),
    )


def nominal_arm() -> ArmModel:
    """Return calculated gains, K = I w^2 and D = 2 z sqrt(K I) with I = READY_INERTIA; no armature, no friction."""
    stiffness = tuple(inertia * NATURAL_FREQUENCY**2 for inertia in READY_INERTIA)
    damping = tuple(2.0 * DAMPING_RATIO * math.sqrt(k * i) for k, i in zip(stiffness, READY_INERTIA, strict=True))
    return ArmModel(stiffness, damping)


def nominal_hand() -> HandResponse:
    """Return direct commands and gains that hold the hand's own weight and a grasp.

    The vendor publishes gains in firmware units only (allegro_hand_ros, gains_pd.yaml), which no one can turn into
    N m/rad without a measurement. 8 N m/rad and 0.4 N m s/rad with 0.002 kg m2 of rotor inertia are ours: seen to hold
    grasps from the moving belt in simulation, and critically damped or slower (0.4 >= 2 sqrt(8 x 0.002) = 0.25).
    """
    return HandResponse((8.0,) * _H, (0.4,) * _H, armature=(0.002,) * _H, coulomb_friction=(0.01,) * _H)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
