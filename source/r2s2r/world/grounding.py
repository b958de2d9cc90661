"""From a recording to a world: every factor that is asked for, fitted, the rest nominal."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import choose
from r2s2r.contracts.world import FACTORS, World
from r2s2r.control.kinematics import serial_chain
from r2s2r.recording.cell_log import CellLog
from r2s2r.recording.log_checks import check_cell_log
from r2s2r.robot.description import RobotDescriptionCfg, compose
from r2s2r.world.arm import fit_arm
from r2s2r.world.belt_motion import follow_item
from r2s2r.world.camera_gap import nominal_rms_px
from r2s2r.world.cameras import fit_poses, fit_wrist_cameras, joint_estimates
from r2s2r.world.estimate import Estimate, FactorFit
from r2s2r.world.hand import fit_hand
from r2s2r.world.lens_blur import lens_blur
from r2s2r.world.registration import register
from r2s2r.world.sightings import PictureTags, read_tags, rejections

FLANGE_LINK = RobotDescriptionCfg().mount_parent
"""Link that carries the wrist camera and the cube."""

BIAS, OFFSETS = "arm.encoder_bias", "arm.kinematic_offsets"
"""Estimates that pictures add to."""

CAMERA_FACTORS = ("wrist_cameras", "poses")
"""Factors that are fitted to pictures, both by one adjustment."""


NEEDED = {
    "wrist_cameras": ("arm_joint_pos",),
    "poses": ("arm_joint_pos",),
    "arm": ("arm_command", "arm_joint_pos"),
    "hand": ("hand_command", "hand_joint_pos"),
}
"""Streams that each factor's fit cannot do without."""


@dataclass(frozen=True)
class Grounding:
    """A world and the fits that it was made of."""

    world: World
    """Nominal, but for what was fitted."""
    fits: dict[str, FactorFit]
    """By factor."""
    warnings: tuple[str, ...] = ()
    """One line each, of the recording and of all fits."""
    pictures: tuple[PictureTags, ...] = ()
    """Tags that were read; empty where no camera factor was asked for."""

    @property
    def estimates(self) -> list[Estimate]:
        """Every fitted quantity."""
        return [estimate for fit in self.fits.values() for estimate in fit.estimates]


def ground(
    log: CellLog, factors: Iterable[str] = FACTORS, on_begin: Callable[[str], None] = lambda _: None
) -> Grounding:
    """Fit a world to a recording.

    The arm comes first: what its encoders are off by is known from it when the pictures are looked at. So the arm is
    fitted for the camera factors too where the recording has its chirps.

    Args:
        log: a calibration recording.
        factors: what to fit, of :data:`r2s2r.contracts.world.FACTORS`.
        on_begin: is told what begins.

    Raises:
        ConfigError: a factor is unknown.
        RecordingError: the recording lacks what a factor needs, or is damaged.
        GroundingError: the data contradict themselves or leave something open that has no default.
    """
    wanted = [choose("factor", name, FACTORS) for name in factors]
    seen = any(name in CAMERA_FACTORS for name in wanted)
    streams = tuple(dict.fromkeys(stream for name in wanted for stream in NEEDED[name]))
    warnings = list(check_cell_log(log, streams, CAMERAS if seen else ()))
    fits: dict[str, FactorFit] = {}
    pictures: list[PictureTags] = []
    if "arm" in wanted or (seen and _has(log, "arm_chirp")):
        on_begin("arm")
        fits["arm"] = fit_arm(log)
    if seen:
        on_begin("tags")
        pictures = read_tags(log)
        warnings += rejections(pictures)
        cameras, joints = _fit_cameras(log, pictures, fits.get("arm"), warnings, on_begin)
        fits |= cameras
        if "arm" in fits:
            fits["arm"] = _with_joints(fits["arm"], joints)
    if "hand" in wanted:
        on_begin("hand")
        fits["hand"] = fit_hand(log)
    fits = {name: fits[name] for name in FACTORS if name in fits and name in wanted}
    for fit in fits.values():
        warnings += fit.warnings
    world = replace(World.nominal(), **{name: fit.value for name, fit in fits.items()})
    provenance = {"source": "r2s2r ground", "factors": list(fits), "recording": log.provenance}
    world = replace(world, provenance=provenance)
    return Grounding(world, fits, tuple(dict.fromkeys(warnings)), tuple(pictures))


def _fit_cameras(
    log: CellLog,
    pictures: list[PictureTags],
    arm: FactorFit | None,
    warnings: list[str],
    on_begin: Callable[[str], None],
) -> tuple[dict[str, FactorFit], dict[str, Estimate]]:
    """Return both camera factors, and what the pictures say of the arm's joints."""
    sightings = [sighting for picture in pictures for sighting in picture.sightings()]
    on_begin("cameras")
    chain, nominal = serial_chain(compose().urdf_path, FLANGE_LINK), World.nominal()
    bundle = register(sightings, log.streams["arm_joint_pos"], log.info, chain, None if arm is None else _bias(arm))
    belt = None
    if "belt_command" in log.streams and _has(log, "belt_run"):
        belt = follow_item(sightings, log.streams["belt_command"], log.info.targets.item, bundle)
    on_begin("blur")
    blur, unmeasured = lens_blur(log, pictures, bundle)
    warnings += unmeasured
    fits = {
        "wrist_cameras": fit_wrist_cameras(bundle, nominal.wrist_cameras, blur),
        "poses": fit_poses(bundle, nominal.poses, belt),
    }
    for name, rms in nominal_rms_px(bundle, chain, nominal).items():
        fits[name] = replace(fits[name], residuals=fits[name].residuals | {"nominal_held_out_rms_px": rms})
    return fits, joint_estimates(bundle)


def _bias(arm: FactorFit) -> Estimate:
    return next(estimate for estimate in arm.estimates if estimate.name == BIAS)


def _with_joints(arm: FactorFit, joints: dict[str, Estimate]) -> FactorFit:
    """Return the arm with its joint frames, and its biases as encoders and pictures together have them."""
    alone = _bias(arm)
    together = replace(joints[BIAS], determined=joints[BIAS].known | alone.known)
    estimates = [together if estimate.name == BIAS else estimate for estimate in arm.estimates]
    estimates.append(joints[OFFSETS])
    offsets = joints[OFFSETS].value.reshape(-1, 6)
    value = replace(
        arm.value,
        kinematic_offsets=tuple(map(tuple, offsets.tolist())),
        encoder_bias=tuple(together.value.tolist()),
        controller="weighted_ik",
    )
    return replace(arm, value=value, estimates=tuple(estimates))


def _has(log: CellLog, segment: str) -> bool:
    return any(found.name == segment for found in log.segments)
