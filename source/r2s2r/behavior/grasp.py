"""How the hand takes an object: where the object lies in the palm, and how far each joint closes."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import quat_from_matrix, quat_multiply, yaw_quat

_INDEX_OPEN, _MIDDLE_OPEN, _RING_OPEN = (0.04, -0.03, 0.41, 0.18), (0.0, -0.03, 0.41, 0.18), (-0.04, -0.03, 0.41, 0.18)
_THUMB_OPEN = (1.35, 0.14, 0.1, 0.18)
_FINGER_STRAIGHT, _THUMB_AWAY = (0.0, -0.15, 0.0, 0.0), (0.6, 0.0, 0.0, 0.0)
_FINGER_CLOSE, _THUMB_CLOSE = (0.0, 1.47, 1.0, 0.45), (0.04, 0.23, 0.55, 1.11)


@dataclass(frozen=True)
class GraspGeometry:
    """A wrap grasp from above and behind, and a release with the hand wider open than before it.

    The numbers of the grasp come from a cross-entropy search in simulation. It varied 20 of them in 128 environments of
    the belt-sorting task for 7 rounds: boxes and tins of all sizes, masses of 60 to 140 g, 10 cm of place, +-0.3 rad of
    yaw, 0.08 to 0.12 m/s of belt speed, the vendor's 0.7 N m, and the operator's own variation. Lifts that held rose
    from 4 to 16 of 16 with the mean candidate.

    Release posture and height are the best of six variants in 64 environments of the task, 60 of them with a tin as
    target. Opened to the open posture 0.24 m over the bin, the hand sorted 40 tins and kept many of the others between
    thumb and fingers. With only the thumb away it sorted 44, with straight fingers as well 52 (most others rolled off
    them over the bin's wall), the same from 0.19 m 57. Turning the palm down by 0.3 rad did not help: 52 and 56.
    In 64 episodes that the choice had not seen, sorted tins rose from 16 to 28 of 32; boxes stayed at 32 of 32.

    Raises:
        ConfigError: a length or time is not positive, an array has another shape.
    """

    object_pos_palm: tuple[float, float, float] = (0.073, 0.020, 0.042)
    """Centre of the object in the palm frame when the hand has arrived [m]."""

    pitch: float = 1.0
    """Tilt of the fingers from straight down [rad]."""

    yaw_offset: float = 3.25
    """Turn of the hand about the vertical relative to the object's yaw [rad]."""

    open_posture: tuple[float, ...] = _INDEX_OPEN + _MIDDLE_OPEN + _RING_OPEN + _THUMB_OPEN
    """Open hand (16) [rad], in the order of `contracts.joints.HAND_JOINTS`."""

    close_amount: tuple[float, ...] = _FINGER_CLOSE * 3 + _THUMB_CLOSE
    """What each joint adds when closed (16) [rad]; targets lie inside the object, the surplus becomes grip force."""

    release_posture: tuple[float, ...] = _FINGER_STRAIGHT * 3 + _THUMB_AWAY
    """Hand that has let go (16) [rad]: fingers straight, thumb swung to the side."""

    ride_s: float = 0.13
    """From arrival to the onset of closing [s]."""

    closing_s: float = 0.72
    """Duration of the whole closing [s]: the robot hand is slower than a human's."""

    lift_m: float = 0.2
    """How far the object is lifted [m]."""

    release_height_m: float = 0.19
    """Height of the object's centre above the bin's floor when the hand opens [m]."""

    def __post_init__(self):
        for name in ("ride_s", "closing_s", "lift_m", "release_height_m"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ConfigError(f"grasp: {name} is {getattr(self, name)}, it must be positive and finite")
        for name, width in (
            ("object_pos_palm", 3),
            ("open_posture", 16),
            ("close_amount", 16),
            ("release_posture", 16),
        ):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != (width,) or not np.isfinite(value).all():
                raise ConfigError(f"grasp: {name} has shape {value.shape}, expected {width} finite numbers")

    def wrist_quat_b(self, object_yaw: np.ndarray | float) -> np.ndarray:
        """Return the palm's orientation (..., 4) xyzw that takes an object turned by `object_yaw` (...) [rad]."""
        return quat_multiply(yaw_quat(np.asarray(object_yaw) + self.yaw_offset), self._tilted_down)

    @property
    def _tilted_down(self) -> np.ndarray:
        c, s = np.cos(self.pitch), np.sin(self.pitch)
        fingers_down = np.diag([1.0, -1.0, -1.0])
        return quat_from_matrix(np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]) @ fingers_down)

    def hand_joint_pos(self, share: np.ndarray, widened: np.ndarray | float = 0.0) -> np.ndarray:
        """Return targets (..., 16) [rad] for each joint's share (..., 16) of its closing.

        Where `widened` (...) goes from 0 to 1, the share 0 goes from the open to the release posture; 1 is the grasp.
        """
        opened, released = np.asarray(self.open_posture), np.asarray(self.release_posture)
        closed = opened + np.asarray(self.close_amount)
        start = opened + np.asarray(widened)[..., None] * (released - opened)
        return start + np.asarray(share) * (closed - start)
