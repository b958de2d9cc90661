"""Synthetic pictures of printed tags with known corners: supersampled, blurred, toned, noisy."""

import cv2
import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.projection import project, unproject
from r2s2r.contracts.targets import TagGroup
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse, quat_exp
from r2s2r.world.tag_prints import MODULES, tag_print

BLACK, WHITE, AROUND = 0.04, 0.85, 0.3
"""Reflectances of ink, paper and what lies around the paper."""

SUPERSAMPLING = 6


def plane_pose(pos: tuple[float, float, float], tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Return T_c_g (4, 4) of a plane that faces the camera, turned by the rotation vector `tilt` in its own frame."""
    facing = quat_exp(np.array([np.pi, 0.0, 0.0]))  # print's y up, z towards the camera
    return pose(np.array(pos), facing) @ pose(np.zeros(3), quat_exp(np.array(tilt)))


def seen_corners(camera: FisheyeCamera | PinholeCamera, group: TagGroup, T_c_g: np.ndarray) -> dict[int, np.ndarray]:
    """Return where the corners (4, 2) of each tag are imaged [px]; tags that leave the picture are missing."""
    found = {}
    for tag_id in group.ids:
        pixels, valid = project(camera, pose_apply(T_c_g, group.corners(tag_id)))
        size = np.array([camera.width, camera.height])
        if valid.all() and (pixels > 2.0).all() and (pixels < size - 3.0).all():
            found[tag_id] = pixels
    return found


def radiance(
    camera: FisheyeCamera | PinholeCamera, group: TagGroup, T_c_g: np.ndarray, sigma: float, margin: float | None = None
) -> np.ndarray:
    """Return the linear picture (H, W) of a planar group on white paper, blurred by box and Gaussian `sigma` [px]."""
    s, pad = SUPERSAMPLING, 4
    rows, columns = np.mgrid[-pad : camera.height + pad, -pad : camera.width + pad].astype(float)
    rays, valid = unproject(camera, np.stack([columns, rows], axis=-1))
    T_g_c = pose_inverse(T_c_g)
    rays_g = np.where(valid[..., None], rays, [0.0, 0.0, 1.0]) @ T_g_c[:3, :3].T
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = -T_g_c[2, 3] / rays_g[..., 2]
    hit = valid & np.isfinite(reach) & (reach > 0.0) & (reach < 5.0)
    plane = np.where(hit[..., None], reach[..., None] * rays_g[..., :2] + T_g_c[:2, 3], 1e3).astype(np.float32)
    fine = cv2.resize(plane, None, fx=s, fy=s, interpolation=cv2.INTER_LINEAR)
    light = _reflectance(group, fine, 0.15 * group.tag_size if margin is None else margin)
    if sigma > 0.0:
        light = cv2.GaussianBlur(light, (0, 0), sigma * s)
    light = cv2.resize(light, None, fx=1.0 / s, fy=1.0 / s, interpolation=cv2.INTER_AREA)
    return light[pad:-pad, pad:-pad]


def developed(light: np.ndarray, rng: np.random.Generator, tone=lambda x: x, noise: float = 0.01) -> np.ndarray:
    """Return the picture (H, W) uint8 of linear light in 0..1: shot and read noise, then the tone curve."""
    noisy = light + noise * np.sqrt(0.3 + 0.7 * light) * rng.standard_normal(light.shape)
    return np.round(255.0 * np.clip(tone(np.clip(noisy, 0.0, 1.0)), 0.0, 1.0)).astype(np.uint8)


def gamma_tone(exponent: float = 1.0 / 2.2):
    """Return a power law."""
    return lambda x: x**exponent


def film_tone(x: np.ndarray) -> np.ndarray:
    """Return a curve with a toe and a shoulder on top of a power law."""
    y = x ** (1.0 / 2.2)
    return y + 0.08 * np.sin(2.0 * np.pi * (y - 0.5)) / np.pi


def _reflectance(group: TagGroup, plane: np.ndarray, margin: float) -> np.ndarray:
    x, y = plane[..., 0], plane[..., 1]
    light = np.full(x.shape, AROUND, dtype=np.float32)
    pos, half = np.array(group.pos)[:, :2], 0.5 * group.tag_size + margin
    low, high = pos.min(axis=0) - half, pos.max(axis=0) + half
    light[(x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1])] = WHITE
    step = SUPERSAMPLING
    for tag_id in group.ids:
        # Upright tags in the plane z = 0 of their group, found on a coarse grid first.
        left, below = group.corners(tag_id)[0, :2]
        centre = np.array(group.pos[group.ids.index(tag_id)])[:2]
        rows, columns = np.nonzero((np.abs(plane[::step, ::step] - centre) < 0.75 * group.tag_size).all(axis=-1))
        if len(rows) == 0:
            continue
        box = (
            slice(step * max(rows.min() - 2, 0), step * (rows.max() + 3)),
            slice(step * max(columns.min() - 2, 0), step * (columns.max() + 3)),
        )
        u = np.floor((x[box] - left) / group.tag_size * MODULES).astype(int)
        v = np.floor((y[box] - below) / group.tag_size * MODULES).astype(int)
        inside = (u >= 0) & (u < MODULES) & (v >= 0) & (v < MODULES)
        shade = tag_print(tag_id)[::-1][v[inside], u[inside]]
        light[box][inside] = np.where(shade == 1, WHITE, BLACK)
    return light
