"""The virtual cell's two cameras: light along many rays of each pixel, then what lens and sensor do to it."""

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import warp as wp

from r2s2r.cell.draws import Streams, stream
from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.kernels import expose, fill_even, find_even, first_rays, leave_out_even
from r2s2r.cell.palette import Palette
from r2s2r.cell.picture_effects import PictureEffects
from r2s2r.cell.scene import CellScene
from r2s2r.cell.scene_state import SceneState
from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import choose
from r2s2r.contracts.projection import unproject
from r2s2r.contracts.targets import CalibrationTargets, default_targets
from r2s2r.contracts.transforms import pose, pose_inverse, so3_log
from r2s2r.contracts.trials import Trial
from r2s2r.robot.description import RobotDescription, compose

SAMPLES = {"wrist": 3, "head": 2}
"""Rays along an edge of a pixel: the fisheye squeezes more of the scene into one."""

HEAD_BLUR_PX = 0.45
"""Standard deviation of the head lens's blur [px]: a sharp lens of an ordinary camera; no World describes it."""

EVEN_CONTRAST = 0.25
"""Differences of light around a pixel below this share are taken for even: what textures have. Prints have 0.9, and
outlines of things mostly more than this."""

KNOTS = 17
"""Poses of the moving camera over one picture: 2 ms apart, between which its speed is taken as constant. At 10 rad/s2
it is then nowhere more than 5 microradians off."""


class CellCameras:
    """Draws the pictures of one virtual cell."""

    def __init__(
        self,
        hidden: HiddenWorld,
        targets: CalibrationTargets | None = None,
        effects: dict[str, PictureEffects] | None = None,
        description: RobotDescription | None = None,
        device: str = "cpu",
        picture_size: int | None = None,
    ):
        """Build the scene and the rays of both lenses.

        Args:
            hidden: the cell's truth.
            targets: prints in the cell; None for the usual ones.
            effects: by camera; None: drawn from the cell's seed.
            description: the robot; None for the default one.
            device: Warp device.
            picture_size: width and height that both pictures are squeezed to; None: those of the lenses.
        """
        self._description = description or compose()
        self._wrist, poses, head_blur = hidden.world.wrist_cameras, hidden.world.poses, HEAD_BLUR_PX
        head_lens = poses.head_camera
        if picture_size is not None:
            self._wrist = self._wrist.resized(picture_size, picture_size)
            head_blur *= picture_size / head_lens.width
            head_lens = head_lens.resized(picture_size, picture_size)
        self.effects = effects or {
            name: PictureEffects.draw(stream(hidden.seed, f"picture_effects.{name}")) for name in CAMERAS
        }
        self._scene = CellScene(
            poses,
            targets or default_targets(),
            hidden.T_base_board,
            hidden.T_flange_cube,
            stream(hidden.seed, "surfaces"),
            self._description,
            device,
        )
        self._mount = pose(np.array(self._wrist.pos_flange), np.array(self._wrist.quat_flange))
        self._head = pose(np.array(poses.head_pos_b), np.array(poses.head_quat_b))
        self._film = {
            "wrist": Film(self._wrist.camera, SAMPLES["wrist"], self._wrist.blur_sigma_px, device),
            "head": Film(head_lens, SAMPLES["head"], head_blur, device),
        }
        self._hidden = hidden
        self._palette = Palette.draw(hidden.seed)
        self.begin(None, Streams(hidden.seed))

    def begin(self, trial: Trial | None, streams: Streams) -> None:
        """Begin a run of the cell: its lamps and paints, its noise.

        Args:
            trial: what rides on the belt, and under which lamps; None: nothing, under white ones.
            streams: draw the noise.
        """
        objects = () if trial is None else trial.objects()
        self._scene.show([(item.shape, self._palette.colour(item)) for item in objects])
        self._lamps = np.array((1.0, 1.0, 1.0) if trial is None else trial.light_rgb, dtype=np.float32)
        self._streams = streams
        self._count: dict[str, int] = dict.fromkeys(CAMERAS, 0)

    def render(self, camera: str, scene_at: Callable[[float], SceneState], stamp_s: float) -> np.ndarray:
        """Return the next picture (H, W, 3) uint8 of a camera. Its noise depends on how many came before.

        Args:
            camera: one of CAMERAS.
            scene_at: the cell at a time on the host's clock [s]; asked for times up to 20 ms around the middle of the
                exposure of the middle row, which was the camera's `stamp_delay_s` before the stamp.
            stamp_s: stamp without its jitter [s].

        Raises:
            ConfigError: there is no such camera.
        """
        choose("camera", camera, CAMERAS)
        radiance = self.radiance(camera, scene_at, stamp_s - self._hidden.stamp_delay_s[camera])
        rng = self._streams(f"picture_noise.{camera}.{self._count[camera]}")
        self._count[camera] += 1
        return self.effects[camera].apply(radiance, rng)

    def radiance(self, camera: str, scene_at: Callable[[float], SceneState], middle_s: float) -> np.ndarray:
        """Return the light (H, W, 3) float32, linear RGB, that falls on the pixels: a picture without its sensor.

        Args:
            camera: one of CAMERAS.
            scene_at: as in :meth:`render`.
            middle_s: middle of the exposure of the middle row [s].

        Raises:
            ConfigError: there is no such camera.
        """
        choose("camera", camera, CAMERAS)
        film, effects = self._film[camera], self.effects[camera]
        scene = scene_at(middle_s)
        self._scene.place(scene)
        if camera == "head":
            placed = self._head
        else:
            placed = self._flange(scene) @ self._mount
            half = 0.5 * (effects.readout_s + effects.exposure_s)
            times = np.linspace(-half, half, KNOTS)
            path = np.stack([self._flange(scene_at(middle_s + t)) for t in times]) @ self._mount
            film.expose(pose_inverse(placed) @ path, effects, 2.0 * half)
        film.trace(self._scene, placed)
        return film.develop() * self._lamps

    def _flange(self, scene: SceneState) -> np.ndarray:
        return scene.link_poses[self._description.flange_link]


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
        directions, seen = unproject(camera, pixels)
        directions = np.where(seen[..., None], directions, 0.0).astype(np.float32)
        self._directions: Any = wp.array(directions, dtype=wp.vec3, device=device)
        self._strata: Any = wp.array(strata, dtype=wp.uint8, device=device)
        still = np.zeros((1, *self._size, 2, 3), dtype=np.float32)
        still[0, :, :, 1] = directions
        self.rays: Any = wp.array(still, dtype=wp.vec3, device=device)
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
        pos, turn = path[:, :3, 3].astype(np.float32), so3_log(path[:, :3, :3]).astype(np.float32)
        rows = self._size[0] // self._samples
        wp.launch(
            expose,
            dim=self._size,
            inputs=[
                self._directions,
                self._strata,
                self._samples,
                effects.readout_s / max(rows - 1, 1),
                effects.exposure_s,
                max(duration_s, 1e-9) / (len(path) - 1),
                wp.array(pos, dtype=wp.vec3, device=self._device),
                wp.array(turn, dtype=wp.vec3, device=self._device),
            ],
            outputs=[self.rays],
            device=self._device,
        )

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
        inputs = [self._first_light, EVEN_CONTRAST]
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
