"""What is taken out of single ROS 2 messages: joints by name, commands, pictures."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.joints import ROBOT_JOINTS, JointSet

CHANNELS = {"rgb8": (0, 1, 2), "bgr8": (2, 1, 0), "rgba8": (0, 1, 2), "bgra8": (2, 1, 0), "mono8": (0, 0, 0)}
"""By encoding of sensor_msgs/Image: which of its channels are red, green and blue."""

_DEPTH = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}


class JointNames:
    """Names in a bag and ours.

    Args:
        ours_by_name: Our name by the bag's, where they differ.
        ignored: Names in the bag that are not recorded, such as a gripper's.

    Raises:
        ConfigError: a name leads to none of ROBOT_JOINTS.
    """

    def __init__(self, ours_by_name: Mapping[str, str], ignored: tuple[str, ...]):
        wrong = [name for name in ours_by_name.values() if name not in ROBOT_JOINTS]
        if wrong:
            raise ConfigError(f"joint_names: received {', '.join(wrong)}, allowed are {', '.join(ROBOT_JOINTS)}")
        self._ours_by_name = dict(ours_by_name)
        self._ignored = set(ignored)

    def pick(self, wanted: tuple[str, ...], names: list[str], values: list[float], where: str) -> np.ndarray | None:
        """Return the values of the joints `wanted`, in that order; None where a message has none of them.

        Raises:
            RecordingError: a name is unknown or comes twice, some of the joints are missing, or there is not one value
                for each name.
        """
        if len(names) != len(values):
            raise RecordingError(f"{where}: {len(names)} names and {len(values)} values; allowed is one for each")
        kept = [i for i, name in enumerate(names) if name not in self._ignored]
        ours = tuple(self._ours_by_name.get(names[i], names[i]) for i in kept)
        unknown = [names[i] for i, name in zip(kept, ours, strict=True) if name not in ROBOT_JOINTS]
        if unknown:
            raise RecordingError(
                f"{where}: unknown joints {', '.join(unknown)}; known are {', '.join(ROBOT_JOINTS)}; map names with "
                "joint_names, leave out with ignored_joints"
            )
        if not set(wanted) & set(ours):
            return None
        try:
            return JointSet(wanted).reorder(np.asarray(values, dtype=float)[kept], ours)
        except ConfigError as error:
            raise RecordingError(f"{where}: {error}") from error


def trajectory_point(message: Any, where: str) -> tuple[list[str], list[float], float]:
    """Return names, positions and time from start [s] of the one point of a trajectory_msgs/JointTrajectory.

    Raises:
        RecordingError: it has another number of points. What a controller makes of several is not in the bag.
    """
    if len(message.points) != 1:
        raise RecordingError(
            f"{where}: trajectory of {len(message.points)} points; allowed is one: what the controller sends between "
            "several is not recorded"
        )
    due = message.points[0].time_from_start
    return list(message.joint_names), list(message.points[0].positions), due.sec + 1e-9 * due.nanosec


def image_rgb(message: Any, where: str) -> np.ndarray:
    """Return the picture (H, W, 3) uint8 of a sensor_msgs/Image.

    Raises:
        RecordingError: its encoding is unknown, or its size and its data do not fit together.
    """
    if message.encoding not in CHANNELS:
        raise RecordingError(f"{where}: encoding {message.encoding!r}, allowed are {', '.join(CHANNELS)}")
    depth, data = _DEPTH[message.encoding], np.frombuffer(bytes(message.data), dtype=np.uint8)
    row = message.width * depth
    if not row or message.step < row or len(data) != message.height * message.step:
        raise RecordingError(
            f"{where}: {len(data)} bytes, step {message.step}, do not make {message.width} x {message.height} px of "
            f"{message.encoding}"
        )
    rows = data.reshape(message.height, message.step)[:, :row]  # rows may be padded
    return rows.reshape(message.height, message.width, depth)[..., CHANNELS[message.encoding]]


def compressed_rgb(message: Any, where: str) -> np.ndarray:
    """Return the picture (H, W, 3) uint8 of a sensor_msgs/CompressedImage.

    Raises:
        RecordingError: it cannot be decoded.
    """
    import cv2  # here, as pictures.py does

    data = np.frombuffer(bytes(message.data), dtype=np.uint8)
    bgr = cv2.imdecode(data, cv2.IMREAD_COLOR) if len(data) else None
    if bgr is None:
        raise RecordingError(f"{where}: {len(data)} bytes of {message.format!r} are no picture that can be decoded")
    return bgr[..., ::-1]
