"""Pictures of the virtual cell against the camera models: places, blur, motion, and what is to be seen.

Places are measured on edges of tags: where light along the normal passes half way between ink and paper. Light is
linear before the sensor, so that blur moves no straight edge.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import map_coordinates, spline_filter
from scipy.special import erf

pytest.importorskip("newton")

from r2s2r.cell.camera import CellCameras  # noqa: E402
from r2s2r.cell.film import Film  # noqa: E402
from r2s2r.cell.hidden import HiddenWorld  # noqa: E402
from r2s2r.cell.picture_effects import PictureEffects  # noqa: E402
from r2s2r.cell.scene_state import SceneState  # noqa: E402
from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera, look_at  # noqa: E402
from r2s2r.contracts.errors import ConfigError  # noqa: E402
from r2s2r.contracts.projection import project  # noqa: E402
from r2s2r.contracts.targets import default_targets  # noqa: E402
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse, quat_exp, se3_exp  # noqa: E402
from r2s2r.robot.description import compose  # noqa: E402

UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])
SEED = 1
TARGETS = default_targets()
LINKS = tuple(compose().link_paths)


def _scene(flange: np.ndarray | None = None, **changes) -> SceneState:
    """Return a cell whose robot is away, but for a flange that cannot be seen from the mount of the camera."""
    links = dict.fromkeys(LINKS, pose(np.array([0.0, 0.0, -60.0]), UPRIGHT))
    if flange is not None:
        links["link7"] = flange
    return SceneState(0.0, links, **changes)


def _edge_errors(
    light: np.ndarray, camera, T_cam_group: np.ndarray | Callable, group, reach: float = 2.3
) -> np.ndarray:
    """Return for points on edges of tags: pixel, outward normal, error along it [px], angle off axis [rad] (N, 6).

    Light is looked at `reach` [px] to either side, where modules are at least twice as wide.
    """
    spline, rows = spline_filter(light.mean(axis=2).astype(float)), []
    steps = np.arange(-reach, reach + 0.01, 0.1)
    for tag_id in group.ids:
        corners = group.corners(tag_id)
        for k in range(4):
            begin, end = corners[k], corners[(k + 1) % 4]
            outward = 0.5 * (begin + end) - corners.mean(axis=0)
            for share in np.linspace(0.2, 0.8, 5):
                points = begin + share * (end - begin) + np.outer((0.0, 0.02, 0.25), outward)
                T = T_cam_group if isinstance(T_cam_group, np.ndarray) else T_cam_group(points[0])
                points_c = pose_apply(T, points)
                pixels, seen = project(camera, points_c)
                inside = (pixels[0] > 12.0) & (pixels[0] < (camera.width - 13.0, camera.height - 13.0))
                if not (seen.all() and inside.all()) or np.linalg.norm(pixels[2] - pixels[0]) < 2.0 * reach:
                    continue
                normal = (pixels[1] - pixels[0]) / np.linalg.norm(pixels[1] - pixels[0])
                places = pixels[0] + steps[:, None] * normal
                profile = map_coordinates(spline, [places[:, 1], places[:, 0]], order=3, prefilter=False)
                middle = 0.5 * (profile[0] + profile[-1])
                if profile[-1] < 3.0 * profile[0]:
                    continue  # a shadow's border, or something in front
                i = int(np.argmax(profile > middle))
                error = steps[i - 1] + 0.1 * (middle - profile[i - 1]) / (profile[i] - profile[i - 1])
                angle = np.arctan2(np.linalg.norm(points_c[0, :2]), points_c[0, 2])
                rows.append((*pixels[0], *normal, error, angle))
    return np.array(rows).reshape(-1, 6)


def _cut(camera, column: int, row: int, width: int, height: int):
    """Return a camera whose picture is a part of another's: fewer rays, the same lens."""
    return replace(camera, width=width, height=height, cx=camera.cx - column, cy=camera.cy - row)


@pytest.fixture(scope="module")
def hidden() -> HiddenWorld:
    """A cell whose wrist camera has the part of the picture from the axis to a corner, the head's the belt's middle."""
    hidden = HiddenWorld.draw(SEED)
    wrist, poses = hidden.world.wrist_cameras, hidden.world.poses
    wrist = replace(wrist, camera=_cut(wrist.camera, 280, 200, 360, 280))
    poses = replace(poses, head_camera=_cut(poses.head_camera, 140, 190, 340, 230))
    return replace(hidden, world=replace(hidden.world, wrist_cameras=wrist, poses=poses))


@pytest.fixture(scope="module")
def cameras(hidden) -> CellCameras:
    return CellCameras(hidden)


@pytest.fixture(scope="module")
def wrist_light(cameras, hidden) -> np.ndarray:
    """Light of one wrist picture from `_wrist_view`."""
    scene = _scene(_wrist_view(hidden) @ pose_inverse(_mount(hidden)))
    return cameras.radiance("wrist", lambda time_s: scene, 0.0)


@pytest.fixture(scope="module")
def small() -> HiddenWorld:
    """The same cell with whole pictures of 160 x 120."""
    hidden = HiddenWorld.draw(SEED)
    wrist, poses = hidden.world.wrist_cameras.resized(160, 120), hidden.world.poses
    poses = replace(poses, head_camera=poses.head_camera.resized(160, 120))
    return replace(hidden, world=replace(hidden.world, wrist_cameras=wrist, poses=poses))


@pytest.fixture(scope="module")
def small_cameras(small) -> CellCameras:
    return CellCameras(small)


def _frames(hidden: HiddenWorld) -> dict[str, np.ndarray]:
    poses = hidden.world.poses
    return {
        "board": hidden.T_base_board,
        "table": pose_inverse(pose(np.zeros(3), np.array(poses.base_quat_w))),
        "belt": pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b)),
    }


def _mount(hidden: HiddenWorld) -> np.ndarray:
    wrist = hidden.world.wrist_cameras
    return pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange))


def _wrist_view(hidden: HiddenWorld) -> np.ndarray:
    """Return T_base_cam above the board: its tags reach from near the axis to far off it."""
    eye = hidden.T_base_board[:3, 3] + (-0.10, 0.12, 0.17)
    return pose(eye, look_at(eye, eye + (0.10, 0.06, -0.12)))


def _assert_unbiased(errors: np.ndarray, count: int, scatter: float) -> None:
    """Rays are taken at random in their squares: points on edges scatter [px], their mean must vanish."""
    error = errors[:, 4]
    assert len(error) >= count
    assert np.sqrt(np.mean(error**2)) < scatter
    tolerance = 4.0 * scatter / np.sqrt(len(error) / 2.0)  # neighbours on an edge share pixels: half is independent
    assert abs(np.mean(error)) < tolerance  # size
    shift = np.linalg.lstsq(errors[:, 2:4], error, rcond=None)[0]
    assert np.abs(shift).max() < 1.5 * tolerance  # place


def test_wrist_pictures_are_where_the_lens_and_the_mount_say(wrist_light, hidden):
    T_base_cam, lens = _wrist_view(hidden), hidden.world.wrist_cameras.camera
    errors = np.concatenate(
        [
            _edge_errors(wrist_light, lens, pose_inverse(T_base_cam) @ frame, getattr(TARGETS, name))
            for name, frame in _frames(hidden).items()
        ]
    )
    _assert_unbiased(errors, 250, scatter=0.1)
    _assert_unbiased(errors[errors[:, 5] > np.radians(60.0)], 50, scatter=0.1)


def test_head_pictures_are_where_the_head_camera_stands(cameras, hidden):
    T_base_head = pose(np.array(hidden.world.poses.head_pos_b), np.array(hidden.world.poses.head_quat_b))
    light = cameras.radiance("head", lambda time_s: _scene(), 0.0)
    lens = hidden.world.poses.head_camera
    errors = np.concatenate(
        [
            _edge_errors(light, lens, pose_inverse(T_base_head) @ frame, getattr(TARGETS, name), reach=1.6)
            for name, frame in _frames(hidden).items()
        ]
    )
    _assert_unbiased(errors, 300, scatter=0.16)


def test_tags_are_read_with_their_ids_and_corners_in_order(wrist_light, hidden):
    pupil_apriltags = pytest.importorskip("pupil_apriltags")
    T_base_cam, lens = _wrist_view(hidden), hidden.world.wrist_cameras.camera
    grey = np.rint(255.0 * np.clip(wrist_light[..., 1], 0.0, 1.0)).astype(np.uint8)
    found = pupil_apriltags.Detector(families="tag36h11", quad_decimate=1.0).detect(np.ascontiguousarray(grey))
    frames, errors = _frames(hidden), []
    for tag in found:
        group = TARGETS.group_of(tag.tag_id)
        assert group is not None
        assert tag.hamming == 0
        pixels, _ = project(lens, pose_apply(pose_inverse(T_base_cam) @ frames[group.name], group.corners(tag.tag_id)))
        errors.append(tag.corners - 0.5 - pixels)  # this detector counts from the corner of the picture
    assert len(found) >= 20
    # The detector's own error: it takes edges for straight, and the lens bends those of near tags by a pixel.
    assert np.median(np.linalg.norm(errors, axis=-1)) < 0.5


def test_a_moving_wrist_camera_shows_every_row_from_where_it_was_then(cameras, hidden):
    lens, effects = hidden.world.wrist_cameras.camera, cameras.effects["wrist"]
    T_base_cam, twist = _wrist_view(hidden), np.array([0.3, -0.2, 0.1, 0.6, 0.5, -0.4])  # in the camera [m/s, rad/s]
    mount = _mount(hidden)
    light = cameras.radiance("wrist", lambda t: _scene(T_base_cam @ se3_exp(twist * t) @ pose_inverse(mount)), 0.0)

    def at_its_row(point: np.ndarray) -> np.ndarray:
        T_cam_board = pose_inverse(T_base_cam) @ hidden.T_base_board
        time_s = 0.0
        for _ in range(3):
            T = pose_inverse(se3_exp(twist * time_s)) @ T_cam_board
            row = project(lens, pose_apply(T, point))[0][1]
            time_s = (row / (lens.height - 1) - 0.5) * effects.readout_s
        return T

    _assert_unbiased(_edge_errors(light, lens, at_its_row, TARGETS.board), 200, scatter=0.2)  # and smeared by 2 px
    still = _edge_errors(light, lens, pose_inverse(T_base_cam) @ hidden.T_base_board, TARGETS.board)
    assert np.abs(still[:, 4]).mean() > 0.5  # as if there were no rolling shutter


# --- the film alone: light along rays by formula, so that nothing but sampling, blur and motion is tested ---

FLAT = PinholeCamera(200, 160, 180.0, 180.0, 99.5, 79.5)


def _half_plane(film: Film, angle: float, depth: float = 1.0) -> None:
    """Let `film` see a plane at `depth` [m], white to the right of a line through the axis, `angle` off upright."""
    origin, direction = np.moveaxis(film.rays.numpy()[0], 2, 0)
    reached = origin + direction * ((depth - origin[..., 2]) / direction[..., 2])[..., None]
    white = reached[..., 0] * np.cos(angle) + reached[..., 1] * np.sin(angle) > 0.0
    film.light.assign(np.repeat(white[None, None, ..., None], 3, axis=-1).astype(np.float32))


def _edge(light: np.ndarray, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Return distance from the line through the middle [px] and light, for each pixel."""
    height, width = light.shape[:2]
    x, y = np.arange(width) - 0.5 * (width - 1), np.arange(height)[:, None] - 0.5 * (height - 1)
    return (x * np.cos(angle) + y * np.sin(angle)).ravel(), light[..., 0].ravel()


def _spread(distance: np.ndarray, light: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation of the edge's spread [px], by moments of the light over the distance."""
    bins = np.arange(-8.0, 8.01, 0.1)
    index = np.digitize(distance, bins)
    profile = np.array([light[index == i].mean() for i in range(1, len(bins))])
    weight, middle = np.diff(profile), bins[1:-1]
    mean = float(np.sum(weight * middle) / np.sum(weight))
    return mean, float(np.sqrt(np.sum(weight * (middle - mean) ** 2) / np.sum(weight)))


@pytest.mark.parametrize("samples", [2, 3])
@pytest.mark.parametrize("sigma", [0.35, 0.6, 0.9])
@pytest.mark.parametrize("angle", [0.0, 0.1, 0.8])
def test_slanted_edges_have_the_blur_that_is_set(samples, sigma, angle):
    film = Film(FLAT, samples, sigma)
    _half_plane(film, angle + 1e-4)
    light = film.develop()
    distance, value = _edge(light, angle)
    near = np.abs(distance) < 8.0
    # A pixel's box and the Gaussian; the box is narrower than it would be along the diagonal, its variance is the same.
    total = np.sqrt(sigma**2 + 1.0 / 12.0)
    expected = 0.5 * (1.0 + erf(distance[near] / (total * np.sqrt(2.0))))
    assert abs(np.mean(value[near] - expected)) < 0.003
    if angle > 0.0:
        mean, deviation = _spread(distance[near], value[near])
        assert abs(mean) < 0.02
        assert abs(np.sqrt(deviation**2 - 1.0 / 12.0) - sigma) < 0.03


def test_an_even_wall_stays_even():
    film = Film(FLAT, 3, 0.7)
    film.light.fill_(0.25)
    assert np.allclose(film.develop(), 0.25, rtol=1e-5)


def test_rays_meet_every_strip_of_a_pixel_once():
    film = Film(FLAT, 3, 0.5)
    directions = film.rays.numpy()[0, :, :, 1]
    assert np.allclose(np.linalg.norm(directions, axis=-1), 1.0, atol=1e-6)
    pixels, _ = project(FLAT, directions.astype(float))
    cells = np.floor((pixels + 0.5) * 9.0 + 1e-4).astype(int)
    for axis in (0, 1):
        strips = cells[..., axis].reshape(FLAT.height, 3, FLAT.width, 3).swapaxes(1, 2).reshape(-1, 9)
        shuffled = np.sort(strips % 9, axis=1)
        assert np.mean(shuffled == np.arange(9)) > 0.999  # but for rounding at the strips' borders


def test_a_film_that_does_not_move_keeps_its_rays():
    film = Film(FLAT, 2, 0.5)
    before = film.rays.numpy()
    film.expose(np.tile(np.eye(4), (17, 1, 1)), _shutter(0.005, 0.02), 0.025)
    assert np.array_equal(film.rays.numpy(), before)


def test_rows_shift_and_edges_smear_with_the_cameras_speed():
    speed, exposure, readout = 4.0, 0.008, 0.024  # 180 px/m at 1 m: 5.76 px in an exposure, 17.28 px over the rows
    film = Film(FLAT, 3, 0.5)
    times = np.linspace(-0.016, 0.016, 17)
    path = np.tile(np.eye(4), (17, 1, 1))
    path[:, 0, 3] = speed * times
    film.expose(path, _shutter(exposure, readout), 0.032)
    _half_plane(film, 1e-4)
    light = film.develop()[..., 0]
    edges = FLAT.width - 0.5 - light.sum(axis=1)  # where a step from 0 to 1 would have to be
    rows = (np.arange(FLAT.height) / (FLAT.height - 1) - 0.5) * readout
    expected = FLAT.cx - FLAT.fx * speed * rows
    assert abs(np.mean(edges - expected)) < 0.02
    # Over the 6 px of the smear each pixel has 9 rays, of which p are white: at most sqrt(6 mean(p (1 - p)) / 9).
    assert np.sqrt(np.mean((edges - expected) ** 2)) < np.sqrt(5.76 / 6.0 / 9.0)
    distance = np.arange(FLAT.width) - expected[:, None]
    _, deviation = _spread(distance.ravel(), light.ravel())
    smear = FLAT.fx * speed * exposure
    assert deviation == pytest.approx(np.sqrt(0.5**2 + 1.0 / 12.0 + smear**2 / 12.0), abs=0.03)


def test_a_turning_camera_moves_the_picture_against_its_turn():
    film, rate = Film(FLAT, 3, 0.5), 2.0  # about y, from z to x [rad/s]
    times = np.linspace(-0.012, 0.012, 17)
    path = np.stack([pose(np.zeros(3), quat_exp(np.array([0.0, rate * t, 0.0]))) for t in times])
    film.expose(path, _shutter(0.0, 0.024), 0.024)
    _half_plane(film, 1e-4)
    edges = FLAT.width - 0.5 - film.develop()[..., 0].sum(axis=1)
    rows = (np.arange(FLAT.height) / (FLAT.height - 1) - 0.5) * 0.024
    y = np.arange(FLAT.height) - FLAT.cy
    turned = -rate * rows
    # In the turned camera the upright line through the axis lies at x = z tan(turn) on the wall; rows bend slightly.
    expected = FLAT.cx + FLAT.fx * np.tan(turned) * np.ones_like(y)
    assert np.sqrt(np.mean((edges - expected) ** 2)) < 0.1
    assert abs(np.mean(edges - expected)) < 0.02


def test_a_lens_sees_nothing_outside_its_domain():
    lens = FisheyeCamera(80, 60, 20.0, 20.0, 39.5, 29.5, max_angle=1.2)
    film = Film(lens, 2, 0.4)
    length = np.linalg.norm(film.rays.numpy()[0, :, :, 1], axis=-1)
    y, x = (np.indices(length.shape) + 0.5) / 2.0 - 0.5
    radius = np.hypot(x - lens.cx, y - lens.cy)  # a ray lies within 0.36 px of the middle of its square
    assert (length[radius > 1.2 * 20.0 + 0.4] == 0.0).all()
    assert np.allclose(length[radius < 1.2 * 20.0 - 0.4], 1.0)


def _shutter(exposure_s: float, readout_s: float) -> PictureEffects:
    effects = PictureEffects.draw(np.random.default_rng(0))
    return replace(effects, exposure_s=exposure_s, readout_s=readout_s)


# --- what is drawn ---


def test_the_same_seed_draws_the_same_pictures_and_another_one_others(small):
    def draw(hidden):
        cameras = CellCameras(hidden)
        return [cameras.render(name, lambda t: _scene(), 0.0) for name in ("head", "wrist", "head")]

    first, again = draw(small), draw(small)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert first[0].shape == (120, 160, 3)
    assert first[0].dtype == np.uint8
    assert not np.array_equal(first[0], first[2])  # noise of its own in every picture
    assert np.abs(first[0].astype(float) - first[2]).mean() < 6.0
    other = draw(replace(small, seed=SEED + 1))  # surfaces, light and sensor are others
    assert np.abs(first[0].astype(float) - other[0]).mean() > 6.0


def test_the_stamp_comes_the_cameras_delay_after_the_exposure(small, small_cameras):
    asked = []

    def scene_at(time_s: float) -> SceneState:
        asked.append(time_s)
        return _scene()

    cameras = small_cameras
    cameras.render("head", scene_at, 7.0)
    assert asked == [7.0 - small.stamp_delay_s["head"]]
    asked.clear()
    cameras.render("wrist", scene_at, 7.0)
    effects, middle = cameras.effects["wrist"], 7.0 - small.stamp_delay_s["wrist"]
    half = 0.5 * (effects.exposure_s + effects.readout_s)
    assert np.allclose([min(asked), max(asked)], [middle - half, middle + half])


def test_block_belt_and_board_are_drawn_where_they_are(small, small_cameras):
    poses = small.world.poses
    T_base_belt = pose(np.array(poses.belt_pos_b), np.array(poses.belt_quat_b))
    T_head = pose_inverse(pose(np.array(poses.head_pos_b), np.array(poses.head_quat_b)))

    def seen_at(point_b: np.ndarray, **changes) -> np.ndarray:
        pixel = np.rint(project(poses.head_camera, pose_apply(T_head, point_b))[0]).astype(int)
        return small_cameras.radiance("head", lambda t: _scene(**changes), 0.0)[pixel[1], pixel[0]]

    block = T_base_belt @ pose(np.array([-0.38, 0.0, 0.02]), UPRIGHT)
    border = pose_apply(block, np.array([0.027, 0.0, 0.02]))  # paper beside the tag
    assert seen_at(border, item_pose=block).mean() > 3.0 * seen_at(border).mean()
    middle = T_base_belt @ pose(np.array([0.0, 0.1, 0.02]), UPRIGHT)
    board = pose_apply(small.T_base_board, np.array([0.0, 0.03, 0.0]))  # paper between two tags
    assert seen_at(board).mean() > 2.0 * seen_at(board, item_pose=middle).mean()  # taken away
    assert seen_at(board, item_pose=block).mean() == pytest.approx(seen_at(board).mean(), rel=1e-3)
    rubber = pose_apply(T_base_belt, np.array([0.43, 0.02, 0.0]))
    assert not np.array_equal(seen_at(rubber), seen_at(rubber, belt_travel=0.06))
    assert np.allclose(seen_at(rubber), seen_at(rubber, belt_travel=0.25), rtol=1e-3)


def test_unknown_cameras_are_refused(small_cameras):
    with pytest.raises(ConfigError, match="camera: received 'elbow', allowed are wrist, head"):
        small_cameras.render("elbow", lambda t: _scene(), 0.0)
