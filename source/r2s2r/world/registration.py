"""From tag sightings and joint readings to the cell's geometry: what is known beforehand, start, adjustment, checks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.cell import CellInfo
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.joints import ARM_JOINTS
from r2s2r.contracts.targets import BOARD_POS_B, BOARD_QUAT_B
from r2s2r.contracts.transforms import pose
from r2s2r.contracts.world import nominal_poses, nominal_wrist_cameras
from r2s2r.control.kinematics import SerialChain
from r2s2r.recording.cell_log import Stream
from r2s2r.world.bundle import Bundle, BundleCfg, adjust
from r2s2r.world.bundle_checks import check_joint_zeros
from r2s2r.world.bundle_data import Sighting, bundle_data
from r2s2r.world.bundle_solver import Prior
from r2s2r.world.bundle_start import start_state
from r2s2r.world.bundle_state import BLOCKS, STEP_SIZE, BundleState
from r2s2r.world.estimate import NORMAL_95, Estimate
from r2s2r.world.joint_track import JointTrack

KINEMATIC_PRIOR = (3e-4, 5e-4)
"""Standard deviation [m, rad] of a joint frame's place in an arm as it leaves the factory."""

SHEET_PRIOR = (2e-5, 2e-5)
"""The same when the arm's own calibration sheet is there."""


@dataclass(frozen=True)
class RegistrationCfg:
    """What is known of a cell before its pictures are looked at, as standard deviations.

    Raises:
        ConfigError: a value is not allowed.
    """

    bias_sd: float = 0.02
    """Encoder bias [rad] of an arm whose own fit is not given."""
    head_focal_sd: float = 0.01
    """Head camera's focal lengths, as a fraction of the data sheet's."""
    head_centre_sd_px: float = 6.0
    """Head camera's centre [px] around the data sheet's."""
    wrist_terms_sd: float = 0.1
    """Coefficients k1 to k4 around the data sheet's: only holds what no corner shows."""
    table_pos_sd_m: float = 5e-3
    """The table's survey starts at the robot base's origin within this [m]."""
    stamp_delay_s: float = 0.04
    """Stamp minus exposure of the middle row that is expected [s]."""
    stamp_delay_sd_s: float = 0.05
    """How well it is known [s]."""
    readout_s: float = 0.01
    """Time from the first row's exposure to the last's that is expected [s]."""
    readout_sd_s: float = 0.02
    """How well it is known [s]."""
    bundle: BundleCfg = BundleCfg()
    """Treatment of corners."""

    def __post_init__(self):
        for name in (
            "bias_sd",
            "head_focal_sd",
            "wrist_terms_sd",
            "table_pos_sd_m",
            "stamp_delay_sd_s",
            "readout_sd_s",
        ):
            set_number(self, name, 1e-9, 10.0)
        set_number(self, "head_centre_sd_px", 1e-3, 1e3)
        for name in ("stamp_delay_s", "readout_s"):
            set_number(self, name, 0.0, 1.0)


def register(
    sightings: Sequence[Sighting],
    joints: Stream,
    info: CellInfo,
    chain: SerialChain,
    bias: Estimate | None = None,
    cfg: RegistrationCfg | None = None,
) -> Bundle:
    """Return the geometry of a cell.

    Args:
        sightings: tags in pictures of both cameras, each id once a picture.
        joints: stream `arm_joint_pos`.
        info: data sheets, targets, factory kinematics.
        chain: nominal chain from the base to the flange.
        bias: `arm.encoder_bias` from the arm's own fit; None: zero within `cfg.bias_sd`.
        cfg: what is known beforehand.

    Raises:
        RecordingError, GroundingError: see :mod:`r2s2r.world.joint_track`, :mod:`r2s2r.world.bundle_start` and
            :mod:`r2s2r.world.bundle`.
    """
    cfg = cfg or RegistrationCfg()
    data = bundle_data(sightings, info.targets, JointTrack(joints, chain))
    guess = first_guess(info, bias, cfg)
    start = start_state(data, chain, guess)
    bundle = adjust(data, chain, start, known_before(info, guess, bias, cfg), cfg.bundle)
    check_joint_zeros(bundle.state, guess.poses["mount"])
    return bundle


def first_guess(info: CellInfo, bias: Estimate | None, cfg: RegistrationCfg) -> BundleState:
    """Return what data sheets and drawings say."""
    wrist, poses = nominal_wrist_cameras(), nominal_poses()
    offsets = np.zeros((len(ARM_JOINTS), 6)) if info.factory_kinematics is None else np.array(info.factory_kinematics)
    return BundleState(
        wrist=info.wrist_camera,
        head=info.head_camera,
        poses={
            "mount": pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange)),
            "head": pose(np.array(poses.head_pos_b), np.array(poses.head_quat_b)),
            "board": pose(np.array(BOARD_POS_B), np.array(BOARD_QUAT_B)),
            "table": np.eye(4),
            "belt": pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b)),
            "flange": np.eye(4),
        },
        stamp_delay=np.full(2, cfg.stamp_delay_s),
        readout=np.full(2, cfg.readout_s),
        offsets=offsets,
        bias=np.zeros(len(ARM_JOINTS)) if bias is None else bias.value.copy(),
    )


def known_before(info: CellInfo, guess: BundleState, bias: Estimate | None, cfg: RegistrationCfg) -> Prior:
    """Return the prior around the first guess."""
    sd = np.full(STEP_SIZE, np.inf)
    sd[BLOCKS["wrist_lens"]][4:] = cfg.wrist_terms_sd
    focal = cfg.head_focal_sd * np.array([info.head_camera.fx, info.head_camera.fy])
    sd[BLOCKS["head_lens"]] = np.r_[focal, np.full(2, cfg.head_centre_sd_px)]
    sd[BLOCKS["table"]][:3] = cfg.table_pos_sd_m
    sd[BLOCKS["stamp_delay"]] = cfg.stamp_delay_sd_s
    sd[BLOCKS["readout"]] = cfg.readout_sd_s
    linear, angular = KINEMATIC_PRIOR if info.factory_kinematics is None else SHEET_PRIOR
    sd[BLOCKS["offsets"]] = np.tile(np.repeat((linear, angular), 3), len(ARM_JOINTS) - 1)
    sd[BLOCKS["bias"]] = cfg.bias_sd if bias is None else np.minimum(bias.half_width / NORMAL_95, cfg.bias_sd)
    return Prior(guess, sd)
