"""Beginning a job, taking it up again, and what is refused before anything long is begun."""

from dataclasses import replace

import pytest

from r2s2r.behavior.behavior import Behavior
from r2s2r.behavior.operator import OperatorModel
from r2s2r.contracts.errors import ConfigError, DatasetError, RecordingError
from r2s2r.contracts.world import World
from r2s2r.generation.begin import begin
from r2s2r.generation.command import GenerationRun
from r2s2r.generation.job import GenerationJob
from r2s2r.world.world_file import read_world

WORLD = World.nominal()


def _begin(folder, **changes):
    settings = {
        "world": WORLD,
        "behavior": "grounded",
        "resume": False,
        "episodes": 6,
        "conditions": ("nominal",),
        "num_envs": 4,
        "seed": 0,
        "picture_size": 64,
        "push_share": 0.1,
    }
    return begin(folder, **{**settings, **changes})


@pytest.fixture
def behavior(tmp_path, demos) -> Behavior:
    made = Behavior("mine", demos, {"box": (), "round": ()})
    made.save(tmp_path / "mine")
    return made


@pytest.fixture(scope="module")
def demos():
    import numpy as np

    from r2s2r.behavior.grasp import GraspGeometry
    from r2s2r.behavior.pick_plan import OperatorScene

    scene = OperatorScene(
        object_pos_b=np.array([0.52, -0.32, 0.135]),
        object_yaw=0.0,
        belt_velocity_b=np.array([0.0, 0.1, 0.0]),
        bin_pos_b=np.array([0.12, 0.5, 0.0]),
        wrist_pos_b=np.array([0.42, -0.12, 0.42]),
        wrist_quat_b=GraspGeometry().wrist_quat_b(0.3),
    )
    made = [OperatorModel().demonstrate(scene, np.random.default_rng(k), f"demonstration_{k}") for k in range(2)]
    return {"box": (made[0],), "round": (made[1],)}


def test_what_was_begun_is_in_the_folder_and_can_be_taken_up(tmp_path):
    job = _begin(tmp_path / "job")
    assert GenerationJob.load(tmp_path / "job") == job
    assert read_world(tmp_path / "job" / "world.yaml").to_dict() == WORLD.to_dict()
    assert _begin(tmp_path / "job", resume=True) == job


def test_a_folder_that_holds_a_job_is_not_overwritten(tmp_path):
    _begin(tmp_path / "job")
    with pytest.raises(DatasetError, match="--resume goes on with it"):
        _begin(tmp_path / "job")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"episodes": 8}, "episodes"),
        ({"num_envs": 8}, "num_envs"),
        ({"behavior": "ungrounded"}, "behavior"),
        ({"world": WORLD.combine(replace(WORLD, hand=replace(WORLD.hand, delay_s=(0.01,) * 16)), ("hand",))}, "world"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path, changes, told):
    _begin(tmp_path / "job")
    with pytest.raises(ConfigError, match=told):
        _begin(tmp_path / "job", resume=True, **changes)


def test_a_given_behavior_is_copied_and_known_by_its_checksum(tmp_path, behavior):
    job = _begin(tmp_path / "job", behavior=str(tmp_path / "mine"))
    assert job.behavior == behavior.sha256()
    assert Behavior.load(tmp_path / "job" / "behavior").sha256() == behavior.sha256()
    assert _begin(tmp_path / "job", behavior=str(tmp_path / "mine"), resume=True) == job


def test_a_damaged_behavior_is_refused_and_nothing_is_begun(tmp_path, behavior):
    next((tmp_path / "mine").glob("demos_*.npz")).write_bytes(b"")
    with pytest.raises(RecordingError, match="damaged"):
        _begin(tmp_path / "job", behavior=str(tmp_path / "mine"))
    assert not (tmp_path / "job" / "job.json").exists()
    with pytest.raises(ConfigError, match="allowed are grounded, ungrounded"):
        _begin(tmp_path / "job", behavior=str(tmp_path / "nowhere"))


def test_more_than_the_disk_holds_is_refused_at_once(tmp_path):
    run = GenerationRun(workers=1, device="cpu", resume=False, say=print)
    settings = {
        "world": WORLD,
        "behavior": "grounded",
        "episodes": 10_000_000,
        "conditions": ("nominal",),
        "num_envs": 4,
        "seed": 0,
        "picture_size": 256,
        "push_share": 0.0,
    }
    with pytest.raises(DatasetError, match="are free"):
        run.begin(tmp_path / "job", **settings)
    assert not (tmp_path / "job").exists()
