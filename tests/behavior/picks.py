"""Scenes of the task and recordings of picks with known phases, for tests."""

import numpy as np

from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.operator import OperatorModel
from r2s2r.behavior.phases import PickRecord
from r2s2r.behavior.pick_plan import OperatorScene
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.transforms import quat_exp, quat_multiply

READY_POS_B = np.array([0.42, -0.12, 0.42])


def draw_scene(rng: np.random.Generator, **changes) -> OperatorScene:
    """Return a scene as the task draws them."""
    fields = {
        "object_pos_b": np.array([rng.uniform(0.47, 0.57), -0.32, 0.135]),
        "object_yaw": rng.uniform(-0.3, 0.3),
        "belt_velocity_b": np.array([0.0, rng.uniform(0.08, 0.12), 0.0]),
        "bin_pos_b": np.array([0.12, rng.choice((-0.5, 0.5)), 0.0]),
        "wrist_pos_b": READY_POS_B,
        "wrist_quat_b": GraspGeometry().wrist_quat_b(0.0),
    }
    return OperatorScene(**(fields | changes))


def operator_demo(seed: int, planner=None, **changes) -> Demonstration:
    """Return what `planner`, by default the operator model, does in the scene of `seed`."""
    rng = np.random.default_rng(seed)
    return (planner or OperatorModel()).demonstrate(draw_scene(rng, **changes), rng, f"demo_{seed}")


def drift(rng: np.random.Generator, steps: int, width: int, deviation: float) -> np.ndarray:
    """Return a disturbance (T, width) like the replay's: Ornstein-Uhlenbeck, correlated over 0.3 s."""
    keep = np.exp(-1.0 / POLICY_RATE_HZ / 0.3)
    rows = [rng.normal(size=width)]
    for _ in range(steps - 1):
        rows.append(keep * rows[-1] + np.sqrt(1.0 - keep**2) * rng.normal(size=width))
    return deviation * np.array(rows)


def record(
    demo: Demonstration,
    rng: np.random.Generator,
    *,
    before: int = 40,
    after: int = 20,
    noise: float = 1.0,
    pace: float = 1.0,
    **changes,
) -> PickRecord:
    """Return a recording of `demo` without its phases: at another pace, waiting before and after it, disturbed.

    A `noise` of 1 is the replay's own: 1 mm, 0.01 rad of the wrist, 0.01 rad of each joint. The object is not seen.
    """
    clock = np.arange(0.0, len(demo) - 1 + 1e-9, pace)
    clock = np.concatenate([np.zeros(before), clock, np.full(after, clock[-1])])

    def at(values: np.ndarray) -> np.ndarray:
        steps = np.arange(len(demo))
        return np.stack([np.interp(clock, steps, column) for column in values.T], axis=1)

    quat = at(_continuous(demo.wrist_quat_b))
    turn = quat_exp(drift(rng, len(clock), 3, 0.01 * noise))
    fields = {
        "name": demo.name,
        "wrist_pos_b": at(demo.wrist_pos_b) + drift(rng, len(clock), 3, 0.001 * noise),
        "wrist_quat_b": quat_multiply(quat / np.linalg.norm(quat, axis=1, keepdims=True), turn),
        "hand_joint_pos": at(demo.hand_joint_pos) + drift(rng, len(clock), 16, 0.01 * noise),
        "bin_pos_b": demo.bin_pos_b,
        "rate_hz": demo.rate_hz,
        "belt_velocity_b": demo.belt_velocity_b * pace,
    }
    return PickRecord(**(fields | changes))


def _continuous(quat: np.ndarray) -> np.ndarray:
    flips = np.cumsum(np.sum(quat[1:] * quat[:-1], axis=1) < 0.0) % 2
    return quat * np.where(np.concatenate([[0], flips]) == 1, -1.0, 1.0)[:, None]
