"""Demonstrations and a scripted cell for the replay: objects ride on the belt, the wrist follows with a pure delay."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import warp as wp

from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.operator import OperatorModel
from r2s2r.behavior.pick_plan import OperatorScene
from r2s2r.contracts.action import POLICY_RATE_HZ, WRIST_POS
from r2s2r.contracts.joints import HAND_JOINTS
from r2s2r.contracts.transforms import yaw_quat
from r2s2r.control.minimum_jerk import progress
from r2s2r.replay.batch import BatchReplay
from r2s2r.replay.cfg import ReplayCfg

STEP_S = 1.0 / POLICY_RATE_HZ
BELT_SPEED = 0.1
READY_POS_B = (0.42, -0.12, 0.42)
CLOCK_RATE = 1e-3
"""What a step of the counting demonstration adds to the first hand joint's target [rad]: actions tell the clock."""


@dataclass(frozen=True)
class Cell:
    """N scripted environments at time zero; every object rides on at its belt's speed for good."""

    object_pos_b: np.ndarray  # (N, 3) [m]
    object_quat_b: np.ndarray  # (N, 4) xyzw
    belt_speed: np.ndarray  # (N,) [m/s]
    bin_pos_b: np.ndarray  # (N, 3) [m]
    target_class: np.ndarray  # (N,)
    number: np.ndarray  # (N,) of the attempt

    def __len__(self) -> int:
        return len(self.number)

    def object_at(self, step: int) -> np.ndarray:
        """Return the objects' positions (N, 3) after `step` control steps."""
        return self.object_pos_b + np.outer(self.belt_speed * step * STEP_S, (0.0, 1.0, 0.0))

    def rows(self, ids) -> "Cell":
        """Return the environments `ids`, in that order."""
        return Cell(*(getattr(self, name)[ids] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Trace:
    """What a replay saw and did in T steps."""

    actions: np.ndarray  # (T, N, 25)
    object_pos_b: np.ndarray  # (T, N, 3) [m]
    wrist_pos_b: np.ndarray  # (T, N, 3) [m], as measured
    waited_s: np.ndarray  # (T, N) [s]
    late: np.ndarray  # (N,)
    demo: np.ndarray  # (N,)

    def first_motion(self, env: int = 0) -> int:
        """Return the first step whose action differs from the one of waiting: the second of the demonstration."""
        return int(np.argmax((self.actions[:, env] != self.actions[0, env]).any(axis=-1)))

    def clock(self, env: int = 0) -> np.ndarray:
        """Return the step of a counting demonstration that each action was taken from (T,)."""
        return self.actions[:, env, 9] / CLOCK_RATE


def _begin(replay: BatchReplay, cell: Cell) -> None:
    """Start an attempt in every environment of `cell`."""
    ids = wp.array(np.arange(len(cell)), dtype=wp.int32, device=replay.device)
    number = wp.array(cell.number, dtype=wp.int32, device=replay.device)
    replay.start(ids, number, wp.array(cell.target_class, dtype=wp.int64, device=replay.device))


def _drive(replay: BatchReplay, cell: Cell, steps: int, delay: int = 1, wrist_pos_b: np.ndarray | None = None) -> Trace:
    """Run `steps` control steps; the wrist is where the action `delay` steps ago sent it, or stuck at `wrist_pos_b`.

    Until the first action takes effect the wrist is at its ready place.
    """
    device = replay.device
    poses = np.concatenate([cell.object_pos_b, cell.object_quat_b], axis=-1)
    speed = wp.array(cell.belt_speed, dtype=wp.float32, device=device)
    bins = wp.array(cell.bin_pos_b, dtype=wp.vec3, device=device)
    actions, objects, wrists, waited = [], [], [], []
    wrist = np.broadcast_to(READY_POS_B if wrist_pos_b is None else wrist_pos_b, (len(cell), 3))
    for step in range(steps):
        poses[:, :3] = cell.object_at(step)
        if wrist_pos_b is None and step >= delay:
            wrist = actions[step - delay][:, WRIST_POS]
        pose = wp.array(poses.astype(np.float32), dtype=wp.transform, device=device)
        replay.step(pose, speed, bins, wp.array(wrist, dtype=wp.vec3, device=device))
        actions.append(replay.actions.numpy().copy())
        objects.append(poses[:, :3].copy())
        wrists.append(wrist.copy())
        waited.append(replay.waited_s.numpy().copy())
    arrays = (np.stack(a) for a in (actions, objects, wrists, waited))
    return Trace(*arrays, replay.late.numpy().copy(), replay.demo.numpy().copy())


def _quiet(**changes) -> ReplayCfg:
    """Return settings without noise, time warp and lead, under which every wrist counts as arrived."""
    exact = dict(time_warp=(1.0, 1.0), pos_noise=0.0, rot_noise=0.0, hand_noise=0.0, lead_s=0.0, arrival_m=1.0)
    return ReplayCfg(**(exact | changes))


def _cell_of(demo: Demonstration, wait_steps: int = 5, count: int = 1, **changes) -> Cell:
    """Return the demonstration's own cell, its object `wait_steps` further upstream.

    A micrometre downstream decides the tie between starting in that step and in the next.
    """
    upstream = np.array([0.0, wait_steps * STEP_S * demo.belt_velocity_b[1] - 1e-6, 0.0])
    same = dict(
        object_pos_b=np.tile(demo.object_pos_b[0] - upstream, (count, 1)),
        object_quat_b=np.tile(yaw_quat(demo.object_yaw[0]), (count, 1)),
        belt_speed=np.full(count, demo.belt_velocity_b[1]),
        bin_pos_b=np.tile(demo.bin_pos_b, (count, 1)),
        target_class=np.zeros(count, dtype=np.int64),
        number=np.arange(count),
    )
    return Cell(**(same | {name: np.asarray(value) for name, value in changes.items()}))


def _random_cell(demo: Demonstration, numbers, classes: int = 2) -> Cell:
    """Return an environment for each attempt number, drawn from that number alone."""
    rows = []
    for number in numbers:
        rng = np.random.default_rng([77, number])
        pos = demo.object_pos_b[0] + rng.uniform((-0.05, -0.1, 0.0), (0.05, 0.05, 0.0))
        place = demo.bin_pos_b + rng.uniform(-0.05, 0.05, 3)
        quat = yaw_quat(rng.uniform(-0.4, 0.4))
        rows.append((pos, quat, rng.uniform(0.08, 0.12), place, rng.integers(classes), number))
    return Cell(*(np.array(column) for column in zip(*rows, strict=True)))


def _operator_demo(seed: int, speed: float = BELT_SPEED, side: float = 1.0) -> Demonstration:
    """Return a demonstration of the operator model into the bin at y = 0.5 m times `side`."""
    rng = np.random.default_rng(seed)
    scene = OperatorScene(
        object_pos_b=np.array([0.52, -0.4, 0.135]) + rng.uniform(-0.04, 0.04, 3) * (1, 1, 0),
        object_yaw=rng.uniform(-0.3, 0.3),
        belt_velocity_b=np.array([0.0, speed, 0.0]),
        bin_pos_b=np.array([0.12, 0.5 * side, 0.0]),
        wrist_pos_b=np.array(READY_POS_B),
        wrist_quat_b=GraspGeometry().wrist_quat_b(0.3),
    )
    return OperatorModel().demonstrate(scene, rng, name=f"operator_{seed}")


def _counting_demo(steps_each: int = 20, name: str = "counting") -> Demonstration:
    """Return a demonstration whose first hand joint counts the steps, `steps_each` in every phase.

    The wrist settles 12 cm above the object by the end of the approach and rides along until the lift.
    """
    phase = np.repeat(np.arange(len(Phase)), steps_each)
    step = np.arange(len(phase))
    object_pos = np.array([0.52, -0.3, 0.135]) + np.outer(step * STEP_S * BELT_SPEED, (0.0, 1.0, 0.0))
    settled = progress(step / (0.7 * steps_each))[:, None]
    wrist = object_pos + (0.0, 0.0, 0.12) + (1.0 - settled) * np.array([-0.1, 0.1, 0.15])
    hand = np.zeros((len(phase), len(HAND_JOINTS)))
    hand[:, 0] = CLOCK_RATE * step
    return Demonstration(
        name=name,
        wrist_pos_b=wrist,
        wrist_quat_b=np.tile(GraspGeometry().wrist_quat_b(0.0), (len(phase), 1)),
        hand_joint_pos=hand,
        phase=phase,
        object_pos_b=object_pos,
        object_yaw=np.zeros(len(phase)),
        belt_velocity_b=np.array([0.0, BELT_SPEED, 0.0]),
        bin_pos_b=np.array([0.12, 0.5, 0.0]),
    )


@pytest.fixture(scope="session")
def demos() -> list[list[Demonstration]]:
    """Two operator demonstrations for each of two classes, of four lengths, so that padding is at work."""
    return [
        [_operator_demo(1), _operator_demo(2)],
        [_operator_demo(3, side=-1.0), _operator_demo(4, side=-1.0)],
    ]


@pytest.fixture(scope="session")
def make_counting() -> Callable[..., Demonstration]:
    """:func:`_counting_demo`."""
    return _counting_demo


@pytest.fixture(scope="session")
def counting() -> Demonstration:
    """A demonstration whose first hand joint tells the step, 20 steps a phase."""
    return _counting_demo()


@pytest.fixture(scope="session")
def quiet() -> Callable[..., ReplayCfg]:
    """:func:`_quiet`."""
    return _quiet


@pytest.fixture(scope="session")
def cell_of() -> Callable[..., Cell]:
    """:func:`_cell_of`."""
    return _cell_of


@pytest.fixture(scope="session")
def random_cell() -> Callable[..., Cell]:
    """:func:`_random_cell`."""
    return _random_cell


@pytest.fixture(scope="session")
def begin() -> Callable[..., None]:
    """:func:`_begin`."""
    return _begin


@pytest.fixture(scope="session")
def drive() -> Callable[..., Trace]:
    """:func:`_drive`."""
    return _drive


@pytest.fixture
def play(device: str) -> Callable[..., Trace]:
    """Return a function that starts and drives a replay of `demos_by_class` in `cell` on `device`."""

    def run(demos_by_class, cell: Cell, cfg: ReplayCfg, steps: int, **arm) -> Trace:
        replay = BatchReplay(demos_by_class, len(cell), device, cfg)
        _begin(replay, cell)
        return _drive(replay, cell, steps, **arm)

    return run
