"""What a cell's own recording does not say: bin, class and belt."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.behavior.found_behavior import behavior_from_records
from r2s2r.behavior.phases import FoundPick, find_pick
from r2s2r.behavior.sorting_cell import belt_velocity, class_of, pick_record
from r2s2r.contracts.transforms import yaw_quat
from r2s2r.contracts.world import World
from r2s2r.recording.cell_demonstration import CellDemonstration

from .picks import operator_demo, record

POSES = World.nominal().poses


def cell_demonstration(seed: int, **changes) -> CellDemonstration:
    recorded = record(operator_demo(seed), np.random.default_rng(seed), noise=0.5)
    steps = len(recorded.wrist_pos_b)
    fields = {
        "name": f"log/demonstration_{seed}",
        "time_s": np.arange(steps) / 30.0 + 1e-4,
        "wrist_pos_b": recorded.wrist_pos_b,
        "wrist_quat_b": recorded.wrist_quat_b,
        "hand_joint_pos": recorded.hand_joint_pos,
        "belt_speed": np.full(steps, recorded.belt_velocity_b[1]),
        "tracked": np.ones(steps, bool),
    }
    return CellDemonstration(**(fields | changes))


def test_a_cell_s_demonstration_is_a_pick():
    for seed in range(6):
        demo, recorded = operator_demo(seed), cell_demonstration(seed)
        object_class, pick = pick_record(recorded, POSES)
        assert POSES.bin_pos_b[object_class] == pytest.approx(demo.bin_pos_b)
        found = find_pick(pick)
        assert isinstance(found, FoundPick)
        assert found.demonstration.rate_hz == 30.0
        assert found.demonstration.belt_velocity_b == pytest.approx(demo.belt_velocity_b)


def test_class_is_that_of_the_nearest_bin():
    path = np.array([[0.5, 0.0, 0.3], [0.15, -0.45, 0.3], [0.4, 0.0, 0.4]])
    assert class_of(path, POSES) == "round"
    assert class_of(path * (1.0, -1.0, 1.0), POSES) == "box"


def test_belt_runs_along_its_own_x_at_its_real_speed():
    turned = replace(POSES, belt_quat_b=tuple(yaw_quat(0.3)), belt_speed_scale=1.1)
    assert belt_velocity(turned, 0.2) == pytest.approx(0.22 * np.array([np.cos(0.3), np.sin(0.3), 0.0]))


def test_without_belt_commands_the_hand_tells_the_belt():
    demo = operator_demo(1)
    found = find_pick(pick_record(cell_demonstration(1, belt_speed=None), POSES)[1])
    assert isinstance(found, FoundPick)
    assert np.linalg.norm(found.demonstration.belt_velocity_b - demo.belt_velocity_b) < 0.006


def test_behavior_of_a_cell_s_demonstrations():
    records = [(*pick_record(cell_demonstration(seed), POSES), f"demonstration_{seed}") for seed in range(12)]
    behavior = behavior_from_records(records, "log", seed=0, provenance={"log": "log"})
    kept = {c: len(behavior.demos[c]) + len(behavior.held_out[c]) for c in behavior.demos}
    assert sum(kept.values()) == 12
    assert behavior.provenance == {"log": "log", "rejected": {}}
