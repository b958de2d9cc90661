"""The virtual cell's two cameras: light along many rays of each pixel, then what lens and sensor do to it."""

from collections.abc import Callable

import numpy as np

from r2s2r.cell.draws import Streams, stream
from r2s2r.cell.film import Film, PairFilm
from r2s2r.cell.hidden import HiddenWorld
from r2s2r.cell.palette import Palette
from r2s2r.cell.picture_effects import PictureEffects
from r2s2r.cell.scene import CellScene
from r2s2r.cell.scene_state import SceneState
from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import choose
from r2s2r.contracts.targets import CalibrationTargets, default_targets
from r2s2r.contracts.transforms import pose, pose_inverse
from r2s2r.contracts.trials import Trial
from r2s2r.robot.description import RobotDescription, compose

SAMPLES = {"wrist": 3, "head": 2}
"""Rays along an edge of a pixel: the fisheye squeezes more of the scene into one."""

HEAD_BLUR_PX = 0.45
"""Standard deviation of the head lens's blur [px]: a sharp lens of an ordinary camera; no World describes it."""

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
        self._wrist, poses = hidden.world.wrist_cameras, hidden.world.poses
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
        lenses = {"wrist": self._wrist.camera, "head": poses.head_camera}
        blur = {"wrist": self._wrist.blur_sigma_px, "head": HEAD_BLUR_PX}
        self._film: dict[str, Film | PairFilm] = {
            name: Film(lens, SAMPLES[name], blur[name], device)
            if picture_size is None
            else PairFilm(lens.resized(picture_size, picture_size), device)
            for name, lens in lenses.items()
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
