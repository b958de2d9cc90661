"""Lens from pictures of a known flat object: fisheye in OpenCV's model, or pinhole with five distortion terms.

OpenCV's calibration gives the start, after which lens and views are adjusted with our own projection; where OpenCV
aborts or ends in a bad optimum, the adjustment starts from several guessed focal lengths instead. A result is returned
only when it explains the pictures and the pictures determine it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError, GroundingError
from r2s2r.contracts.transforms import pose_apply
from r2s2r.world.lens_adjustment import Adjustment, View, adjust, lens_columns
from r2s2r.world.lens_start import opencv_start, start_pose
from r2s2r.world.parameters import LENS
from r2s2r.world.uncertainty import sandwich

_GUESSED_FOV = (1.2, 1.7, 2.2, 2.8, 3.4)
"""Horizontal fields of view [rad] from which the adjustment starts when nothing better is there."""

_ROUGH_STEPS = 15
_OUTLIER = 3.0
"""A view with this many times the usual RMS is an outlier."""


@dataclass(frozen=True)
class LensCfg:
    """What is accepted.

    Raises:
        ConfigError: a value is not allowed.
    """

    start: FisheyeCamera | None = None
    """Lens as the data sheet has it; None: guessed."""
    max_rms_px: float = 1.0
    """RMS distance of points from where the result puts them, above which it is refused [px]."""
    min_extent: float = 0.08
    """Smallest extent of a view, in picture widths; a smaller one says nothing about its pose and is left out."""
    min_views: int = 4
    """Fewest views."""
    max_focal_uncertainty: float = 0.05
    """Half width of the focal length's 95 % interval over it, above which it counts as not observable."""
    fallback: bool = False
    """Whether `start` is returned, with a warning, when the views do not determine the lens."""

    def __post_init__(self):
        set_number(self, "max_rms_px", 0.01, 100.0)
        set_number(self, "min_extent", 0.0, 1.0)
        set_number(self, "min_views", 1, 10_000)
        set_number(self, "max_focal_uncertainty", 1e-6, 1.0)
        if self.fallback and self.start is None:
            raise ConfigError("LensCfg.fallback: received True without a start, allowed is True with one")


@dataclass(frozen=True)
class LensFit:
    """A calibrated lens."""

    camera: FisheyeCamera | PinholeCamera
    """The lens; for a fisheye up to the largest angle that was seen."""
    half_width: np.ndarray
    """(8,) or (4,) half of the 95 % interval of fx, fy, cx, cy, k1..k4 [px, 1]; infinite where not determined."""
    distortion: tuple[float, ...]
    """Terms k1, k2, p1, p2, k3 of OpenCV's pinhole model; () for a fisheye."""
    rms_px: float
    """RMS distance over all used points [px]."""
    view_rms_px: np.ndarray
    """(V,) of each view, NaN where it was left out."""
    poses: np.ndarray
    """(V, 4, 4) T_cam_object; NaN where a view was left out."""
    left_out: tuple[int, ...] = ()
    """Numbers of views that were left out."""
    warnings: tuple[str, ...] = ()
    """One line each."""


def calibrate_fisheye(
    object_points: Sequence[np.ndarray],
    image_points: Sequence[np.ndarray],
    image_size: tuple[int, int],
    cfg: LensCfg | None = None,
) -> LensFit:
    """Return the fisheye lens that explains views of a flat object.

    Args:
        object_points: V arrays (n, 3) [any length], z = 0.
        image_points: V arrays (n, 2) [px].
        image_size: width and height [px].
        cfg: what is accepted.

    Raises:
        GroundingError: too few views; a start value is not finite (names view and value); the views do not determine
            the focal length; the result does not explain them (names the worst).
    """
    cfg = cfg or LensCfg()
    views = _views(object_points, image_points)
    used = _large_enough(views, image_size, cfg)
    guess = cfg.start or FisheyeCamera.equidistant(*image_size, _GUESSED_FOV[2])
    try:
        _check_views(used, len(views), cfg)
        best = _best_start(views, used, guess, cfg)
        used, best = _without_outliers(views, used, best, cfg)
        half_width = _half_width(best, [views[i] for i in used])
        _check_focal(best, half_width, cfg)
    except GroundingError as error:
        if not cfg.fallback or cfg.start is None:
            raise
        nothing = np.full(len(views), np.nan)
        poses = np.full((len(views), 4, 4), np.nan)
        text = f"lens: the start value stays, {error}"
        return LensFit(cfg.start, np.full(len(LENS), np.inf), (), np.nan, nothing, poses, (), (text,))
    return _result(views, used, best, half_width, cfg)


def calibrate_pinhole(
    object_points: Sequence[np.ndarray], image_points: Sequence[np.ndarray], image_size: tuple[int, int]
) -> LensFit:
    """Return the pinhole lens with five distortion terms, by OpenCV alone, with its own standard deviations.

    Args:
        object_points: V arrays (n, 3), z = 0.
        image_points: V arrays (n, 2) [px].
        image_size: width and height [px].

    Raises:
        GroundingError: views are damaged.
    """
    views = _views(object_points, image_points)
    rms, matrix, terms, turns, shifts, sd, _, view_rms = cv2.calibrateCameraExtended(
        [view.points.astype(np.float32) for view in views],
        [view.pixels.astype(np.float32) for view in views],
        image_size,
        np.eye(3),
        np.zeros(5),
    )
    poses = np.tile(np.eye(4), (len(views), 1, 1))
    for T, turn, shift in zip(poses, turns, shifts, strict=True):
        T[:3, :3], T[:3, 3] = cv2.Rodrigues(turn)[0], shift.ravel()
    camera = PinholeCamera(*image_size, matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2])
    distortion = tuple(float(term) for term in terms.ravel())
    return LensFit(camera, 1.96 * sd.ravel()[:4], distortion, float(rms), view_rms.ravel(), poses)


def preferred_model(fisheye: LensFit, pinhole: LensFit) -> str:
    """Return `fisheye` (8 numbers) or `pinhole` (9): the one with the smaller residual on the same views."""
    return "fisheye" if fisheye.rms_px < pinhole.rms_px else "pinhole"


def _views(object_points: Sequence[np.ndarray], image_points: Sequence[np.ndarray]) -> list[View]:
    if len(object_points) != len(image_points):
        raise GroundingError(f"lens: received {len(object_points)} objects and {len(image_points)} pictures of them")
    views = []
    for i, (points, pixels) in enumerate(zip(object_points, image_points, strict=True)):
        view = View(np.asarray(points, dtype=float).reshape(-1, 3), np.asarray(pixels, dtype=float).reshape(-1, 2))
        if len(view.points) != len(view.pixels) or len(view.points) < 6:
            raise GroundingError(f"lens: view {i} has {len(view.points)} points and {len(view.pixels)} pixels")
        for name, values in (("points", view.points), ("pixels", view.pixels)):
            if not np.isfinite(values).all():
                raise GroundingError(
                    f"lens: view {i}: its {name} hold {np.sum(~np.isfinite(values))} non-finite numbers"
                )
        views.append(view)
    return views


def _large_enough(views: list[View], image_size: tuple[int, int], cfg: LensCfg) -> list[int]:
    extents = [np.linalg.norm(np.ptp(view.pixels, axis=0)) / image_size[0] for view in views]
    return [i for i, extent in enumerate(extents) if extent >= cfg.min_extent]


def _check_views(used: list[int], count: int, cfg: LensCfg) -> None:
    if len(used) < cfg.min_views:
        raise GroundingError(
            f"lens: {len(used)} of {count} views are large enough to be used, needed are {cfg.min_views:g}"
        )


def _best_start(views: list[View], used: list[int], guess: FisheyeCamera, cfg: LensCfg) -> Adjustment:
    """Return the adjustment from OpenCV's result, or from guessed focal lengths where that does not explain enough."""
    chosen = [views[i] for i in used]
    starts = [start for start in (opencv_start(chosen, guess),) if start is not None]
    found = [_adjusted(start, chosen, used) for start in starts]
    if not found or _rms(found[0]) > cfg.max_rms_px:
        guesses = [FisheyeCamera.equidistant(guess.width, guess.height, fov) for fov in _GUESSED_FOV]
        rough = [_adjusted(start, chosen, used, _ROUGH_STEPS) for start in [guess, *guesses]]
        best = min(rough, key=lambda adjusted: adjusted.cost)
        found.append(adjust(best.camera, best.poses, chosen))
    return min(found, key=lambda adjusted: adjusted.cost)


def _adjusted(camera: FisheyeCamera, views: list[View], numbers: list[int], steps: int = 60) -> Adjustment:
    poses = np.array([start_pose(camera, view, i) for view, i in zip(views, numbers, strict=True)])
    return adjust(camera, poses, views, steps)


def _without_outliers(
    views: list[View], used: list[int], best: Adjustment, cfg: LensCfg
) -> tuple[list[int], Adjustment]:
    """Return the views that agree and their adjustment; the worst are left out and the rest adjusted again."""
    for _ in range(5):
        rms = _view_rms(best)
        bad = rms > max(_OUTLIER * float(np.median(rms)), 1e-3)
        if not bad.any() or (~bad).sum() < cfg.min_views:
            break
        used = [i for i, out in zip(used, bad, strict=True) if not out]
        best = adjust(best.camera, best.poses[~bad], [views[i] for i in used])
    if _rms(best) > cfg.max_rms_px or not np.isfinite(best.cost):
        worst = [used[i] for i in np.argsort(_view_rms(best))[::-1][:3]]
        raise GroundingError(
            f"lens: RMS {_rms(best):.2f} px, allowed are {cfg.max_rms_px:g}; "
            f"worst are views {', '.join(map(str, worst))}"
        )
    return used, best


def _half_width(best: Adjustment, views: list[View]) -> np.ndarray:
    columns = lens_columns(best, views)
    groups = np.concatenate([np.full(len(c), i) for i, c in enumerate(columns)])
    errors = np.concatenate([residual.ravel() for residual in best.residuals])
    return sandwich(np.concatenate(columns), errors, groups).half_width


def _check_focal(best: Adjustment, half_width: np.ndarray, cfg: LensCfg) -> None:
    focal = np.array([best.camera.fx, best.camera.fy])
    worst = float(np.max(half_width[:2] / focal))
    if not worst < cfg.max_focal_uncertainty:
        tilt = np.rad2deg(np.arccos(np.clip(np.abs(best.poses[:, 2, 2]), 0.0, 1.0)))
        raise GroundingError(
            f"lens: focal length not observable: it is known to {100.0 * worst:.1f} %, allowed are "
            f"{100.0 * cfg.max_focal_uncertainty:g} %; the {len(tilt)} views are tilted by {tilt.min():.1f} to "
            f"{tilt.max():.1f} degrees against the picture, needed are some of 20 and more"
        )


def _result(views: list[View], used: list[int], best: Adjustment, half_width: np.ndarray, cfg: LensCfg) -> LensFit:
    angles = [_angles(T, views[i]) for T, i in zip(best.poses, used, strict=True)]
    camera = replace(best.camera, max_angle=float(np.concatenate(angles).max()))
    rms, poses = np.full(len(views), np.nan), np.full((len(views), 4, 4), np.nan)
    rms[used], poses[used] = _view_rms(best), best.poses
    left_out = tuple(i for i in range(len(views)) if i not in used)
    warnings = (f"lens: views left out: {', '.join(map(str, left_out))}",) if left_out else ()
    return LensFit(camera, half_width, (), _rms(best), rms, poses, left_out, warnings)


def _angles(T: np.ndarray, view: View) -> np.ndarray:
    points = pose_apply(T, view.points)
    return np.arctan2(np.linalg.norm(points[:, :2], axis=1), points[:, 2])


def _view_rms(best: Adjustment) -> np.ndarray:
    return np.array([np.sqrt(np.mean(np.sum(residual**2, axis=1))) for residual in best.residuals])


def _rms(best: Adjustment) -> float:
    return float(np.sqrt(best.cost / sum(len(residual) for residual in best.residuals)))
