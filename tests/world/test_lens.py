"""Lens calibration: field reports, real boards, refusals."""

import cv2
import numpy as np
import pytest

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.errors import ConfigError, GroundingError
from r2s2r.contracts.projection import project
from r2s2r.contracts.transforms import pose_apply, pose_inverse, so3_log
from r2s2r.recording.catalogue import NO_DATA_REASON, data_file
from r2s2r.world.lens import LensCfg, LensFit, calibrate_fisheye, calibrate_pinhole, preferred_model
from r2s2r.world.lens_adjustment import View, adjust

from .tag_scene import plane_pose

LENS = FisheyeCamera(640, 480, 220.0, 220.0, 319.5, 239.5, -0.02, 0.004, -0.001, 0.0)
SIZE = (640, 480)


def grid(columns: int, rows: int, spacing: float) -> np.ndarray:
    places = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(-1, 2) * spacing
    return np.concatenate([places - places.mean(axis=0), np.zeros((columns * rows, 1))], axis=1)


BOARD = grid(8, 6, 0.03)


def view(rng: np.random.Generator, pos: tuple, tilt: tuple, noise: float = 0.2, camera=LENS) -> np.ndarray:
    pixels, valid = project(camera, pose_apply(plane_pose(pos, tilt), BOARD))
    assert valid.all()
    return pixels + noise * rng.standard_normal(pixels.shape)


def varied_views(rng: np.random.Generator, count: int, camera=LENS) -> list[np.ndarray]:
    """Boards all over the picture, 0.1 to 0.25 m away, tilted up to 50 degrees."""
    return [
        view(
            rng,
            (rng.uniform(-0.2, 0.2), rng.uniform(-0.15, 0.15), rng.uniform(0.1, 0.25)),
            tuple(rng.uniform(-0.6, 0.6, 3)),
            camera=camera,
        )
        for _ in range(count)
    ]


def parallel_views(rng: np.random.Generator) -> list[np.ndarray]:
    """15 boards parallel to the picture within a degree, 0.4 to 0.6 m away."""
    return [
        view(
            rng,
            (rng.uniform(-0.1, 0.1), rng.uniform(-0.1, 0.1), rng.uniform(0.4, 0.6)),
            (*np.deg2rad(rng.uniform(-0.7, 0.7, 2)), rng.uniform(0.0, 1.5)),
        )
        for _ in range(15)
    ]


def test_b01_result_with_residuals_and_useless_views_named(rng):
    small = [view(rng, (0.1, 0.1, 1.7), (0.1, 0.1, 0.0)), view(rng, (-0.5, 0.1, 1.8), (0.0, 0.1, 0.0))]
    assert max(np.ptp(pixels, axis=0).max() for pixels in small) < 40.0
    fit = calibrate_fisheye([BOARD] * 22, [*varied_views(rng, 20), *small], SIZE)
    assert isinstance(fit.camera, FisheyeCamera)
    assert abs(fit.camera.fx - LENS.fx) < 0.5 and fit.rms_px <= 0.3
    assert fit.left_out == (20, 21) and fit.warnings == ("lens: views left out: 20, 21",)
    assert np.isnan(fit.view_rms_px[20:]).all() and np.isfinite(fit.view_rms_px[:20]).all()
    truth = np.array([LENS.fx, LENS.fy, LENS.cx, LENS.cy, LENS.k1, LENS.k2, LENS.k3, LENS.k4])
    found = np.array([getattr(fit.camera, name) for name in ("fx", "fy", "cx", "cy", "k1", "k2", "k3", "k4")])
    # 95 % intervals: seven of eight, or one in three would fail by chance.
    assert (np.abs(found - truth) < fit.half_width).sum() >= 7
    assert 0.9 < fit.camera.max_angle < 1.5


def test_b01_a_bad_optimum_is_refused_and_the_worst_views_named(rng):
    views = varied_views(rng, 8)
    for i in (2, 5, 6, 7, 1):
        views[i] = views[i][rng.permutation(48)]
    with pytest.raises(GroundingError, match=r"lens: RMS [0-9.]+ px, allowed are 1; worst are views \d, \d, \d"):
        calibrate_fisheye([BOARD] * 8, views, SIZE)


def test_b01_a_wrong_view_is_left_out(rng):
    views = varied_views(rng, 14)
    views[3] = views[3] + 6.0 * rng.standard_normal(views[3].shape)
    fit = calibrate_fisheye([BOARD] * 14, views, SIZE)
    assert fit.left_out == (3,) and fit.rms_px < 0.35


def test_b04_parallel_views_do_not_show_the_focal_length(rng):
    views = parallel_views(rng)
    with pytest.raises(GroundingError, match="focal length not observable"):
        calibrate_fisheye([BOARD] * 15, views, SIZE)
    tilted = [
        view(rng, (0.05 * np.cos(a), 0.05 * np.sin(a), 0.45), (0.436 * np.cos(a), 0.436 * np.sin(a), 0.0))
        for a in 1.25 * np.arange(5)
    ]
    fit = calibrate_fisheye([BOARD] * 20, [*views, *tilted], SIZE)
    assert abs(fit.camera.fx - LENS.fx) < fit.half_width[0] < 0.05 * LENS.fx


def test_b04_a_default_is_taken_only_if_asked(rng):
    sheet = FisheyeCamera.equidistant(640, 480, 2.8)
    fit = calibrate_fisheye([BOARD] * 15, parallel_views(rng), SIZE, LensCfg(start=sheet, fallback=True))
    assert fit.camera == sheet and np.isinf(fit.half_width).all()
    assert "the start value stays" in fit.warnings[0] and "not observable" in fit.warnings[0]
    with pytest.raises(ConfigError, match="LensCfg.fallback: received True without a start"):
        LensCfg(fallback=True)


def test_b04_numbers_that_are_not_finite_stop_it(rng):
    views = varied_views(rng, 5)
    views[3][7, 1] = np.nan
    with pytest.raises(GroundingError, match="lens: view 3: its pixels hold 1 non-finite numbers"):
        calibrate_fisheye([BOARD] * 5, views, SIZE)


def test_b04_degenerate_object_names_view_and_value(rng):
    flat = np.zeros_like(BOARD)
    with pytest.raises(GroundingError, match="lens: view 0: the start value of its (orientation|position)"):
        calibrate_fisheye([flat] * 5, varied_views(rng, 5), SIZE)


def test_refusals(rng):
    with pytest.raises(GroundingError, match="3 of 3 views are large enough to be used, needed are 4"):
        calibrate_fisheye([BOARD] * 3, varied_views(rng, 3), SIZE)
    with pytest.raises(GroundingError, match="received 2 objects and 3 pictures"):
        calibrate_fisheye([BOARD] * 2, varied_views(rng, 3), SIZE)
    with pytest.raises(GroundingError, match="view 0 has 48 points and 47 pixels"):
        calibrate_fisheye([BOARD], [varied_views(rng, 1)[0][1:]], SIZE)


def test_adjustment_is_exact_without_noise(rng):
    places = [plane_pose((0.05 * k - 0.1, 0.03 * k - 0.06, 0.2), (0.3 * (k - 2), 0.4, 0.2 * k)) for k in range(5)]
    views = [View(BOARD, project(LENS, pose_apply(T, BOARD))[0]) for T in places]
    start = FisheyeCamera(640, 480, 215.0, 224.0, 322.0, 237.0, 0.0, 0.0, 0.0, 0.0)
    found = adjust(start, np.array(places), views)
    assert found.converged and found.cost < 1e-12
    assert found.camera.fx == pytest.approx(220.0, abs=1e-5) and found.camera.cx == pytest.approx(319.5, abs=1e-5)


def test_pinhole_adjustment_is_exact_without_noise():
    camera = PinholeCamera(640, 480, 540.0, 543.0, 322.0, 237.0)
    places = [plane_pose((0.02 * k, 0.01 * k, 0.5), (0.3 * (k - 2), 0.4, 0.2 * k)) for k in range(5)]
    views = [View(BOARD, project(camera, pose_apply(T, BOARD))[0]) for T in places]
    found = adjust(PinholeCamera(640, 480, 500.0, 500.0, 319.5, 239.5), np.array(places), views)
    assert found.converged and found.camera.fy == pytest.approx(543.0, abs=1e-5)


@pytest.fixture(scope="module")
def stereo() -> tuple[LensFit, LensFit]:
    path = data_file("stereo_chessboard_corners")
    if path is None:
        pytest.skip(NO_DATA_REASON)
    with np.load(path) as data:
        left, right = (
            calibrate_fisheye(data["object_points"] / 1000.0, data[f"image_points_{k}"], tuple(data[f"image_size_{k}"]))
            for k in (1, 2)
        )
    return left, right


def test_stereo_rig_each_camera(stereo):
    for fit, rms, centre in zip(stereo, (0.486, 0.469), ((364.0, 301.1), (339.2, 274.8)), strict=True):
        assert fit.rms_px == pytest.approx(rms, abs=2e-3) and fit.rms_px <= 0.50
        assert fit.camera.fx == pytest.approx(241.3, abs=0.2) and fit.camera.fy == pytest.approx(257.0, abs=0.2)
        assert (fit.camera.cx, fit.camera.cy) == pytest.approx(centre, abs=0.1)


def test_stereo_rig_relative_pose(stereo):
    left, right = stereo
    relative = left.poses @ pose_inverse(right.poses)
    distances = np.linalg.norm(relative[:, :3, 3], axis=1)
    turns = np.rad2deg(np.linalg.norm(so3_log(relative[:, :3, :3]), axis=1))
    assert np.median(distances) == pytest.approx(0.161, abs=1e-3)
    assert np.median(turns) == pytest.approx(7.8, abs=0.1)
    # View by view it repeats.
    assert np.median(np.abs(distances - np.median(distances))) < 1e-3


def test_stereo_rig_is_a_fisheye(stereo):
    path = data_file("stereo_chessboard_corners")
    assert path is not None
    with np.load(path) as data:
        pinhole = calibrate_pinhole(data["object_points"] / 1000.0, data["image_points_1"], (704, 576))
    assert pinhole.rms_px == pytest.approx(1.43, abs=0.02)
    assert preferred_model(stereo[0], pinhole) == "fisheye"


def test_circle_grid_is_a_pinhole():
    path = data_file("circle_grid", "hand_eye/circle_grid.npz")
    if path is None:
        pytest.skip(NO_DATA_REASON)
    with np.load(path) as data:
        centres, spacing = data["circle_centres_px"], float(data["spacing_m"])
    fit = calibrate_pinhole([grid(10, 10, spacing)] * len(centres), list(centres), SIZE)
    assert fit.rms_px == pytest.approx(0.19, abs=5e-3)
    assert (fit.camera.fx, fit.camera.fy) == pytest.approx((542.0, 543.3), abs=0.2)
    assert (fit.camera.cx, fit.camera.cy) == pytest.approx((320.4, 226.0), abs=0.2)
    # The source's own calibration lies within our intervals.
    source = np.array([542.324, 543.515, 320.474, 226.039])
    found = np.array([fit.camera.fx, fit.camera.fy, fit.camera.cx, fit.camera.cy])
    assert (np.abs(found - source) < fit.half_width).all()


@pytest.mark.slow
def test_gopro_photographs():
    corners = []
    for k in (32, 33, 34, 35, 36, 37, 38, 40, 41, 42, 43, 44, 45, 46):
        path = data_file("gopro_chessboard", f"fisheye/gopro_chessboard/GOPR00{k}.jpg")
        if path is None:
            pytest.skip(NO_DATA_REASON)
        grey = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        flags = cv2.CALIB_CB_EXHAUSTIVE | cv2.CALIB_CB_ACCURACY
        found, points = cv2.findChessboardCornersSB(grey, (8, 6), flags=flags)
        assert found, f"GOPR00{k}"
        corners.append(points.reshape(-1, 2))
    fit = calibrate_fisheye([grid(8, 6, 1.0)] * 14, corners, (1280, 960))
    assert isinstance(fit.camera, FisheyeCamera)
    assert fit.rms_px == pytest.approx(0.428, abs=5e-3)
    assert (fit.camera.fx, fit.camera.fy) == pytest.approx((563.8, 564.9), abs=0.5)
    assert np.rad2deg(fit.camera.horizontal_fov) == pytest.approx(121.0, abs=1.0)
