"""What the cameras show: the state of the same step, where the world's camera models say it has to be."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.conditions import RED_LIGHT
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse
from r2s2r.contracts.world import World
from r2s2r_tasks.belt_sort.mdp.lamps import under_light
from r2s2r_tasks.belt_sort.mdp.observations import episode
from r2s2r_tasks.belt_sort.session import belt_sort_env, set_pictures

from .driving import Obs, put, restart, stay
from .silhouettes import agree, box_surface_b, expected, flange_b, pictures, seen

pytestmark = pytest.mark.sim

N, SEED, SIZE = 2, 9, 256
WORLD = World.nominal()
VIEWS = ("head_rgb", "wrist_rgb")
UNSEEN = (-0.6, 0.0, 1.2)
"""Behind and above the robot, where neither camera looks."""


@pytest.fixture(scope="module")
def env():
    with belt_sort_env(N, seed=SEED, picture_size=SIZE) as env:
        yield env


def _show_box(env, still: torch.Tensor, pos_b) -> Obs:
    """Return what is seen one step after the box was put at `pos_b` (3,), with the other object out of sight."""
    put(env, env.scene["round_object"], UNSEEN, range(N))
    place = torch.as_tensor(np.asarray(pos_b), dtype=torch.float32)
    put(env, env.scene["box_object"], place, range(N), yaw=0.5)  # edges along pixel rows would all round the same way
    return env.step(still)[0]


def _pinhole(camera: PinholeCamera) -> Callable[[np.ndarray], np.ndarray]:
    return lambda p: np.stack([camera.fx * p[:, 0], camera.fy * p[:, 1]], -1) / p[:, 2:] + (camera.cx, camera.cy)


def _fisheye(camera: FisheyeCamera) -> Callable[[np.ndarray], np.ndarray]:
    """OpenCV's formula, from its documentation of cv::fisheye."""

    def project(p: np.ndarray) -> np.ndarray:
        a, b = p[:, 0] / p[:, 2], p[:, 1] / p[:, 2]
        r = np.hypot(a, b)
        theta = np.arctan(r)
        bent = theta * (1 + camera.k1 * theta**2 + camera.k2 * theta**4 + camera.k3 * theta**6 + camera.k4 * theta**8)
        return np.stack([camera.fx * bent / r * a + camera.cx, camera.fy * bent / r * b + camera.cy], axis=-1)

    return project


HEAD_PLACES = {
    "upstream": (0.55, -0.30, 0.20),
    "downstream": (0.50, 0.20, 0.25),
    "near the lower edge": (0.72, -0.05, 0.12),
}


def _polar(angle_deg: float, azimuth_deg: float) -> np.ndarray:
    """Return a point 0.25 m from a camera, so far from its axis, in that direction of its picture."""
    a, b = np.radians(angle_deg), np.radians(azimuth_deg)
    return 0.25 * np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)])


WRIST_PLACES = {
    "40 deg right": _polar(40, 0),
    "40 deg below": _polar(40, 90),
    "40 deg above": _polar(40, 270),
    "65 deg above right": _polar(65, 315),
}
"""In the frame of the wrist camera; the fingers hide none of them."""


@pytest.fixture(scope="module")
def empty(env) -> tuple[torch.Tensor, Obs]:
    """The action that stands still, and the pictures without any object."""
    still = stay(restart(env, SEED))
    obs = _show_box(env, still, UNSEEN)
    return still, {view: obs[view].clone() for view in VIEWS}


@pytest.mark.parametrize("place", HEAD_PLACES)
def test_b14_head_camera_shows_the_box_where_its_model_says(env, empty, place):
    still, without = empty
    obs = _show_box(env, still, HEAD_PLACES[place])
    cell = WORLD.poses
    project = _pinhole(cell.head_camera.resized(SIZE, SIZE))
    T_cam_b = pose_inverse(pose(np.array(cell.head_pos_b), np.array(cell.head_quat_b)))
    for i in range(N):
        where = expected(pose_apply(T_cam_b, box_surface_b(env, obs, i)), project)
        agree(seen(pictures(obs, "head_rgb")[i], pictures(without, "head_rgb")[i]), where)


@pytest.mark.parametrize("place", WRIST_PLACES)
def test_b14_wrist_fisheye_shows_the_box_where_its_model_says(env, empty, place):
    still, without = empty
    wrist = WORLD.wrist_cameras.resized(SIZE, SIZE)
    T_b_cam = flange_b(env, 0) @ pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange))
    obs = _show_box(env, still, pose_apply(T_b_cam, WRIST_PLACES[place]))
    for i in range(N):
        T_b_cam = flange_b(env, i) @ pose(np.array(wrist.pos_flange), np.array(wrist.quat_flange))
        where = expected(pose_apply(pose_inverse(T_b_cam), box_surface_b(env, obs, i)), _fisheye(wrist.camera))
        agree(seen(pictures(obs, "wrist_rgb")[i], pictures(without, "wrist_rgb")[i]), where)


def test_the_wrist_camera_rides_along(env, empty):
    """The picture from a wrist that has moved is not the one from where it was."""
    still, without = empty
    moved = still.clone()
    moved[:, 2] += 0.1
    for _ in range(10):
        obs = _show_box(env, moved, UNSEEN)
    assert np.abs(pictures(obs, "wrist_rgb") - pictures(without, "wrist_rgb")).mean() > 5.0
    restart(env, SEED)


@pytest.mark.parametrize("by", ["reset", "time out"])
def test_b43_the_first_picture_of_an_episode_shows_it(env, empty, by):
    """The box was at the middle of the belt; the first picture shows that place empty, as the next one does."""
    still, _ = empty
    restart(env, SEED)
    last = {view: pictures(_show_box(env, still, HEAD_PLACES["downstream"]), view) for view in VIEWS}
    if by == "reset":
        obs = restart(env, SEED)
    else:
        env.episode_length_buf[:] = env.max_episode_length - 1
        obs, *_ = env.step(still)
        assert env.reset_buf.all()
    first = {view: pictures(obs, view) for view in VIEWS}
    obs, *_ = env.step(still)
    for view in VIEWS:
        after = pictures(obs, view)
        assert np.abs(first[view] - after).mean() < 0.5
    box = np.abs(last["head_rgb"] - pictures(obs, "head_rgb")).sum(axis=-1) > 60
    assert box.sum() > 100
    assert np.abs(first["head_rgb"] - pictures(obs, "head_rgb"))[box].mean() < 5.0
    assert np.abs(first["head_rgb"] - last["head_rgb"])[box].mean() > 20.0


def test_each_environment_sees_its_own_lamps(env, empty):
    still, _ = empty
    term = episode(env)
    kept = term.light_rgb.clone()
    term.light_rgb[1] = torch.tensor(RED_LIGHT)
    obs = _show_box(env, still, HEAD_PLACES["upstream"])
    for view, sensor in zip(VIEWS, ("head_camera", "wrist_camera"), strict=True):
        white = env.scene[sensor].data.output["rgb"].torch
        assert torch.equal(obs[view][0], white[0])
        assert torch.equal(obs[view][1], under_light(white[1:], torch.tensor([RED_LIGHT]))[0])
        assert obs[view][1][..., 1].float().mean() < 0.6 * white[1][..., 1].float().mean()
    term.light_rgb[:] = kept


def test_lamps_are_dimmed_by_the_episodes_number_alone(env):
    term = episode(env)
    kept, numbers, ids = term.light_rgb.clone(), term.number.clone(), torch.arange(env.num_envs)
    term.cfg.light_dimming, seen = 0.9, []
    for shown in (numbers, numbers + 7, numbers):
        term.show(ids, shown)
        seen.append(term.light_rgb.clone())
        assert ((seen[-1] >= 0.1 - 1e-6) & (seen[-1] <= 1.0)).all()
    assert torch.equal(seen[0], seen[2]) and not torch.isclose(seen[0], seen[1]).any()
    term.cfg.light_dimming = 0.0
    term.show(ids, numbers)
    term.light_rgb[:] = kept


def test_pictures_can_be_switched_off(env, empty):
    still, _ = empty
    set_pictures(env, False)
    obs, *_ = env.step(still)
    assert all((obs[view] == 0).all() for view in VIEWS)
    set_pictures(env, True)
    obs, *_ = env.step(still)
    assert all((obs[view] > 0).any() for view in VIEWS)
