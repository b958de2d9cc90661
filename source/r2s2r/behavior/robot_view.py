"""Pictures of the robot at given joint positions, ray-traced by Newton; needs no display."""

from dataclasses import dataclass
from typing import Any

import newton
import numpy as np
import warp as wp
from newton.sensors import SensorTiledCamera

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ROBOT_JOINTS, JointSet
from r2s2r.contracts.transforms import quat_from_matrix
from r2s2r.robot.description import RobotDescription, compose

UP = np.array([0.0, 0.0, 1.0])

BACKGROUND_RGB = (214, 220, 228)
"""Light blue grey: the arm is white, the hand black."""

_BACKGROUND = 0xFF000000 | BACKGROUND_RGB[2] << 16 | BACKGROUND_RGB[1] << 8 | BACKGROUND_RGB[0]


@dataclass(frozen=True)
class View:
    """A pinhole camera that looks from one point to another, in the robot base.

    Raises:
        ConfigError: eye and target coincide or lie above each other, or the picture is empty.
    """

    eye_b: tuple[float, float, float]
    """Position of the camera [m]."""

    target_b: tuple[float, float, float]
    """Point in the middle of the picture [m]."""

    width: int = 320
    """Columns [px]."""

    height: int = 320
    """Rows [px]."""

    fov: float = 0.7
    """Vertical field of view [rad]."""

    def __post_init__(self):
        if self.width < 1 or self.height < 1 or not 0.0 < self.fov < np.pi:
            size = f"{self.width} x {self.height} px, {self.fov} rad"
            raise ConfigError(f"view: received {size}; all must be positive, the field of view below pi")
        if np.linalg.norm(np.cross(np.subtract(self.target_b, self.eye_b), UP)) < 1e-6:
            raise ConfigError(f"view: from {self.eye_b} to {self.target_b}; it must not look straight up or down")

    @property
    def axes(self) -> np.ndarray:
        """Columns right, up and back of the camera in the base (3, 3)."""
        back = np.subtract(self.eye_b, self.target_b) / np.linalg.norm(np.subtract(self.eye_b, self.target_b))
        right = np.cross(UP, back) / np.linalg.norm(np.cross(UP, back))
        return np.stack([right, np.cross(back, right), back], axis=1)

    def project(self, points_b: np.ndarray) -> np.ndarray:
        """Return pixels (..., 2), column then row, of points (..., 3) in the base; NaN behind the camera."""
        local = (np.asarray(points_b) - self.eye_b) @ self.axes
        focal = 0.5 * self.height / np.tan(0.5 * self.fov)
        depth = np.where(local[..., 2] < 0.0, -local[..., 2], np.nan)[..., None]
        return np.array([0.5 * self.width, 0.5 * self.height]) + focal * local[..., :2] * (1.0, -1.0) / depth


class RobotView:
    """Renders the composed robot with its visual meshes on a plain background."""

    def __init__(self, view: View, description: RobotDescription | None = None, device: str = "cpu"):
        """Load the robot; its meshes are read once.

        Args:
            view: the camera.
            description: the robot; None for the default one.
            device: Warp device.
        """
        description = description or compose()
        builder = newton.ModelBuilder()
        builder.add_urdf(str(description.urdf_path), floating=False, enable_self_collisions=False)
        self.view, self.device = view, device
        self._model = builder.finalize(device=device)
        names = [label.rsplit("/", 1)[-1] for label in self._model.joint_label]
        self._to_model = JointSet(tuple(name for name in names if name in ROBOT_JOINTS)).indices_in(ROBOT_JOINTS)
        self._state = self._model.state()
        self._rest = wp.zeros(self._model.joint_dof_count, dtype=wp.float32, device=device)
        self._sensor = SensorTiledCamera(self._model)
        self._sensor.utils.create_default_light(enable_shadows=False)
        self._rays = self._sensor.utils.compute_camera_rays_pinhole(view.width, view.height, camera_fovs=view.fov)
        self._image: Any = self._sensor.utils.create_color_image_output(view.width, view.height)
        place = [*view.eye_b, *quat_from_matrix(view.axes)]
        self._camera: Any = wp.array([[place]], dtype=wp.transformf, device=device)
        self._clear = SensorTiledCamera.ClearData(clear_color=_BACKGROUND)

    def render(self, joint_pos: np.ndarray) -> np.ndarray:
        """Return the picture (H, W, 3) uint8 at joint positions (23,) [rad] in the order of ROBOT_JOINTS."""
        coords = np.asarray(joint_pos, dtype=np.float32)[self._to_model]
        newton.eval_fk(self._model, wp.array(coords, dtype=wp.float32, device=self.device), self._rest, self._state)
        self._model.bvh_refit_shapes(self._state)
        self._sensor.update(self._state, self._camera, self._rays, color_image=self._image, clear_data=self._clear)
        packed = self._image.numpy()[0, 0]
        return np.stack([(packed >> shift) & 0xFF for shift in (0, 8, 16)], axis=-1).astype(np.uint8)
