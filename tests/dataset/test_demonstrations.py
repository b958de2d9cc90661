"""Data sets become behaviors: phases found, classes and sources kept apart, failures told."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.behavior.phases import PickRecord, PickRules
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import matrix_from_quat, quat_angle, rot6d_from_matrix, yaw_quat
from r2s2r.dataset.demonstrations import behavior_from_dataset
from r2s2r.dataset.writer import DatasetWriter

from ..behavior.picks import operator_demo, record

BIN = {"box": (0.12, 0.5, 0.0), "round": (0.12, -0.5, 0.0)}
STATES = (
    *(f"{name}_pos_b.{axis}" for name in BIN for axis in "xyz"),
    *(f"{name}_quat_b.{axis}" for name in BIN for axis in "xyzw"),
    *(f"target_bin_b.{axis}" for axis in "xyz"),
)


def sorting(index: int) -> tuple[str, Demonstration]:
    name = tuple(BIN)[index % 2]
    return name, operator_demo(index, bin_pos_b=np.array(BIN[name]))


def episode(index: int, source: str, real: bool = False, change=lambda recorded: recorded, **attributes) -> Episode:
    """Return an episode as the generator writes it: actions one step ahead of the object's path."""
    object_class, demo = sorting(index)
    recorded: PickRecord = change(record(demo, np.random.default_rng(index), noise=0.0))
    rot6d = rot6d_from_matrix(matrix_from_quat(recorded.wrist_quat_b))
    actions = np.concatenate([recorded.wrist_pos_b, rot6d, recorded.hand_joint_pos], axis=1).astype(np.float32)
    steps = len(actions)
    clock = np.clip(np.arange(steps) - 40 - 1, 0, len(demo) - 1)  # the object that the action of one step ago is for
    pos, quat = demo.object_pos_b[clock], yaw_quat(demo.object_yaw[clock])
    states = np.concatenate(
        [
            *(pos if name == object_class else np.zeros((steps, 3)) for name in BIN),
            *(quat if name == object_class else np.tile([0.0, 0.0, 0.0, 1.0], (steps, 1)) for name in BIN),
            np.tile(BIN[object_class], (steps, 1)),
        ],
        axis=1,
    )
    dones = np.zeros(steps, np.int64)
    dones[-1] = 1
    told = {"object_class": object_class, "belt_speed": float(demo.belt_velocity_b[1])}
    return Episode(
        actions=actions,
        obs={"joint_pos": np.zeros((steps, 23), np.float32)},
        states=np.zeros((steps, 0), np.float32) if real else states.astype(np.float32),
        state_names=() if real else STATES,
        commands={"joint_pos_target": np.zeros((steps, 23), np.float32), "followable": np.ones(steps, bool)},
        rewards=np.zeros(steps, np.float32),
        dones=dones,
        success=True,
        source_demo=source,
        attributes=attributes if real else told | attributes,
    )


@pytest.fixture
def write(tmp_path, header):
    def write(episodes):
        with DatasetWriter(tmp_path / "set.hdf5", header) as writer:
            for one in episodes:
                writer.add(one)
        return tmp_path / "set.hdf5"

    return write


def all_of(behavior) -> dict[str, Demonstration]:
    return {demo.name: demo for _, _, demo in behavior}


@pytest.mark.parametrize("real", [False, True])
def test_episodes_become_demonstrations_with_their_timing(write, real):
    """A real episode tells neither class nor belt nor object: all are found in the motion."""
    path = write([episode(k, f"human_{k}", real) for k in range(6)])
    behavior = behavior_from_dataset(path)
    assert behavior.kind == "grounded" and behavior.provenance["rejected"] == {}
    demos = all_of(behavior)
    assert len(demos) == 6
    for k in range(6):
        object_class, planned = sorting(k)
        demo = demos[f"set_demo_{k}"]
        assert demo in behavior.demos[object_class] + behavior.held_out[object_class]
        assert demo.source == f"human_{k}"
        shift = demo.span(Phase.CLOSE).start - planned.span(Phase.CLOSE).start
        for phase in (Phase.LIFT, Phase.RELEASE):
            assert demo.span(phase).start - planned.span(phase).start == pytest.approx(shift, abs=6)
        lift = planned.span(Phase.LIFT).start
        here = lift + _offset(demo, planned)
        assert np.linalg.norm(demo.object_pos_b[here] - planned.object_pos_b[lift]) < 0.005
        assert demo.object_yaw[here] == pytest.approx(planned.object_yaw[lift], abs=0.02)
        assert np.linalg.norm(demo.belt_velocity_b - planned.belt_velocity_b) < 0.005
        assert quat_angle(demo.wrist_quat_b[here], planned.wrist_quat_b[lift]) < 1e-3


def _offset(demo: Demonstration, planned: Demonstration) -> int:
    """Return where the demonstration's first step is in the plan, by the wrist's path; negated."""
    away = np.linalg.norm(planned.wrist_pos_b - demo.wrist_pos_b[10], axis=1)
    return 10 - int(away.argmin())


def test_b48_two_picks_lifted_too_little_are_told_one_by_one(write):
    def low(recorded: PickRecord) -> PickRecord:
        pos = recorded.wrist_pos_b.copy()
        grasp = 40 + sorting(int(recorded.name.removeprefix("demo_")))[1].span(Phase.CLOSE).start
        pos[grasp:, 2] = np.minimum(pos[grasp:, 2], pos[grasp, 2] + 0.19)
        return replace(recorded, wrist_pos_b=pos)

    path = write([episode(k, f"human_{k}", change=low) for k in range(2)])
    with pytest.raises(RecordingError) as refused:
        behavior_from_dataset(path, rules=PickRules(min_lift_m=0.2))
    assert str(refused.value) == (
        f"{path}: 0 of 2 picks kept, none of class box, round "
        "(demo_0: lift_height 0.190 < 0.200 m; demo_1: lift_height 0.190 < 0.200 m)"
    )
    assert len(all_of(behavior_from_dataset(path))) == 2


def test_what_is_left_out_is_named_in_the_provenance(write):
    def lost(recorded: PickRecord) -> PickRecord:
        return replace(recorded, hand_joint_pos=np.tile(recorded.hand_joint_pos[:1], (len(recorded.hand_joint_pos), 1)))

    failed = replace(episode(2, "human_2"), success=False)
    path = write([episode(0, "human_0"), episode(1, "human_1"), failed, episode(3, "human_3", change=lost)])
    behavior = behavior_from_dataset(path)
    assert sorted(all_of(behavior)) == ["set_demo_0", "set_demo_1"]
    assert behavior.provenance["rejected"] == {
        "demo_2": "success 0.000 < 1.000",
        "demo_3": "closing 0.000 < 0.500 rad",
    }
    assert behavior.provenance["dataset"] == "set.hdf5" and len(behavior.provenance["sha256"]) == 64


def test_pushed_episodes_are_no_demonstrations(write):
    pushed = episode(2, "human_2")
    disturbed = np.zeros(len(pushed), bool)
    disturbed[80:92] = True
    pushed = replace(pushed, commands=pushed.commands | {"tracked": ~disturbed & True, "disturbed": disturbed})
    whole = [
        replace(e, commands=e.commands | {k: np.full(len(e), k == "tracked") for k in ("tracked", "disturbed")})
        for e in (episode(0, "human_0"), episode(1, "human_1"))
    ]
    behavior = behavior_from_dataset(write([*whole, pushed]))
    assert behavior.provenance["rejected"] == {"demo_2": "tracking_gap 0.400 > 0.300 s"}


def test_b68_copies_of_one_demonstration_stay_on_one_side(write):
    path = write([episode(k % 4, f"human_{k % 4}") for k in range(8)])
    behavior = behavior_from_dataset(path, held_out_fraction=0.5, seed=1)
    for object_class in BIN:
        sides = [{demo.source for demo in group[object_class]} for group in (behavior.demos, behavior.held_out)]
        assert len(sides[0]) == len(sides[1]) == 1 and not sides[0] & sides[1]
        assert len(behavior.demos[object_class]) == len(behavior.held_out[object_class]) == 2


def test_replayed_behavior_survives_its_folder(write, tmp_path):
    behavior = behavior_from_dataset(write([episode(k, f"human_{k}") for k in range(2)]))
    behavior.save(tmp_path / "behavior")
    assert type(behavior).load(tmp_path / "behavior").sha256() == behavior.sha256()
