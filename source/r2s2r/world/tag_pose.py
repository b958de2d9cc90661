"""Pose of a single tag, with both solutions where there are two, and what a tag's size is.

A plane seen from far away looks the same tilted to either side: two poses explain the corners almost equally well
(Collins and Bartoli, IJCV 2014). Both are kept with their errors; motion or many pictures choose between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.optimize import least_squares

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import RecordingError, choose
from r2s2r.contracts.targets import CORNER_SIGNS
from r2s2r.contracts.transforms import pose_inverse, se3_exp, so3_log
from r2s2r.world.points import NormalisedPoints, RawPixels, normalised

PRINT_MODULES = {"tag36h11": (10, 8), "tag25h9": (9, 7), "tag16h5": (8, 6), "tagStandard41h12": (9, 5)}
"""Modules along the whole print and along the edge that AprilTag measures, by family (apriltag-imgs, README of
AprilTag 3: the size is the edge where the border's black and white meet)."""

_FLAT = np.concatenate([0.5 * CORNER_SIGNS, np.zeros((4, 1))], axis=1)
_STARTS = 5
"""Frames whose solutions start the joint fit."""

_SAME_POSE_RAD = 1e-3
"""Minima that are turned by less are one."""


@dataclass(frozen=True)
class TagPoseCfg:
    """When two poses cannot be told apart.

    Raises:
        ConfigError: a value is not allowed.
    """

    corner_sigma_px: float = 0.3
    """Standard deviation of a corner coordinate [px]."""
    min_likelihood_ratio: float = 100.0
    """How much likelier the better pose must be; below it the tag is ambiguous."""

    def __post_init__(self):
        set_number(self, "corner_sigma_px", 1e-3, 10.0)
        set_number(self, "min_likelihood_ratio", 1.0, 1e12)


@dataclass(frozen=True)
class TagPose:
    """Both poses of a tag that explain its corners."""

    poses: np.ndarray
    """(2, 4, 4) pose of the tag, the better first; where there is one solution it is given twice."""
    errors_px: np.ndarray
    """(2,) RMS distance [px] between corners and where the pose puts them, in pixels of the picture's centre."""
    ambiguous: bool
    """Whether the corners leave both possible."""


def edge_from_print(print_width: float, family: str) -> float:
    """Return the edge that poses are measured with [m], of a tag printed `print_width` [m] wide with its margin.

    Raises:
        ConfigError: the family is unknown.
    """
    across, edge = PRINT_MODULES[choose("tag family", family, tuple(PRINT_MODULES))]
    return print_width * edge / across


def tag_pose(
    points: RawPixels | NormalisedPoints,
    camera: FisheyeCamera | PinholeCamera | None,
    tag_size: float,
    focal_px: float | None = None,
    cfg: TagPoseCfg | None = None,
) -> TagPose:
    """Return the poses of a tag from its four corners.

    Args:
        points: corners (4, 2) in the contract's order.
        camera: the lens that is still in the points; None for normalised points.
        tag_size: edge of the black square [m].
        focal_px: pixels per unit of normalised points, for the errors; the camera's, if there is one.
        cfg: limits.

    Raises:
        ConfigError: points and camera do not belong together.
        RecordingError: a corner lies outside the lens's domain.
    """
    cfg = cfg or TagPoseCfg()
    flat, inside = normalised(points, camera)
    if flat.values.shape != (4, 2) or not inside.all():
        raise RecordingError(
            f"tag pose: received {int(inside.sum())} usable corners, needed are 4 in the lens's domain"
        )
    focal = focal_px or (0.5 * (camera.fx + camera.fy) if camera is not None else 1.0)
    poses = _both(flat.values, tag_size)
    squares = np.sum((focal * _errors(poses, flat.values, tag_size)) ** 2, axis=(-1, -2))
    order = np.argsort(squares)
    different = _apart(poses[0], poses[1]) > _SAME_POSE_RAD
    ambiguous = different and _undecided(float(squares[order[1]] - squares[order[0]]), cfg)
    return TagPose(poses[order], np.sqrt(squares[order] / 4.0), ambiguous)


def fused_tag_pose(
    frames: Sequence[RawPixels | NormalisedPoints],
    camera: FisheyeCamera | PinholeCamera | None,
    T_ref_cam: np.ndarray,
    tag_size: float,
    cfg: TagPoseCfg | None = None,
) -> TagPose:
    """Return the poses T_ref_tag of a tag that stands still, from its corners in many frames at once.

    Starts at both solutions of several frames and minimises the reprojection error over all; the best two different
    minima are kept. A moving camera decides between them, and single frames cannot flip.

    Args:
        frames: corners (4, 2) of each frame.
        camera: the lens that is still in the points; None for normalised points, errors are then in focal lengths.
        T_ref_cam: (F, 4, 4) camera in each frame, such as from the robot's joints; all equal for a still camera.
        tag_size: edge of the black square [m].
        cfg: limits.

    Raises:
        RecordingError: there is no frame, or not one camera pose for each.
    """
    cfg = cfg or TagPoseCfg()
    if not len(frames) or np.shape(T_ref_cam) != (len(frames), 4, 4):
        raise RecordingError(f"tag pose: received {len(frames)} frames and camera poses of shape {np.shape(T_ref_cam)}")
    flat = np.array([normalised(frame, camera)[0].values for frame in frames])
    focal = 0.5 * (camera.fx + camera.fy) if camera is not None else 1.0
    T_cam_ref = pose_inverse(np.asarray(T_ref_cam))

    def residuals(T_ref_tag: np.ndarray) -> np.ndarray:
        return focal * _errors(T_cam_ref @ T_ref_tag, flat, tag_size).ravel()

    found = []
    for k in np.unique(np.linspace(0, len(frames) - 1, _STARTS).astype(int)):
        for start in T_ref_cam[k] @ _both(flat[k], tag_size):
            fit = least_squares(lambda twist, at=start: residuals(at @ se3_exp(twist)), np.zeros(6), method="lm")
            found.append((2.0 * fit.cost, start @ se3_exp(fit.x)))
    found.sort(key=lambda minimum: minimum[0])
    best = found[0][1]
    others = [minimum for minimum in found if _apart(minimum[1], best) > _SAME_POSE_RAD]
    second = others[0] if others else found[0]
    errors = np.sqrt(np.array([found[0][0], second[0]]) / (4.0 * len(frames)))
    ambiguous = bool(others) and _undecided(second[0] - found[0][0], cfg)
    return TagPose(np.array([best, second[1]]), errors, ambiguous)


def check_known_distance(measured: float, known: float, tolerance: float = 0.05) -> None:
    """Refuse a tag size that contradicts a second known distance.

    Args:
        measured: distance between two tags [m] that the poses give.
        known: the same by tape measure [m].
        tolerance: allowed relative difference.

    Raises:
        RecordingError: they differ; the message names the ratio and what it looks like.
    """
    ratio = measured / known
    if abs(ratio - 1.0) <= tolerance:
        return
    causes = {1000.0: "millimetres given as metres", 10.0: "tag size off by ten", 0.1: "tag size off by ten"}
    causes |= {0.001: "metres given as millimetres"}
    for family, (across, edge) in PRINT_MODULES.items():
        causes[across / edge] = f"width of the whole {family} print given as its edge"
    nearest = min(causes, key=lambda value: abs(np.log(ratio / value)))
    hint = f"; it looks like {causes[nearest]}" if abs(ratio / nearest - 1.0) < 0.03 else ""
    raise RecordingError(
        f"tag size: two tags measure {measured:.3f} m apart, known are {known:.3f} m, ratio {ratio:.2f}{hint}"
    )


def _both(flat: np.ndarray, tag_size: float) -> np.ndarray:
    """Return both solutions (2, 4, 4), the better first, of corners (4, 2) on the plane z = 1."""
    # OpenCV's order for squares is the contract's from the upper left, clockwise.
    order = [3, 2, 1, 0]
    _, rotations, translations, _ = cv2.solvePnPGeneric(
        tag_size * _FLAT[order], flat[order], np.eye(3), None, flags=cv2.SOLVEPNP_IPPE_SQUARE
    )
    poses = np.tile(np.eye(4), (2, 1, 1))
    for k in range(2):
        # A single solution is given twice.
        poses[k, :3, :3] = cv2.Rodrigues(rotations[min(k, len(rotations) - 1)])[0]
        poses[k, :3, 3] = translations[min(k, len(rotations) - 1)].ravel()
    return poses


def _errors(T_cam_tag: np.ndarray, flat: np.ndarray, tag_size: float) -> np.ndarray:
    """Return how far corners of tags at (..., 4, 4) are seen from where they were (..., 4, 2)."""
    seen = tag_size * _FLAT @ np.swapaxes(T_cam_tag[..., :3, :3], -1, -2) + T_cam_tag[..., None, :3, 3]
    return seen[..., :2] / seen[..., 2:] - flat


def _apart(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.linalg.norm(so3_log(first[:3, :3].T @ second[:3, :3])))


def _undecided(more_square_px: float, cfg: TagPoseCfg) -> bool:
    """Return whether a sum of squares that is greater by so much leaves the worse pose possible."""
    return more_square_px / (2.0 * cfg.corner_sigma_px**2) < np.log(cfg.min_likelihood_ratio)
