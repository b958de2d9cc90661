"""A sorting cell without dynamics: joints are where they were sent, the target rides past at 0.1 m/s."""

import numpy as np

from r2s2r.contracts.cell import CellInfo, Message, Picture
from r2s2r.contracts.transforms import pose
from r2s2r.contracts.world import World
from r2s2r.robot.ready import READY_ARM, READY_HAND

PICTURE_DELAY_S = 0.04


class StillCell:
    """Time passes only while it is waited for. Cameras expose at multiples of 1 / 30 s since the trial began."""

    def __init__(self, exposure_lead_s: float = 0.0):
        nominal = World.nominal()
        self.info = CellInfo(
            "still",
            nominal.arm.drive_stiffness,
            nominal.arm.drive_damping,
            "allegro_v4_right",
            nominal.wrist_cameras.camera,
            nominal.poses.head_camera,
        )
        self.exposure_lead_s = exposure_lead_s
        self.begin(None)

    def begin(self, trial) -> None:
        self.begin_s = self.time_s = 100.0
        self.joints = {"arm_joint_pos": np.array(READY_ARM), "hand_joint_pos": np.array(READY_HAND)}
        self.messages: list[Message] = []
        self.due: dict[str, float] = {}
        self.arrived: list[Picture] = []
        self.hand_commands: list[tuple[float, np.ndarray]] = []
        self.target_pos = lambda elapsed_s: np.array([0.52, -0.4 + 0.1 * elapsed_s, 0.135])

    def now(self) -> float:
        return self.time_s

    def command_arm(self, joint_pos: np.ndarray) -> None:
        self.joints["arm_joint_pos"] = np.array(joint_pos)

    def command_hand(self, joint_pos: np.ndarray) -> None:
        self.joints["hand_joint_pos"] = np.array(joint_pos)
        self.hand_commands.append((self.time_s, np.array(joint_pos)))

    def command_belt(self, speed: float) -> None:
        pass

    def wait(self, duration_s: float) -> None:
        self.time_s += duration_s
        self.messages += [Message(name, self.time_s, value.copy()) for name, value in self.joints.items()]
        for camera, arrives_s in list(self.due.items()):
            if arrives_s <= self.time_s + 1e-9:
                del self.due[camera]
                self.arrived.append(Picture(camera, arrives_s, np.zeros((4, 4, 3), dtype=np.uint8)))

    def read(self) -> list[Message]:
        messages, self.messages = self.messages, []
        return messages

    def request_picture(self, camera: str) -> None:
        first = self.begin_s + PICTURE_DELAY_S - self.exposure_lead_s
        frames = np.floor((self.time_s - first) * 30.0 + 1e-6) + 1
        self.due.setdefault(camera, first + max(frames, 0) / 30.0)

    def requested_pictures(self) -> list[Picture]:
        arrived, self.arrived = self.arrived, []
        return arrived

    def target_pose_b(self) -> np.ndarray:
        return pose(self.target_pos(self.time_s - self.begin_s), np.array([0.0, 0.0, 0.0, 1.0]))

    def belt_speed(self) -> float:
        return 0.1
