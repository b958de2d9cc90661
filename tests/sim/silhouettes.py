"""Where a body appears in a picture, and where a camera model says that it has to."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import ndimage

from r2s2r.contracts.transforms import pose, pose_apply
from r2s2r_tasks.assets.spawned import extents, spawned_shape

from .driving import Obs, state


def pictures(obs: Obs, view: str) -> np.ndarray:
    """Return the pictures (N, H, W, 3) as signed numbers, so that they can be subtracted."""
    return obs[view].cpu().numpy().astype(int)


@dataclass(frozen=True)
class Blob:
    """Centroid (2,) and area of a region of a picture [px, px^2]; pixel centres have whole coordinates."""

    centre: np.ndarray
    area: float


def seen(picture: np.ndarray, without: np.ndarray) -> Blob:
    """Return the largest region in which a picture differs from the one without the object.

    The arm trembles by a millionth of a radian, which flips a pixel here and there at the hand's edge.
    """
    regions, _ = ndimage.label((picture != without).any(axis=-1), structure=np.ones((3, 3)))
    rows, columns = np.nonzero(regions == np.bincount(regions[regions > 0]).argmax())
    return Blob(np.array([columns.mean(), rows.mean()]), float(len(rows)))


def expected(points_cam: np.ndarray, project: Callable[[np.ndarray], np.ndarray]) -> Blob:
    """Return the silhouette of a body from points (K, 3) all over its surface, in the camera's frame.

    Counted in quarter pixels; the points have to lie closer than that.
    """
    cells = np.unique(np.floor((project(points_cam) + 0.5) * 4).astype(int), axis=0)
    return Blob((cells.mean(axis=0) + 0.5) / 4 - 0.5, len(cells) / 16)


def box_surface_b(env, obs: Obs, env_id: int) -> np.ndarray:
    """Return points (K, 3) all over the box of `env_id`, in the base, from the state of this observation."""
    size = extents(spawned_shape(env.sim.get_clone_plan(), env.scene["box_object"].cfg.prim_path, env_id))
    u, v = (x.ravel() for x in np.meshgrid(*[np.linspace(-0.5, 0.5, 250)] * 2))
    w = np.full_like(u, 0.5)
    faces = [np.stack(np.roll((u, v, side * w), axis, axis=0), axis=-1) for axis in range(3) for side in (-1.0, 1.0)]
    surface = np.concatenate(faces) * size
    pos, quat = (state(obs, f"box_{name}_b")[env_id].numpy().astype(float) for name in ("pos", "quat"))
    return pose_apply(pose(pos, quat), surface)


def flange_b(env, env_id: int) -> np.ndarray:
    """Return the simulator's pose (4, 4) of link 7 in the base."""
    data = env.scene["robot"].data
    body = env.scene["robot"].find_bodies("link7")[0][0]
    pos = (data.body_pos_w.torch[env_id, body] - env.scene.env_origins[env_id]).numpy().astype(float)
    return pose(pos, data.body_quat_w.torch[env_id, body].numpy().astype(float))


def agree(found: Blob, where: Blob) -> None:
    """80 pixels of edge, each right to half a pixel, leave a tenth of error; quarter pixels add 3 % of area."""
    assert np.abs(found.centre - where.centre).max() < 0.2
    assert found.area == pytest.approx(where.area, rel=0.06)
