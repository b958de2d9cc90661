"""A cell without dynamics: joints are where they were sent, cameras deliver small grey pictures."""

from collections.abc import Callable

import numpy as np

from r2s2r.contracts.cell import CellInfo, Message, Picture
from r2s2r.contracts.world import World
from r2s2r.robot.ready import READY_ARM, READY_HAND


class KinematicCell:
    """Time passes only while it is waited for. Pictures come 50 ms after they were asked for, stamped 5 ms too late."""

    def __init__(self, arm=READY_ARM, hand=READY_HAND, silent: bool = False):
        nominal = World.nominal()
        self.info = CellInfo(
            "kinematic",
            nominal.arm.drive_stiffness,
            nominal.arm.drive_damping,
            "allegro_v4_right",
            nominal.wrist_cameras.camera,
            nominal.poses.head_camera,
        )
        self.silent = silent
        self.joints = {"arm_joint_pos": np.array(arm, dtype=float), "hand_joint_pos": np.array(hand, dtype=float)}
        self.time_s, self.read_s = 100.0, 100.0
        self.messages: list[Message] = []
        self.due: dict[str, float] = {}
        self.arrived: list[Picture] = []
        self.asked: list[tuple[str, float, np.ndarray]] = []
        self.on_wait: Callable[[float], None] = lambda _: None

    def now(self) -> float:
        return self.time_s

    def command_arm(self, joint_pos: np.ndarray) -> None:
        self._send("arm_command", "arm_joint_pos", joint_pos)

    def command_hand(self, joint_pos: np.ndarray) -> None:
        self._send("hand_command", "hand_joint_pos", joint_pos)

    def command_belt(self, speed: float) -> None:
        self.messages.append(Message("belt_command", self.time_s, np.array([speed])))

    def wait(self, duration_s: float) -> None:
        self.time_s += duration_s
        for camera in [camera for camera, due_s in self.due.items() if due_s <= self.time_s]:
            self.arrived.append(self._picture(camera, self.due.pop(camera)))
        self.on_wait(self.time_s)

    def read(self) -> list[Message]:
        messages, self.messages = self.messages, []
        if self.time_s > self.read_s and not self.silent:
            self.read_s = self.time_s
            messages += [Message(name, self.time_s, value.copy()) for name, value in self.joints.items()]
        return messages

    def picture(self, camera: str) -> Picture:
        self.asked.append((camera, self.time_s, self.joints["arm_joint_pos"].copy()))
        self.wait(0.05)
        return self._picture(camera, self.time_s)

    def request_picture(self, camera: str) -> None:
        self.asked.append((camera, self.time_s, self.joints["arm_joint_pos"].copy()))
        self.due.setdefault(camera, self.time_s + 0.05)

    def requested_pictures(self) -> list[Picture]:
        arrived, self.arrived = self.arrived, []
        return arrived

    def _send(self, command: str, reading: str, value: np.ndarray) -> None:
        self.joints[reading] = np.array(value, dtype=float)
        self.messages.append(Message(command, self.time_s, self.joints[reading].copy()))

    def _picture(self, camera: str, time_s: float) -> Picture:
        return Picture(camera, time_s + 0.005, np.full((4, 6, 3), 128, dtype=np.uint8))


class ListLog:
    """Keeps what a recorder hands to it."""

    def __init__(self):
        self.messages: list[Message] = []
        self.pictures: list[Picture] = []
        self.segments: list[list] = []

    def append(self, messages: list[Message]) -> None:
        self.messages += messages

    def append_picture(self, picture: Picture) -> None:
        self.pictures.append(picture)

    def begin_segment(self, name: str, time_s: float) -> None:
        self.segments.append([name, time_s, None])

    def end_segment(self, time_s: float) -> None:
        self.segments[-1][2] = time_s

    def stream(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return stamps (T,) and values (T, n)."""
        chosen = [message for message in self.messages if message.stream == name]
        return np.array([m.time_s for m in chosen]), np.array([m.value for m in chosen])
