"""The two factors that pictures give: wrist camera, and poses of head camera, base and belt."""

from dataclasses import replace

import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.transforms import pose_inverse, quat_from_matrix
from r2s2r.contracts.world import CellPoses, WristCameras
from r2s2r.world.belt_motion import BeltMotion
from r2s2r.world.bundle import Bundle
from r2s2r.world.bundle_model import HEAD, WRIST
from r2s2r.world.bundle_state import BLOCKS, STEP_SIZE, lens_values
from r2s2r.world.estimate import Estimate, FactorFit
from r2s2r.world.parameters import HEAD_LENS, LENS

USEFUL_POSE = (0.02, np.deg2rad(2.0))
"""Half widths [m, rad] from which on a pose counts as not determined: worse than a tape measure."""

USEFUL_LENS_PX = 20.0
"""Half width [px] from which on a focal length or centre counts as not determined: worse than a data sheet."""


def fit_wrist_cameras(bundle: Bundle, nominal: WristCameras, blur: Estimate | None = None) -> FactorFit:
    """Return the wrist camera of an adjusted cell.

    Args:
        bundle: from :func:`r2s2r.world.registration.register`.
        nominal: what is taken for the blur where it was not measured.
        blur: `wrist_cameras.blur_sigma_px`, measured in the pictures.
    """
    state, rows = bundle.state, bundle.data.camera == WRIST
    points = bundle.points_c[rows]
    angle = np.arctan2(np.linalg.norm(points[:, :2], axis=1), points[:, 2])
    camera = replace(state.wrist, max_angle=float(angle.max()))
    mount = _pose_estimate(bundle, "wrist_cameras.mount", "mount")
    sigma = nominal.blur_sigma_px if blur is None else max(float(blur.value[0]), 0.0)
    value = WristCameras(camera, tuple(mount.value[:3]), tuple(mount.value[3:]), sigma, grounded=True)
    estimates = [_lens_estimate(bundle, "wrist_cameras.lens", "wrist_lens"), mount]
    warnings = [*_camera_warnings(bundle, WRIST), *_open(estimates)]
    if blur is None:
        warnings.append("wrist_cameras.blur_sigma_px: not measured; the nominal value stays")
    else:
        estimates.append(blur)
    return FactorFit(
        factor="wrist_cameras",
        value=value,
        estimates=tuple(estimates),
        residuals=_figures(bundle, WRIST),
        warnings=tuple(warnings),
        plots=residual_map(bundle, WRIST),
    )


def fit_poses(bundle: Bundle, nominal: CellPoses, belt: BeltMotion | None = None) -> FactorFit:
    """Return head camera, base and belt of an adjusted cell.

    Args:
        bundle: from :func:`r2s2r.world.registration.register`.
        nominal: what is taken for everything that tags do not show: bins, the belt's size, its speed without a run.
        belt: from :func:`r2s2r.world.belt_motion.follow_item`.
    """
    head, belt_pose = _pose_estimate(bundle, "poses.head", "head"), _pose_estimate(bundle, "poses.belt", "belt")
    base = _base_estimate(bundle)
    estimates = [head, _lens_estimate(bundle, "poses.head_lens", "head_lens"), base, belt_pose]
    warnings = [*_camera_warnings(bundle, HEAD), *_open(estimates)]
    scale = nominal.belt_speed_scale
    residuals, plots = _figures(bundle, HEAD), residual_map(bundle, HEAD)
    if belt is None:
        warnings.append("poses.belt_speed_scale: no block was followed; the nominal value stays")
    else:
        scale = belt.speed_scale
        estimates.append(
            Estimate("poses.belt_speed_scale", "vector", np.array([scale]), np.array([belt.speed_half_width]), "1")
        )
        warnings += belt.warnings
        residuals["belt_item_rms_mm"] = 1e3 * float(np.sqrt(np.mean(belt.residual_m**2)))
        plots |= {"belt_commanded_m": belt.commanded_m, "belt_residual_m": belt.residual_m}
    value = replace(
        nominal,
        head_camera=bundle.state.head,
        head_pos_b=tuple(head.value[:3]),
        head_quat_b=tuple(head.value[3:]),
        base_quat_w=tuple(base.value),
        belt_pos_b=tuple(belt_pose.value[:3]),
        belt_quat_b=tuple(belt_pose.value[3:]),
        belt_speed_scale=scale,
        grounded=True,
    )
    return FactorFit("poses", value, tuple(estimates), residuals, tuple(warnings), plots)


def joint_estimates(bundle: Bundle) -> dict[str, Estimate]:
    """Return what the pictures say of the arm: `arm.kinematic_offsets` (42) and `arm.encoder_bias` (7), both with what
    was known beforehand."""
    state = bundle.state
    wide, seen = _numbers(bundle, "offsets")
    offsets = Estimate(
        "arm.kinematic_offsets",
        "vector",
        state.offsets.ravel().copy(),
        np.concatenate([np.zeros(6), wide]),
        "m, rad",
        np.concatenate([np.ones(6, dtype=bool), seen]),
    )
    bias = Estimate("arm.encoder_bias", "vector", state.bias.copy(), *_with_unit(_numbers(bundle, "bias"), "rad"))
    return {estimate.name: estimate for estimate in (offsets, bias)}


def clock_estimates(bundle: Bundle) -> dict[str, Estimate]:
    """Return `clock.stamp_delay_s` and `clock.readout_s`, both (2,) in the order of CAMERAS."""
    state = bundle.state
    values = {"stamp_delay": state.stamp_delay, "readout": state.readout}
    return {
        f"clock.{name}_s": Estimate(f"clock.{name}_s", "vector", value.copy(), *_with_unit(_numbers(bundle, name), "s"))
        for name, value in values.items()
    }


def residual_map(bundle: Bundle, camera: int) -> dict[str, np.ndarray]:
    """Return where residuals are: `<camera>_pixels` (n, 2) and `<camera>_residuals_px` (n, 2), predicted - measured."""
    rows, name = bundle.data.camera == camera, CAMERAS[camera]
    return {f"{name}_pixels": bundle.data.pixels[rows], f"{name}_residuals_px": bundle.residuals[rows]}


def _pose_estimate(bundle: Bundle, name: str, block: str) -> Estimate:
    matrix, place = bundle.state.poses[block], BLOCKS[block]
    directions = np.zeros((6, STEP_SIZE))
    # Shifts of the step are along the mother frame's axes, turns about the pose's own.
    directions[:3, place.start : place.start + 3] = matrix[:3, :3].T
    directions[3:, place.start + 3 : place.stop] = np.eye(3)
    width = bundle.half_width(directions)
    seen = width < np.repeat(USEFUL_POSE, 3)
    return Estimate(name, "pose", np.r_[matrix[:3, 3], quat_from_matrix(matrix[:3, :3])], width, "m, rad", seen)


def _base_estimate(bundle: Bundle) -> Estimate:
    """Return the orientation of b in w, the inverse of the table's in b; its error turns about the base's axes."""
    table, place = bundle.state.poses["table"], BLOCKS["table"]
    directions = np.zeros((3, STEP_SIZE))
    directions[:, place.start + 3 : place.stop] = table[:3, :3]
    width = bundle.half_width(directions)
    quat = quat_from_matrix(pose_inverse(table)[:3, :3])
    return Estimate("poses.base_quat_w", "rotation", quat, width, "rad", width < USEFUL_POSE[1])


def _lens_estimate(bundle: Bundle, name: str, block: str) -> Estimate:
    wrist = block == "wrist_lens"
    value = lens_values(bundle.state.wrist if wrist else bundle.state.head, LENS if wrist else HEAD_LENS)
    width, seen = _numbers(bundle, block)
    seen[:4] &= width[:4] < USEFUL_LENS_PX
    return Estimate(name, "vector", value, width, "px" if not wrist else "px, 1", seen)


def _numbers(bundle: Bundle, block: str) -> tuple[np.ndarray, np.ndarray]:
    """Return half widths and whether the pictures determine them, of a block of plain numbers."""
    place = BLOCKS[block]
    width = bundle.half_width(np.eye(STEP_SIZE)[place])
    seen = np.zeros(STEP_SIZE, dtype=bool)
    seen[bundle.free] = bundle.covariance.determined
    return width, seen[place]


def _with_unit(widths: tuple[np.ndarray, np.ndarray], unit: str) -> tuple[np.ndarray, str, np.ndarray]:
    return widths[0], unit, widths[1]


def _figures(bundle: Bundle, camera: int) -> dict[str, float]:
    rows = bundle.data.camera == camera
    fitted = float(np.sqrt(2.0 * np.mean(bundle.residuals[rows] ** 2))) if rows.any() else float("nan")
    return {
        "held_out_rms_px": float(bundle.held_out_rms_px[camera]),
        "fitted_rms_px": fitted,
        "tags": float(np.sum(rows) // 4),
        "tags_left_out": float(bundle.left_out.get(CAMERAS[camera], 0)),
    }


def _camera_warnings(bundle: Bundle, camera: int) -> list[str]:
    name, found = CAMERAS[camera], []
    count = bundle.left_out.get(name, 0)
    if count:
        found.append(f"{name} camera: {count} tags left out as gross errors")
    return found + [line for line in bundle.warnings if line.startswith(name)]


def _open(estimates: list[Estimate]) -> list[str]:
    """Return one line for each estimate that the pictures leave open."""
    found = []
    for estimate in estimates:
        if estimate.determined is not None and not estimate.determined.all():
            which = np.flatnonzero(~estimate.determined).tolist()
            found.append(f"{estimate.name}: the pictures do not determine its numbers {which}")
    return found
