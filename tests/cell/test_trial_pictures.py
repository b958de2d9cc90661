"""Pictures of trials: objects where they are and in their colours, lamps, and what squeezing a picture does."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

pytest.importorskip("newton")

from r2s2r.cell.camera import CellCameras  # noqa: E402
from r2s2r.cell.draws import Streams, matrix  # noqa: E402
from r2s2r.cell.hidden import HiddenWorld  # noqa: E402
from r2s2r.cell.palette import Palette  # noqa: E402
from r2s2r.cell.physics import CellPhysics  # noqa: E402
from r2s2r.cell.virtual_cell import VirtualCell  # noqa: E402
from r2s2r.contracts.cell import CAMERAS  # noqa: E402
from r2s2r.contracts.projection import project  # noqa: E402
from r2s2r.contracts.transforms import pose_apply, pose_inverse, se3_exp  # noqa: E402
from r2s2r.contracts.trials import Trial  # noqa: E402

SIZE = 64


@pytest.fixture(scope="module")
def cell() -> VirtualCell:
    return VirtualCell(3, picture_size=SIZE)


@pytest.fixture(scope="module")
def cameras(cell) -> CellCameras:
    return CellCameras(cell.hidden, picture_size=SIZE)


def _linear(srgb) -> np.ndarray:
    srgb = np.array(srgb)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _scene(cell: VirtualCell, trial: Trial, later_s: float):
    physics = CellPhysics(cell.hidden, trial=trial)
    physics.advance(physics.time_s + later_s)
    return physics.scene_at(physics.time_s)


@pytest.mark.parametrize("trial", [Trial("nominal", 0, 2), Trial("nominal", 1, 2), Trial("novel_object", 1, 2)])
def test_the_head_camera_sees_the_target_in_its_colour_where_it_is(cell, cameras, trial):
    scene, poses = _scene(cell, trial, 2.5), cell.hidden.world.poses
    cameras.begin(trial, Streams(3))
    light = cameras.radiance("head", lambda time_s: scene, 0.0)
    empty = cameras.radiance("head", lambda time_s: _without_objects(scene), 0.0)
    T_head_base = pose_inverse(matrix(poses.head_pos_b, poses.head_quat_b))
    lens = poses.head_camera.resized(SIZE, SIZE)
    inside = []
    for item, placed in zip(trial.objects(), scene.object_poses, strict=True):
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        pixels, seen = project(lens, pose_apply(T_head_base @ placed, corners * item.shape.extents))
        low, high = pixels.min(axis=0), pixels.max(axis=0)
        inside.append(bool(seen.all() and (low > 0.0).all() and (high < SIZE - 1.0).all()))
        if not inside[-1]:
            continue
        paint = _linear(Palette.draw(cell.hidden.seed).colour(item))
        # Ambient light is a little bluer than white: by 1.5 % of the sum.
        alike = np.abs(light / light.sum(-1, keepdims=True) - paint / paint.sum()).max(-1) < 0.06
        rows, columns = np.nonzero(alike & (np.abs(light - empty).max(-1) > 0.02))
        assert len(rows) >= 4, item
        # All of them within the outline, which covers what the pixels' edges reach over.
        assert columns.min() > low[0] - 1.0 and columns.max() < high[0] + 1.0
        assert rows.min() > low[1] - 1.0 and rows.max() < high[1] + 1.0
        middle = 0.5 * (low + high)
        assert abs(columns.mean() - middle[0]) < 1.0 and abs(rows.mean() - middle[1]) < 1.0
    assert inside[0]


def _without_objects(scene):
    away = np.eye(4)
    away[2, 3] = -50.0
    return replace(scene, object_poses=(away, away))


def test_lamps_colour_all_that_is_seen(cell, cameras):
    red, white = Trial("red_light", 0, 2), Trial("nominal", 0, 2)
    scene = _without_objects(_scene(cell, white, 0.5))
    for camera in CAMERAS:
        light = {}
        for trial in (red, white):
            cameras.begin(trial, Streams(3))
            light[trial] = cameras.radiance(camera, lambda time_s: scene, 0.0)
        assert light[red] == pytest.approx(light[white] * np.array(red.light_rgb), rel=1e-6)
    assert red.light_rgb[1] < 0.2


def test_squeezed_pictures_show_the_mean_over_their_pixels(cell, cameras):
    """Also while the wrist turns by two pixels from the first row to the last."""
    trial = Trial("nominal", 0, 2)
    still = _scene(cell, trial, 2.5)
    flange = still.link_poses["link7"]

    def turning(time_s: float):
        turned = flange @ se3_exp(np.array([0.0, 0.0, 0.0, 3.0, 3.0, 0.0]) * time_s)
        return replace(still, link_poses={**still.link_poses, "link7": turned})

    full = CellCameras(_at_320_x_240(cell.hidden))
    for each in (full, cameras):
        each.begin(trial, Streams(3))
    for camera in CAMERAS:
        large = full.radiance(camera, turning, 0.0)
        mean, square = (cv2.resize(light, (SIZE, SIZE), interpolation=cv2.INTER_AREA) for light in (large, large**2))
        scatter = float(np.maximum(square - mean**2, 0.0).mean())
        error = cameras.radiance(camera, turning, 0.0) - mean
        # One ray a pixel would scatter by more than this: means over a twentieth of a pixel have lost some of it.
        assert np.sqrt((error**2).mean()) < np.sqrt(scatter)
        assert abs(error.mean()) < 4.0 * np.sqrt(scatter / error[..., 0].size)
        if camera == "wrist":
            without = cameras.radiance(camera, lambda time_s: still, 0.0) - mean
            assert (without**2).mean() > 1.5 * (error**2).mean()


def _at_320_x_240(hidden: HiddenWorld) -> HiddenWorld:
    """Return the same cell with other pictures: as good to take means of, and a quarter of the rays."""
    wrist, poses = hidden.world.wrist_cameras.resized(320, 240), hidden.world.poses
    poses = replace(poses, head_camera=poses.head_camera.resized(320, 240))
    return replace(hidden, world=replace(hidden.world, wrist_cameras=wrist, poses=poses))


def test_the_board_is_away_during_trials(cell, cameras):
    scene = _without_objects(_scene(cell, Trial("nominal", 0, 2), 0.5))
    cameras.begin(None, Streams(3))
    before = cameras.radiance("head", lambda time_s: replace(scene, object_poses=()), 0.0)
    cameras.begin(Trial("nominal", 0, 2), Streams(3))
    assert np.abs(cameras.radiance("head", lambda time_s: scene, 0.0) - before).max() > 0.3


def test_pictures_and_data_sheets_have_the_size_that_was_asked_for(cell):
    cell.begin(Trial("nominal", 0, 2))
    for camera, lens in (("wrist", cell.info.wrist_camera), ("head", cell.info.head_camera)):
        assert (lens.width, lens.height) == (SIZE, SIZE)
        assert cell.picture(camera).rgb.shape == (SIZE, SIZE, 3)
