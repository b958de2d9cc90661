"""The truth of one virtual cell, drawn from a seed. Only tests, benchmarks and reports may look at it."""

import math
from dataclasses import dataclass

import numpy as np

from r2s2r.cell.draws import matrix, moved, stream
from r2s2r.cell.joint_effects import JointEffects, TimingEffects
from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.checks import set_number, set_unit_quat, set_vector
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.contracts.projection import usable_angle
from r2s2r.contracts.targets import BOARD_POS_B, BOARD_QUAT_B, default_targets
from r2s2r.contracts.transforms import pose_apply, pose_inverse, quat_exp, quat_multiply
from r2s2r.contracts.world import ArmModel, CellPoses, HandResponse, World, WristCameras

_J, _H = len(ARM_JOINTS), len(HAND_JOINTS)
_LARGE = 4
"""The first four joints of the arm carry large motors, the others small ones."""

DRIVE_STIFFNESS = (2800.0, 4200.0, 3400.0, 3800.0, 500.0, 800.0, 400.0)
"""Position gains of the arm's controller [N m/rad], as its maker publishes them, the same in every cell. Ours, for
READY_INERTIA: with any armature and friction drawn here a joint follows to 6 to 12 Hz (-3 dB; a test computes it)."""

DRIVE_DAMPING = (70.0, 109.0, 87.0, 99.0, 10.0, 17.0, 8.0)
"""Velocity gains of the arm's controller [N m s/rad]: with armature and friction in the middle of their ranges the
damping ratio is 0.85."""

ARMATURE = ((0.05, 0.35), (0.02, 0.12))
"""Range of rotor inertias at the joint [kg m2], large and small motors."""

VISCOUS = ((1.0, 8.0), (0.3, 2.0))
"""Range of viscous friction [N m s/rad], large and small motors."""

COULOMB = ((0.5, 4.0), (0.2, 1.2))
"""Range of dry friction [N m], large and small motors."""

BIAS_SD = 0.01
"""Standard deviation of an encoder's bias [rad]."""

ARM_DELAY_S = (0.010, 0.040)
"""Range of the arm's command delay [s]."""

OFFSET_SD = (3e-4, 5e-4)
"""Standard deviation of kinematic offsets [m, rad]: an arm as it leaves the factory."""

SHEET_SD = 2e-5
"""Standard deviation of the error of a factory's kinematics sheet [m, rad]."""

HAND_DELAY_S, HAND_DEADBAND, HAND_LAG_S = (0.02, 0.08), (0.005, 0.03), (0.02, 0.10)
"""Ranges of a finger joint's dead time [s], half play [rad] and time constant [s]."""

LENS_TERMS = (0.03, 0.01, 0.003, 0.001)
"""Largest k1, k2, k3, k4 of the wrist lens, of either sign."""

SMALLEST_SLOPE = 0.4
"""Least growth of the wrist lens's radius with the angle, in focal lengths a radian, as far as the picture reaches."""

BOARD_GAP = 0.008
"""Least height of the board's lowest corner above the belt [m]: the thickness of the plate and of what props it up."""

STAMP_DELAY_S = (0.02, 0.06)
"""Range of the time from exposure to stamp of a camera [s]."""


@dataclass(frozen=True)
class HiddenWorld:
    """What grounding is to find, and what disturbs it.

    Raises:
        ConfigError: a value is not allowed.
    """

    seed: int
    """What it was drawn from."""
    world: World
    """The four factors at their true values."""
    board_pos_b: tuple[float, ...]
    """T_base_board, position (3) [m]."""
    board_quat_b: tuple[float, ...]
    """T_base_board, orientation (4) xyzw."""
    cube_pos_flange: tuple[float, ...]
    """T_flange_cube, position (3) [m]: the cube with tags that is screwed to the flange."""
    cube_quat_flange: tuple[float, ...]
    """T_flange_cube, orientation (4) xyzw."""
    stamp_delay_s: dict[str, float]
    """For each camera the stamp minus the middle of the exposure of the middle row [s]."""
    factory_kinematics: tuple[tuple[float, ...], ...] | None = None
    """Kinematic offsets (7, 6) [m, rad] as the maker's sheet has them; None: no sheet."""
    joints: JointEffects = JointEffects()
    """Torques and readings that no World describes."""
    timing: TimingEffects = TimingEffects()
    """Jitter and losses."""
    clock_start_s: float = 0.0
    """The host's monotonic time when the cell begins [s]; it counts from when the host was started."""

    def __post_init__(self):
        set_vector(self, "board_pos_b", 3)
        set_vector(self, "cube_pos_flange", 3)
        set_unit_quat(self, "board_quat_b")
        set_unit_quat(self, "cube_quat_flange")
        set_number(self, "clock_start_s", 0.0, 1e6)

    @property
    def T_base_board(self) -> np.ndarray:
        """Pose (4, 4) of the printed board."""
        return matrix(self.board_pos_b, self.board_quat_b)

    @property
    def T_flange_cube(self) -> np.ndarray:
        """Pose (4, 4) of the cube on the flange."""
        return matrix(self.cube_pos_flange, self.cube_quat_flange)

    @classmethod
    def draw(cls, seed: int) -> "HiddenWorld":
        """Return the hidden world of a seed; other seeds give others, the same seed the same on every machine.

        Raises:
            ConfigError: the seed is negative.
        """
        if seed < 0:
            raise ConfigError(f"virtual cell: seed {seed}, allowed are whole numbers from 0")
        nominal = World.nominal()
        provenance = {"source": "HiddenWorld.draw", "seed": seed}
        wrist, poses = _wrist_cameras(seed, nominal.wrist_cameras), _poses(seed, nominal.poses)
        arm, hand = _arm(seed), _hand(seed, nominal.hand)
        board_pos_b, board_quat_b = _board(seed, poses)
        cube_pos, cube_quat = moved(
            stream(seed, "flange_cube"), (-0.12, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.01, math.radians(5.0)
        )
        return cls(
            seed=seed,
            world=World(wrist, poses, arm, hand, provenance),
            board_pos_b=board_pos_b,
            board_quat_b=board_quat_b,
            cube_pos_flange=cube_pos,
            cube_quat_flange=cube_quat,
            stamp_delay_s={name: stream(seed, f"stamp_delay.{name}").uniform(*STAMP_DELAY_S) for name in CAMERAS},
            factory_kinematics=_sheet(seed, arm),
            joints=JointEffects.draw(seed),
            timing=TimingEffects.usual(),
            clock_start_s=stream(seed, "clock_start").uniform(100.0, 10_000.0),
        )


def _arm(seed: int) -> ArmModel:
    spread = np.repeat(OFFSET_SD, 3)
    offsets = stream(seed, "arm.kinematic_offsets").normal(size=(_J, 6)) * spread
    offsets[0] = 0.0  # joint 1 defines the base frame
    return ArmModel(
        drive_stiffness=DRIVE_STIFFNESS,
        drive_damping=DRIVE_DAMPING,
        armature=_by_motor(seed, "arm.armature", ARMATURE),
        viscous_friction=_by_motor(seed, "arm.viscous_friction", VISCOUS),
        coulomb_friction=_by_motor(seed, "arm.coulomb_friction", COULOMB),
        encoder_bias=tuple(stream(seed, "arm.encoder_bias").normal(0.0, BIAS_SD, _J)),
        command_delay_s=stream(seed, "arm.command_delay_s").uniform(*ARM_DELAY_S),
        kinematic_offsets=tuple(map(tuple, offsets.tolist())),
        controller="weighted_ik",
        grounded=True,
    )


def _by_motor(seed: int, name: str, ranges: tuple[tuple[float, float], tuple[float, float]]) -> tuple[float, ...]:
    low, high = np.repeat(np.array(ranges), (_LARGE, _J - _LARGE), axis=0).T
    return tuple(stream(seed, name).uniform(low, high).tolist())


def _sheet(seed: int, arm: ArmModel) -> tuple[tuple[float, ...], ...] | None:
    """Return what the maker measured before delivery; half of the arms come without."""
    rng = stream(seed, "factory_kinematics")
    if rng.random() < 0.5:
        return None
    sheet = np.array(arm.kinematic_offsets) + rng.normal(0.0, SHEET_SD, (_J, 6))
    sheet[0] = 0.0
    return tuple(map(tuple, sheet.tolist()))


def _hand(seed: int, nominal: HandResponse) -> HandResponse:
    return HandResponse(
        nominal.drive_stiffness,
        nominal.drive_damping,
        nominal.armature,
        nominal.coulomb_friction,
        delay_s=tuple(stream(seed, "hand.delay_s").uniform(*HAND_DELAY_S, _H)),
        deadband=tuple(stream(seed, "hand.deadband").uniform(*HAND_DEADBAND, _H)),
        lag_s=tuple(stream(seed, "hand.lag_s").uniform(*HAND_LAG_S, _H)),
        grounded=True,
    )


def _wrist_cameras(seed: int, nominal: WristCameras) -> WristCameras:
    """Focal length within 4 %, centre within 8 px, mount within 8 mm and 4 degrees, blur 0.35 to 0.9 px."""
    pos, quat = moved(stream(seed, "wrist.mount"), nominal.pos_flange, nominal.quat_flange, 0.008, math.radians(4.0))
    blur = stream(seed, "wrist.blur").uniform(0.35, 0.9)
    return WristCameras(_wrist_lens(seed, nominal.camera), pos, quat, blur, grounded=True)


def _wrist_lens(seed: int, nominal: FisheyeCamera) -> FisheyeCamera:
    """Return a lens whose radius grows with the angle as far as the picture's corners; others are drawn again."""
    rng = stream(seed, "wrist.lens")
    while True:
        focal = nominal.fx * (1.0 + rng.uniform(-0.04, 0.04))
        across = focal * (1.0 + rng.uniform(-0.005, 0.005))
        centre = np.array([nominal.cx, nominal.cy]) + rng.uniform(-8.0, 8.0, 2)
        terms = rng.uniform(-1.0, 1.0, 4) * LENS_TERMS
        lens = FisheyeCamera(nominal.width, nominal.height, focal, across, *centre.tolist(), *terms.tolist())
        if _sees_its_corners(lens):
            return lens


def _sees_its_corners(lens: FisheyeCamera) -> bool:
    """Return whether the radius grows by SMALLEST_SLOPE and more all the way to the farthest corner."""
    x = max(lens.cx + 0.5, lens.width - 0.5 - lens.cx) / lens.fx
    y = max(lens.cy + 0.5, lens.height - 0.5 - lens.cy) / lens.fy
    angle = np.linspace(0.0, usable_angle(lens), 400)
    radius = angle * np.polyval([lens.k4, lens.k3, lens.k2, lens.k1, 1.0], angle**2)
    inside = radius <= math.hypot(x, y)
    if inside.all():
        return False
    return bool((np.diff(radius) / np.diff(angle))[: inside.argmin()].min() >= SMALLEST_SLOPE)


def _poses(seed: int, nominal: CellPoses) -> CellPoses:
    """Head within 3 cm and 3 degrees, belt within 1.5 cm and 1.5 degrees, base within 1.5 degrees about each axis.

    The bins stay: nothing that grounding records shows them.
    """
    head_pos, head_quat = moved(
        stream(seed, "poses.head"), nominal.head_pos_b, nominal.head_quat_b, 0.03, math.radians(3.0)
    )
    tilt = stream(seed, "poses.base").uniform(-math.radians(1.5), math.radians(1.5), 3)
    belt_pos, belt_quat = _belt(seed, nominal)
    return CellPoses(
        head_camera=_head_lens(seed, nominal.head_camera),
        head_pos_b=head_pos,
        head_quat_b=head_quat,
        base_quat_w=tuple(quat_exp(tilt).tolist()),
        belt_pos_b=belt_pos,
        belt_quat_b=belt_quat,
        belt_size=nominal.belt_size,
        belt_speed_scale=stream(seed, "poses.belt_speed_scale").uniform(0.93, 1.07),
        bin_pos_b=nominal.bin_pos_b,
        bin_size=nominal.bin_size,
        grounded=True,
    )


def _belt(seed: int, nominal: CellPoses) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A belt stands on levelled feet: turned by up to 1.5 degrees, tilted by at most half of one."""
    rng = stream(seed, "poses.belt")
    pos = np.array(nominal.belt_pos_b) + rng.uniform(-0.015, 0.015, 3)
    heading, tilt, yaw = rng.uniform(-math.pi, math.pi), rng.uniform(0.0, 0.5), rng.uniform(-1.4, 1.4)
    turn = np.radians([tilt * math.cos(heading), tilt * math.sin(heading), yaw])
    quat = quat_multiply(np.array(nominal.belt_quat_b), quat_exp(turn))
    return tuple(pos.tolist()), tuple(quat.tolist())


def _board(seed: int, poses: CellPoses) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Within 3 cm and 8 degrees of where it is expected, and higher where a corner would lie in the belt."""
    pos, quat = moved(stream(seed, "board"), BOARD_POS_B, BOARD_QUAT_B, 0.03, math.radians(8.0))
    board = default_targets().board
    corners = np.concatenate([board.corners(tag_id) for tag_id in board.ids])
    margin = corners + 0.5 * board.tag_size * np.sign(corners)  # the plate reaches farther than its tags
    T_belt_base = pose_inverse(matrix(poses.belt_pos_b, poses.belt_quat_b))
    lowest = pose_apply(T_belt_base @ matrix(pos, quat), margin)[:, 2].min()
    return (pos[0], pos[1], pos[2] + max(0.0, BOARD_GAP - float(lowest))), quat


def _head_lens(seed: int, nominal: PinholeCamera) -> PinholeCamera:
    """Focal lengths within 0.5 %, centre within 4 px."""
    rng = stream(seed, "poses.head_lens")
    fx, fy = np.array([nominal.fx, nominal.fy]) * (1.0 + rng.uniform(-0.005, 0.005, 2))
    cx, cy = np.array([nominal.cx, nominal.cy]) + rng.uniform(-4.0, 4.0, 2)
    return PinholeCamera(nominal.width, nominal.height, fx, fy, cx, cy)
