"""Films of the virtual cell's cameras: along which rays light is collected, and what of it falls on a pixel."""

from typing import Any

import cv2
import numpy as np
import warp as wp

from r2s2r.cell.kernels import expose, fill_even, find_even, first_rays, join_pairs, leave_out_even
from r2s2r.cell.picture_effects import PictureEffects
from r2s2r.cell.scene import CellScene
from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.projection import unproject
from r2s2r.contracts.transforms import so3_log

EVEN_CONTRAST = 0.25
"""Differences of light around a pixel below this share are taken for even: what textures have. Prints have 0.9, and
outlines of things mostly more than this."""

PAIR_CONTRAST = 0.4
"""The same for large pixels, each of which has a mixture of things: half of them would otherwise take a second ray for
the sake of grain that noise covers."""

EVEN_REACH = 2
"""Pixels around one that must be alike for its light to be even: beyond them a lens's blur brings nothing."""


class Film:
    """Rays of one camera, several a pixel, and the light that they bring."""

    def __init__(self, camera: FisheyeCamera | PinholeCamera, samples: int, blur_sigma_px: float, device: str = "cpu"):
        """Compute the rays.

        Args:
            camera: the lens.
            samples: rays along an edge of a pixel.
            blur_sigma_px: Gaussian blur of the lens [px].
            device: Warp device.
        """
        self._samples, self._device = samples, device
        self._size = (camera.height * samples, camera.width * samples)
        pixels, strata = _sample_points(camera.width, camera.height, samples)
        directions = _directions(camera, pixels)
        self._directions: Any = wp.array(directions, dtype=wp.vec3, device=device)
        self._strata: Any = wp.array(strata, dtype=wp.uint8, device=device)
        self.rays = _still_rays(directions, device)
        """(1, H, W, 2) vec3: origin and direction of each ray in the camera's frame."""
        self.light: Any = wp.zeros((1, 1, *self._size), dtype=wp.vec3, device=device)
        """(1, 1, H, W) vec3: what each ray brings."""
        shape = (1, camera.height, camera.width)
        self._first_rays: Any = wp.zeros((*shape, 2), dtype=wp.vec3, device=device)
        self._other_rays: Any = wp.zeros_like(self.rays)
        self._first_light: Any = wp.zeros((1, *shape), dtype=wp.vec3, device=device)
        self._even: Any = wp.zeros(shape[1:], dtype=wp.bool, device=device)
        self._weights, self._anchor = _lens_and_pixel(blur_sigma_px, samples)

    def expose(self, path: np.ndarray, effects: PictureEffects, duration_s: float) -> None:
        """Let the camera move along `path` (K, 4, 4), poses in the middle one, over `duration_s` around the middle."""
        motion = _motion(self._size[0] // self._samples, path, effects, duration_s, self._device)
        inputs = [self._directions, self._strata, self._samples, self._samples**2, *motion]
        wp.launch(expose, dim=self._size, inputs=inputs, outputs=[self.rays], device=self._device)

    def trace(self, scene: CellScene, placed: np.ndarray) -> None:
        """Follow one ray a pixel, and the others where light changes nearby: a wall has the same light all over.

        Args:
            scene: what is seen.
            placed: T_base_cam (4, 4).
        """
        size = self._even.shape
        wp.launch(
            first_rays, dim=size, inputs=[self.rays, self._samples], outputs=[self._first_rays], device=self._device
        )
        scene.trace(placed, self._first_rays, self._first_light)
        inputs = [self._first_light, EVEN_CONTRAST, EVEN_REACH]
        wp.launch(find_even, dim=size, inputs=inputs, outputs=[self._even], device=self._device)
        inputs = [self.rays, self._even, self._samples]
        wp.launch(leave_out_even, dim=self._size, inputs=inputs, outputs=[self._other_rays], device=self._device)
        scene.trace(placed, self._other_rays, self.light)
        inputs = [self._even, self._first_light, self._samples]
        wp.launch(fill_even, dim=self._size, inputs=inputs, outputs=[self.light], device=self._device)

    def develop(self) -> np.ndarray:
        """Return the light (H, W, 3) float32 on whole pixels: blurred by the lens, averaged over each pixel's area."""
        light, one, n = self.light.numpy()[0, 0], np.ones(1), self._samples
        border = cv2.BORDER_REPLICATE
        rows = cv2.sepFilter2D(light, -1, one, self._weights, anchor=(0, self._anchor), borderType=border)[::n]
        return cv2.sepFilter2D(rows, -1, self._weights, one, anchor=(self._anchor, 0), borderType=border)[:, ::n]


class PairFilm:
    """A film of few large pixels: one ray each, and a second one where light changes nearby.

    A lens whose blur is a small share of a pixel changes nothing about the mean over it, and is left out.
    """

    def __init__(self, camera: FisheyeCamera | PinholeCamera, device: str = "cpu"):
        """Compute the rays of the lens `camera`: two opposite quarters of each pixel have one."""
        self._device, self._size = device, (camera.height, camera.width)
        pixels, strata = _sample_points(camera.width, camera.height, 2)
        halves = [_directions(camera, pixels[k::2, k::2]) for k in range(2)]
        self._directions: list[Any] = [wp.array(half, dtype=wp.vec3, device=device) for half in halves]
        self._strata: list[Any] = [wp.array(strata[k::2, k::2], dtype=wp.uint8, device=device) for k in range(2)]
        self._rays = [_still_rays(half, device) for half in halves]
        self._second: Any = wp.zeros_like(self._rays[1])
        self._light: list[Any] = [wp.zeros((1, 1, *self._size), dtype=wp.vec3, device=device) for _ in range(2)]
        self._even: Any = wp.zeros(self._size, dtype=wp.bool, device=device)

    def expose(self, path: np.ndarray, effects: PictureEffects, duration_s: float) -> None:
        """Let the camera move, see :meth:`Film.expose`."""
        motion = _motion(self._size[0], path, effects, duration_s, self._device)
        for directions, strata, rays in zip(self._directions, self._strata, self._rays, strict=True):
            inputs = [directions, strata, 1, 4, *motion]
            wp.launch(expose, dim=self._size, inputs=inputs, outputs=[rays], device=self._device)

    def trace(self, scene: CellScene, placed: np.ndarray) -> None:
        """Follow the rays, see :meth:`Film.trace`."""
        first, second = self._light
        scene.trace(placed, self._rays[0], first)
        inputs = [first, PAIR_CONTRAST, 1]
        wp.launch(find_even, dim=self._size, inputs=inputs, outputs=[self._even], device=self._device)
        inputs = [self._rays[1], self._even, 1]
        wp.launch(leave_out_even, dim=self._size, inputs=inputs, outputs=[self._second], device=self._device)
        scene.trace(placed, self._second, second)
        inputs = [self._even, second]
        wp.launch(join_pairs, dim=self._size, inputs=inputs, outputs=[first], device=self._device)

    def develop(self) -> np.ndarray:
        """Return the light (H, W, 3) float32 on whole pixels."""
        return self._light[0].numpy()[0, 0]


def _directions(camera: FisheyeCamera | PinholeCamera, pixels: np.ndarray) -> np.ndarray:
    """Return unit directions (H, W, 3) float32 of the rays through `pixels` (H, W, 2); zero where nothing is seen."""
    directions, seen = unproject(camera, pixels)
    return np.where(seen[..., None], directions, 0.0).astype(np.float32)


def _still_rays(directions: np.ndarray, device: str) -> Any:
    """Return the rays (1, H, W, 2) of a camera that does not move: origin and direction."""
    still = np.zeros((1, *directions.shape[:2], 2, 3), dtype=np.float32)
    still[0, :, :, 1] = directions
    return wp.array(still, dtype=wp.vec3, device=device)


def _motion(rows: int, path: np.ndarray, effects: PictureEffects, duration_s: float, device: str) -> list[Any]:
    """Return what the kernel `expose` has to know of shutter and path for a picture of `rows` rows."""
    pos, turn = path[:, :3, 3].astype(np.float32), so3_log(path[:, :3, :3]).astype(np.float32)
    return [
        effects.readout_s / max(rows - 1, 1),
        effects.exposure_s,
        max(duration_s, 1e-9) / (len(path) - 1),
        wp.array(pos, dtype=wp.vec3, device=device),
        wp.array(turn, dtype=wp.vec3, device=device),
    ]


def _sample_points(width: int, height: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where in the picture rays are taken, and which part of the exposure each stands for.

    One ray in each of the n x n squares of a pixel, so placed that along either axis all n**2 strips of a pixel have
    one (multi-jittered sampling, Chiu, Shirley and Wang 1994). On a regular grid an edge along the rows would jump in
    steps of 1/n px; here it is met without bias and to 1/n**2 px in every pixel. Times are shuffled in every pixel:
    were place and time to go together, a moving edge would look sharper one way than the other.

    Returns:
        Pixels (n H, n W, 2); parts of the exposure (n H, n W) uint8, each of 0 to n**2 - 1 once a pixel.
    """
    rng, n = np.random.default_rng(0), samples
    cells = np.arange(n)

    def shuffled(count: int) -> np.ndarray:
        return np.argsort(rng.random((height, width, count)), axis=-1)

    # Axes: row, column, place in the pixel down and across. The strip across belongs to the place down, and back.
    across = cells[None, :] + (shuffled(n)[..., :, None] + rng.random((height, width, n, n))) / n
    down = cells[:, None] + (shuffled(n)[..., None, :] + rng.random((height, width, n, n))) / n
    x = np.arange(width)[:, None, None] - 0.5 + across / n
    y = np.arange(height)[:, None, None, None] - 0.5 + down / n
    times = shuffled(n * n).reshape(height, width, n, n)
    grid = np.stack([x, y, times], axis=-1).swapaxes(1, 2).reshape(height * n, width * n, 3)
    return grid[..., :2], grid[..., 2].astype(np.uint8)


def _lens_and_pixel(blur_sigma_px: float, samples: int) -> tuple[np.ndarray, int]:
    """Return weights of the rays for a pixel's light along one axis, and how many of them lie before its first ray.

    A Gaussian, then the mean over the pixel. Rays lie anywhere in their squares, so that the mean is one over the whole
    pixel.
    """
    reach = int(np.ceil(4.0 * blur_sigma_px * samples))
    gauss = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(blur_sigma_px * samples, 1e-6)) ** 2)
    weights = np.convolve(gauss / gauss.sum(), np.full(samples, 1.0 / samples))
    return weights, reach
