"""Camera models. Pixel centres have whole coordinates: the centre of a picture of width W is at (W - 1) / 2.

A camera's frame is the optical one: x to the right of the picture, y down, z into the scene.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import quat_from_matrix

_HUGE = 1e6
"""Upper bound for sizes and focal lengths [px]; above it is a mistake of unit."""


@dataclass(frozen=True)
class PinholeCamera:
    """Intrinsics of a camera without distortion."""

    width: int
    """Picture width [px]."""
    height: int
    """Picture height [px]."""
    fx: float
    """Focal length along x [px]."""
    fy: float
    """Focal length along y [px]."""
    cx: float
    """Principal point, x [px]."""
    cy: float
    """Principal point, y [px]."""

    def __post_init__(self):
        _check_intrinsics(self)

    @classmethod
    def with_horizontal_fov(cls, width: int, height: int, fov_rad: float) -> "PinholeCamera":
        """Return a camera with square pixels that sees `fov_rad` [rad] from left to right, centred."""
        focal = 0.5 * width / math.tan(0.5 * fov_rad)
        return cls(width, height, focal, focal, 0.5 * (width - 1), 0.5 * (height - 1))

    @classmethod
    def with_vertical_fov(cls, width: int, height: int, fov_rad: float) -> "PinholeCamera":
        """Return a camera with square pixels that sees `fov_rad` [rad] from top to bottom, centred."""
        focal = 0.5 * height / math.tan(0.5 * fov_rad)
        return cls(width, height, focal, focal, 0.5 * (width - 1), 0.5 * (height - 1))

    def resized(self, width: int, height: int) -> "PinholeCamera":
        """Return the same camera with pictures of another size."""
        return replace(self, **_resized(self, width, height))


@dataclass(frozen=True)
class FisheyeCamera:
    """Intrinsics of a fisheye camera in OpenCV's model (Kannala and Brandt, PAMI 2006).

    A ray at `a` [rad] from the axis meets the picture at the radius f (a + k1 a^3 + k2 a^5 + k3 a^7 + k4 a^9).
    """

    width: int
    """Picture width [px]."""
    height: int
    """Picture height [px]."""
    fx: float
    """Focal length along x [px]."""
    fy: float
    """Focal length along y [px]."""
    cx: float
    """Principal point, x [px]."""
    cy: float
    """Principal point, y [px]."""
    k1: float = 0.0
    """Coefficient of a^3."""
    k2: float = 0.0
    """Coefficient of a^5."""
    k3: float = 0.0
    """Coefficient of a^7."""
    k4: float = 0.0
    """Coefficient of a^9."""
    max_angle: float = math.pi
    """Largest angle from the axis [rad] that the coefficients were measured for; what lies beyond is flagged."""

    def __post_init__(self):
        _check_intrinsics(self)
        for name in ("k1", "k2", "k3", "k4"):
            set_number(self, name, -10.0, 10.0)
        set_number(self, "max_angle", 1e-3, math.pi)

    @classmethod
    def equidistant(cls, width: int, height: int, fov_rad: float) -> "FisheyeCamera":
        """Return an ideal camera, radius = f angle, that sees `fov_rad` [rad] from left to right, centred."""
        focal = width / fov_rad
        return cls(width, height, focal, focal, 0.5 * (width - 1), 0.5 * (height - 1))

    @property
    def horizontal_fov(self) -> float:
        """Angle [rad] seen from the left to the right edge of the picture, through the principal point.

        Raises:
            ConfigError: an edge lies outside the largest radius that the polynomial reaches within half a turn.
        """
        return self._angle((self.cx + 0.5) / self.fx) + self._angle((self.width - 0.5 - self.cx) / self.fx)

    def resized(self, width: int, height: int) -> "FisheyeCamera":
        """Return the same camera with pictures of another size."""
        return replace(self, **_resized(self, width, height))

    def _angle(self, radius: float) -> float:
        """Return the smallest angle [rad] that is imaged at `radius` (in focal lengths)."""
        coefficients = [self.k4, 0.0, self.k3, 0.0, self.k2, 0.0, self.k1, 0.0, 1.0, -radius]
        roots = np.roots(coefficients)
        angles = np.sort(roots.real[np.abs(roots.imag) < 1e-9])
        angles = angles[(angles >= 0.0) & (angles <= math.pi)]
        if len(angles) == 0:
            raise ConfigError(f"FisheyeCamera: no ray is imaged {radius:.3g} focal lengths from the principal point")
        return float(angles[0])


def look_at(pos: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the orientation (4,) of a camera at `pos` (3,) that sees `target` (3,) in its centre and z upwards.

    Raises:
        ConfigError: `target` is at `pos`, or straight above or below it.
    """
    z = np.asarray(target, dtype=float) - np.asarray(pos, dtype=float)
    x = np.cross(z, [0.0, 0.0, 1.0])
    if np.linalg.norm(x) < 1e-9:
        raise ConfigError(f"camera at {tuple(pos)} looks along z at {tuple(target)}; which way is up is not defined")
    z, x = z / np.linalg.norm(z), x / np.linalg.norm(x)
    return quat_from_matrix(np.stack([x, np.cross(z, x), z], axis=-1))


def _check_intrinsics(camera: PinholeCamera | FisheyeCamera) -> None:
    for name in ("width", "height"):
        set_number(camera, name, 1, _HUGE)
        value = getattr(camera, name)
        if value != int(value):
            raise ConfigError(f"{type(camera).__name__}.{name}: received {value}, allowed are whole numbers")
        object.__setattr__(camera, name, int(value))
    for name in ("fx", "fy"):
        set_number(camera, name, 1e-3, _HUGE)
    for name in ("cx", "cy"):
        set_number(camera, name, -_HUGE, _HUGE)


def _resized(camera: PinholeCamera | FisheyeCamera, width: int, height: int) -> dict[str, float]:
    x, y = width / camera.width, height / camera.height
    return {
        "width": width,
        "height": height,
        "fx": camera.fx * x,
        "fy": camera.fy * y,
        "cx": (camera.cx + 0.5) * x - 0.5,
        "cy": (camera.cy + 0.5) * y - 0.5,
    }
