"""Small ROS 2 bags (mcap) for the tests, written with message definitions as text."""

from pathlib import Path
from typing import Any

import numpy as np
from mcap_ros2.writer import Writer

HEADER = """
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""

DEFINITIONS = {
    "sensor_msgs/msg/JointState": "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
    "float64[] effort" + HEADER,
    "trajectory_msgs/msg/JointTrajectory": "std_msgs/Header header\nstring[] joint_names\n"
    "trajectory_msgs/JointTrajectoryPoint[] points"
    + HEADER
    + """
================================================================================
MSG: trajectory_msgs/JointTrajectoryPoint
float64[] positions
float64[] velocities
float64[] accelerations
float64[] effort
builtin_interfaces/Duration time_from_start
================================================================================
MSG: builtin_interfaces/Duration
int32 sec
uint32 nanosec
""",
    "std_msgs/msg/Float64MultiArray": """std_msgs/MultiArrayLayout layout
float64[] data
================================================================================
MSG: std_msgs/MultiArrayLayout
std_msgs/MultiArrayDimension[] dim
uint32 data_offset
================================================================================
MSG: std_msgs/MultiArrayDimension
string label
uint32 size
uint32 stride
""",
    "std_msgs/msg/Float64": "float64 data",
    "std_msgs/msg/String": "string data",
    "sensor_msgs/msg/Image": "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\n"
    "uint8 is_bigendian\nuint32 step\nuint8[] data" + HEADER,
    "sensor_msgs/msg/CompressedImage": "std_msgs/Header header\nstring format\nuint8[] data" + HEADER,
}

EPOCH_S = 1_700_000_000
"""Unix time at which the bags begin [s]."""


class Bag:
    """Writes a bag; times are seconds after EPOCH_S."""

    def __init__(self, path: Path):
        self._file = open(path, "wb")  # noqa: SIM115
        self._writer = Writer(self._file)
        self._schemas: dict[str, Any] = {}

    def __enter__(self) -> "Bag":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.finish()
        self._file.close()

    def write(self, topic: str, kind: str, message: dict[str, Any], logged_s: float) -> None:
        """Append a message of the type `kind`, without its package's `msg`."""
        name = kind.replace("/", "/msg/")
        if name not in self._schemas:
            self._schemas[name] = self._writer.register_msgdef(name, DEFINITIONS[name])
        time = EPOCH_S * 1_000_000_000 + round(logged_s * 1e9)
        self._writer.write_message(topic, self._schemas[name], message, log_time=time, publish_time=time)

    def joints(self, topic: str, names, values, time_s: float, logged_s: float | None = None) -> None:
        """Append a JointState whose velocities are unknown."""
        message = {
            "header": header(time_s),
            "name": list(names),
            "position": [float(x) for x in values],
            "velocity": [float("nan")] * len(names),
            "effort": [],
        }
        self.write(topic, "sensor_msgs/JointState", message, time_s if logged_s is None else logged_s)

    def trajectory(self, topic: str, names, values, time_s: float, due_s: float = 0.0, points: int = 1) -> None:
        """Append a JointTrajectory with the same point `points` times."""
        due = {"sec": 0, "nanosec": round(due_s * 1e9)}
        point = {"positions": list(values), "velocities": [], "accelerations": [], "effort": [], "time_from_start": due}
        message = {"header": header(time_s), "joint_names": list(names), "points": [point] * points}
        self.write(topic, "trajectory_msgs/JointTrajectory", message, time_s)

    def numbers(self, topic: str, values, logged_s: float) -> None:
        """Append a Float64MultiArray."""
        layout = {"dim": [], "data_offset": 0}
        self.write(topic, "std_msgs/Float64MultiArray", {"layout": layout, "data": list(values)}, logged_s)

    def image(
        self, topic: str, picture: np.ndarray, encoding: str, time_s: float, logged_s: float, pad: int = 0
    ) -> None:
        """Append an Image (H, W, C) whose rows are longer by `pad` bytes."""
        rows = picture.reshape(picture.shape[0], -1)
        data = np.pad(rows, ((0, 0), (0, pad)))
        message = {
            "header": header(time_s),
            "height": picture.shape[0],
            "width": picture.shape[1],
            "encoding": encoding,
            "is_bigendian": 0,
            "step": data.shape[1],
            "data": data.tobytes(),
        }
        self.write(topic, "sensor_msgs/Image", message, logged_s)


def header(time_s: float | None) -> dict[str, Any]:
    """Return a header stamped `time_s` after EPOCH_S; None: not stamped."""
    if time_s is None:
        return {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    nanoseconds = round(time_s * 1e9)
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return {"stamp": {"sec": EPOCH_S + seconds, "nanosec": rest}, "frame_id": "base"}
