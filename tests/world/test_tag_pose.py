"""Pose of one tag: the lens once, both solutions, sizes."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.projection import project
from r2s2r.contracts.targets import CORNER_SIGNS
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse, quat_exp, so3_log
from r2s2r.world.points import NormalisedPoints, RawPixels, normalised
from r2s2r.world.tag_pose import check_known_distance, edge_from_print, fused_tag_pose, tag_pose

from .tag_scene import plane_pose

SIZE = 0.06
CORNERS = np.concatenate([0.5 * SIZE * CORNER_SIGNS, np.zeros((4, 1))], axis=1)
HEAD = PinholeCamera.with_horizontal_fov(640, 480, np.deg2rad(62.0))
WRIST = FisheyeCamera(640, 480, 220.0, 220.0, 319.5, 239.5, -0.02, 0.004, -0.001, 0.0)


def seen(camera, T: np.ndarray) -> np.ndarray:
    return project(camera, pose_apply(T, CORNERS))[0]


def angle_between(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.rad2deg(np.linalg.norm(so3_log(first[:3, :3].T @ second[:3, :3]))))


def off_axis() -> np.ndarray:
    """A tag 0.5 m away, 50 degrees off the axis, turned 20 degrees."""
    where = 0.5 * np.array([np.sin(np.deg2rad(50.0)), 0.0, np.cos(np.deg2rad(50.0))])
    return plane_pose(tuple(where), (0.2, 0.3, 0.1))


def test_b03_raw_pixels_with_their_lens():
    truth = off_axis()
    found = tag_pose(RawPixels(seen(WRIST, truth)), WRIST, SIZE)
    assert np.linalg.norm(found.poses[0, :3, 3] - truth[:3, 3]) < 1e-3
    assert angle_between(found.poses[0], truth) < 0.1


def test_b03_normalised_points_with_a_lens_are_an_error():
    points, inside = normalised(RawPixels(seen(WRIST, off_axis())), WRIST)
    assert inside.all()
    with pytest.raises(ConfigError, match="normalised points came with a FisheyeCamera"):
        tag_pose(points, WRIST, SIZE)
    with pytest.raises(ConfigError, match="received RawPixels with camera None"):
        tag_pose(RawPixels(points.values), None, SIZE)


def test_b03_normalised_points_without_lens_give_the_same_pose():
    raw = RawPixels(seen(WRIST, off_axis()))
    points, _ = normalised(raw, WRIST)
    first, second = tag_pose(raw, WRIST, SIZE), tag_pose(points, None, SIZE, focal_px=220.0)
    assert np.allclose(first.poses, second.poses) and np.allclose(first.errors_px, second.errors_px)


def test_corners_outside_the_lens_are_an_error():
    narrow = replace(WRIST, max_angle=0.5)
    with pytest.raises(RecordingError, match="received 0 usable corners, needed are 4"):
        tag_pose(RawPixels(seen(WRIST, off_axis())), narrow, SIZE)
    with pytest.raises(ConfigError, match=r"NormalisedPoints: received shape \(4, 3\)"):
        NormalisedPoints(np.zeros((4, 3)))


def noisy_frames(rng: np.random.Generator, orbit: float) -> tuple[np.ndarray, list[RawPixels], np.ndarray]:
    """A 60 mm tag at 0.8 m, tilted 3 degrees, in 100 frames with 0.3 px noise; the camera turns about it by `orbit`."""
    truth = plane_pose((0.05, 0.03, 0.8), (0.0, np.deg2rad(3.0), 0.0))
    frames, cameras = [], []
    for k in range(100):
        turn = pose(np.zeros(3), quat_exp(orbit * np.array([np.sin(0.3 * k), np.cos(0.2 * k), 0.0])))
        T_ref_cam = truth @ turn @ pose_inverse(truth)
        clean = seen(HEAD, pose_inverse(T_ref_cam) @ truth)
        frames.append(RawPixels(clean + 0.3 * rng.standard_normal((4, 2))))
        cameras.append(T_ref_cam)
    return truth, frames, np.array(cameras)


def test_b10_single_frame_keeps_both_poses_and_says_so(rng):
    truth, frames, _ = noisy_frames(rng, 0.0)
    singles = [tag_pose(frame, HEAD, SIZE) for frame in frames]
    assert singles[0].poses.shape == (2, 4, 4) and singles[0].ambiguous
    assert np.mean([single.ambiguous for single in singles]) > 0.85
    # What is fused must not be the better pose of each frame: those flip.
    tilts = [single.poses[0, 0, 2] for single in singles]
    assert min(tilts) < -0.03 and max(tilts) > 0.03


def test_b10_fused_over_a_moving_camera(rng):
    truth, frames, cameras = noisy_frames(rng, 0.15)
    fused = fused_tag_pose(frames, HEAD, cameras, SIZE)
    assert angle_between(fused.poses[0], truth) < 0.5 and not fused.ambiguous
    # 0.3 px in each of two coordinates.
    assert fused.errors_px[0] == pytest.approx(0.3 * np.sqrt(2.0), rel=0.1)


def test_b10_fused_over_a_still_camera_does_not_flip(rng):
    # 100 frames of the same view know the tilt to 0.03 px / (1 px/rad) or so: a degree, not the 6 of one frame.
    truth, frames, cameras = noisy_frames(rng, 0.0)
    assert angle_between(fused_tag_pose(frames, HEAD, cameras, SIZE).poses[0], truth) < 2.0


def test_a_tilted_near_tag_is_not_ambiguous():
    truth = plane_pose((0.0, 0.0, 0.2), (0.7, 0.2, 0.0))
    found = tag_pose(RawPixels(seen(HEAD, truth)), HEAD, SIZE)
    assert not found.ambiguous and angle_between(found.poses[0], truth) < 0.01
    assert found.errors_px[0] < 1e-3 < found.errors_px[1]


def test_no_frame_is_an_error():
    with pytest.raises(RecordingError, match="received 0 frames"):
        fused_tag_pose([], HEAD, np.zeros((0, 4, 4)), SIZE)


def test_b09_edge_follows_from_print_and_family():
    assert edge_from_print(0.090, "tagStandard41h12") == pytest.approx(0.050)
    assert edge_from_print(0.060, "tag36h11") == pytest.approx(0.048)
    with pytest.raises(ConfigError, match="tag family: received 'tag99'"):
        edge_from_print(0.1, "tag99")


def test_b09_print_width_given_as_edge_is_named():
    edges = [0.090, edge_from_print(0.090, "tagStandard41h12")]
    measured = 0.300 * edges[0] / edges[1]
    assert measured == pytest.approx(0.540)
    with pytest.raises(RecordingError, match=r"ratio 1\.80; it looks like width of the whole tagStandard41h12 print"):
        check_known_distance(measured, 0.300)
    check_known_distance(0.303, 0.300)


@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_tag_size_off_by_ten_is_named(factor):
    with pytest.raises(RecordingError, match="tag size off by ten"):
        check_known_distance(0.3 * factor, 0.3)


def test_unknown_ratio_is_named_without_a_guess():
    with pytest.raises(RecordingError, match=r"ratio 1\.45$"):
        check_known_distance(0.435, 0.3)
