"""Points of a picture with their kind, so that a lens is applied exactly once."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.projection import unproject


@dataclass(frozen=True)
class RawPixels:
    """Points as they lie in the picture, lens and all.

    Raises:
        ConfigError: the shape is wrong.
    """

    values: np.ndarray
    """(N, 2) [px]."""

    def __post_init__(self):
        _set_points(self)


@dataclass(frozen=True)
class NormalisedPoints:
    """Points on the plane z = 1 of the camera's optical frame: the lens has been taken out.

    Raises:
        ConfigError: the shape is wrong.
    """

    values: np.ndarray
    """(N, 2)."""

    def __post_init__(self):
        _set_points(self)


def normalised(
    points: RawPixels | NormalisedPoints, camera: FisheyeCamera | PinholeCamera | None
) -> tuple[NormalisedPoints, np.ndarray]:
    """Return the points without the lens, and a mask (N,) bool: the lens's domain, less than a right angle off axis.

    Args:
        points: raw pixels with their camera, or normalised points with None.
        camera: the lens that is still in the points.

    Raises:
        ConfigError: normalised points came with a camera, which would apply the lens twice; or raw pixels without.
    """
    if isinstance(points, NormalisedPoints):
        if camera is not None:
            raise ConfigError(
                f"normalised points came with a {type(camera).__name__}; its lens is out of them already, "
                "allowed are RawPixels with a camera, or NormalisedPoints with None"
            )
        return points, np.isfinite(points.values.sum(axis=-1))
    if not isinstance(points, RawPixels) or camera is None:
        raise ConfigError(
            f"received {type(points).__name__} with camera {camera!r}, "
            "allowed are RawPixels with a camera, or NormalisedPoints with None"
        )
    rays, inside = unproject(camera, points.values)
    inside &= rays[:, 2] > 1e-6
    flat = np.where(inside[:, None], rays[:, :2] / np.where(inside, rays[:, 2], 1.0)[:, None], np.nan)
    return NormalisedPoints(flat), inside


def _set_points(owner: RawPixels | NormalisedPoints) -> None:
    values = np.asarray(owner.values, dtype=float)
    if values.ndim != 2 or values.shape[1] != 2:
        raise ConfigError(f"{type(owner).__name__}: received shape {values.shape}, allowed is (N, 2)")
    object.__setattr__(owner, "values", values)
