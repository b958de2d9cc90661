"""Policies without a network, and what processes need to try them; importable by name, so that they travel."""

from functools import partial

import numpy as np
from still_cell import StillCell

from r2s2r.cell.virtual_cell import VirtualCell
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.contracts.policy import Observation
from r2s2r.deployment.control_stack import ControlStack
from r2s2r.robot.ready import READY_JOINT_POS

CHUNK = 16

_REST = np.array([READY_JOINT_POS[name] for name in ROBOT_JOINTS])
REST_ACTION = ControlStack(StillCell().info).rest_action(_REST)


class HoldStill:
    """Wants the robot to stay where it rests."""

    def __init__(self, picture_size: int = 16):
        self.info = {"name": "hold_still", "picture_size": picture_size, "chunk": CHUNK, "rate_hz": 30.0}

    def reset(self, seed: int) -> None:
        pass

    def act(self, observation: Observation) -> np.ndarray:
        return np.repeat(REST_ACTION[None], CHUNK, axis=0)


class Wander:
    """Moves the hand at random, from numbers that its seed and what it sees fix."""

    def __init__(self, picture_size: int = 16):
        self.info = {"name": "wander", "picture_size": picture_size, "chunk": CHUNK, "rate_hz": 30.0}

    def reset(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, observation: Observation) -> np.ndarray:
        action = HoldStill().act(observation)
        light = float(observation.head_rgb.mean()) / 255.0
        action[:, :3] += self.rng.normal(0.0, 0.01 * light, 3).astype(np.float32)
        action[:, 9:] += self.rng.normal(0.0, 0.05, 16).astype(np.float32)
        return action


class Replay:
    """Sends the actions of a recorded attempt at the instants at which they were sent."""

    def __init__(self, actions: np.ndarray, times: np.ndarray, picture_size: int = 16):
        self.info = {"name": "replay", "picture_size": picture_size, "chunk": CHUNK, "rate_hz": 30.0}
        self.actions, self.times = actions, times

    def reset(self, seed: int) -> None:
        pass

    def act(self, observation: Observation) -> np.ndarray:
        first = int(np.abs(self.times - observation.time_s).argmin())
        rows = np.minimum(np.arange(first, first + CHUNK), len(self.actions) - 1)
        return self.actions[rows]


POLICIES = {"hold_still": HoldStill, "wander": Wander}


def load(name: str):
    return POLICIES[name]()


def opened(seed: int, picture_size: int):
    return VirtualCell(seed, picture_size=picture_size)


def open_cell(seed: int):
    return partial(opened, seed)
