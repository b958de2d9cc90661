"""Behaviors: a seeded split without leaks, and a folder that comes back as it was or is refused by name."""

import json
import zlib

import numpy as np
import pytest

from r2s2r.behavior.behavior import MANIFEST, Behavior, Planner
from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.behavior.operator import OperatorModel
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.files import file_sha256

CLASSES = ("box", "round")


def demonstration(name: str, source: str | None = None) -> Demonstration:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    steps = 12
    quat = rng.normal(size=(steps, 4))
    return Demonstration(
        name=name,
        wrist_pos_b=rng.normal(size=(steps, 3)),
        wrist_quat_b=quat / np.linalg.norm(quat, axis=1, keepdims=True),
        hand_joint_pos=rng.normal(size=(steps, 16)),
        phase=np.repeat(list(Phase), 2),
        object_pos_b=rng.normal(size=(steps, 3)),
        object_yaw=rng.normal(size=steps),
        belt_velocity_b=np.array([0.0, 0.1, 0.0]),
        bin_pos_b=np.array([0.1, 0.5, 0.0]),
        provenance={} if source is None else {"source_demo": source},
    )


def demonstrations(count: int = 10, copies: int = 1) -> dict[str, list[Demonstration]]:
    return {
        c: [demonstration(f"{c}_{k}", f"human_{c}_{k // copies}" if copies > 1 else None) for k in range(count)]
        for c in CLASSES
    }


@pytest.fixture
def behavior() -> Behavior:
    return Behavior.split("grounded", demonstrations(), seed=3, provenance={"from": "test"})


def names(group) -> dict[str, list[str]]:
    return {object_class: [demo.name for demo in demos] for object_class, demos in group.items()}


def test_split_is_a_partition_of_each_class_that_depends_on_the_seed_alone(behavior):
    for c in CLASSES:
        assert sorted(names(behavior.demos)[c] + names(behavior.held_out)[c]) == sorted(f"{c}_{k}" for k in range(10))
        assert len(behavior.held_out[c]) == 2
    again = Behavior.split("grounded", {c: list(reversed(d)) for c, d in demonstrations().items()}, seed=3)
    assert {c: set(n) for c, n in names(again.held_out).items()} == {
        c: set(n) for c, n in names(behavior.held_out).items()
    }
    others = {str(names(Behavior.split("grounded", demonstrations(), seed=s).held_out)) for s in range(5)}
    assert len(others) > 1


def test_b68_copies_of_one_source_stay_on_one_side():
    split = Behavior.split("grounded", demonstrations(12, copies=3), seed=0, held_out_fraction=0.25)
    for c in CLASSES:
        aside = {demo.source for demo in split.held_out[c]}
        assert len(aside) == 1 and len(split.held_out[c]) == 3
        assert not aside & {demo.source for demo in split.demos[c]}
    replayed = {c: [demonstration(f"{c}_a", f"human_{c}")] for c in CLASSES}
    aside = {"box": [], "round": [demonstration("b", "human_box")]}
    with pytest.raises(ConfigError, match="human_box is the source of replayed and held-out ones"):
        Behavior("grounded", replayed, aside)


def test_folder_round_trip_is_exact(behavior, tmp_path):
    behavior.save(tmp_path / "b")
    back = Behavior.load(tmp_path / "b")
    assert (back.kind, back.provenance, back.sha256()) == (behavior.kind, behavior.provenance, behavior.sha256())
    for (group, c, demo), (group_back, c_back, demo_back) in zip(behavior, back, strict=True):
        assert (group, c, demo.content()) == (group_back, c_back, demo_back.content())
    assert behavior.sha256() == file_sha256(tmp_path / "b" / MANIFEST)


def test_checksum_tells_every_part(behavior):
    swapped = Behavior("grounded", behavior.demos, {"box": (), "round": ()}, behavior.provenance)
    renamed = Behavior("other", behavior.demos, behavior.held_out, behavior.provenance)
    assert len({behavior.sha256(), swapped.sha256(), renamed.sha256()}) == 3


def test_nothing_is_overwritten_and_nothing_half_written_stays(behavior, tmp_path, monkeypatch):
    behavior.save(tmp_path / "b")
    with pytest.raises(ConfigError, match="holds something already"):
        behavior.save(tmp_path / "b")
    (tmp_path / "empty").mkdir()
    behavior.save(tmp_path / "empty")
    assert Behavior.load(tmp_path / "empty").sha256() == behavior.sha256()

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(Demonstration, "save", full)
    with pytest.raises(OSError, match="no space"):
        behavior.save(tmp_path / "c")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b", "empty"]


def test_damaged_missing_and_exchanged_files_are_refused_by_name(behavior, tmp_path):
    behavior.save(tmp_path / "b")
    file = tmp_path / "b" / "held_out_round_0001.npz"
    content = file.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for damaged in (bytes(flipped), content[:-1], (tmp_path / "b" / "demos_box_0000.npz").read_bytes()):
        file.write_bytes(damaged)
        with pytest.raises(RecordingError, match=r"held_out_round_0001\.npz is damaged: its checksum"):
            Behavior.load(tmp_path / "b")
    file.unlink()
    with pytest.raises(RecordingError, match=r"held_out_round_0001\.npz is missing"):
        Behavior.load(tmp_path / "b")


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"format_version": 9}, ConfigError, "format 9, this reads 1"),
        ({"kind": None}, RecordingError, "kind missing or damaged"),
        ({"demos": {"box": [{"name": "../x"}], "round": []}}, RecordingError, "demos or held_out missing or damaged"),
        ({"demos": {"../x": []}}, RecordingError, "demos or held_out missing or damaged"),
        ({"held_out": 3}, RecordingError, "held_out missing or damaged"),
    ],
)
def test_bad_manifests_are_one_line(behavior, tmp_path, change, error, message):
    behavior.save(tmp_path / "b")
    path = tmp_path / "b" / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(error, match=message):
        Behavior.load(tmp_path / "b")


def test_no_folder_and_no_json_are_one_line(tmp_path):
    with pytest.raises(RecordingError, match="there is no such file; a behavior is a folder with one"):
        Behavior.load(tmp_path / "nowhere")
    (tmp_path / MANIFEST).write_text("[")
    with pytest.raises(RecordingError, match="damaged or no behavior"):
        Behavior.load(tmp_path)


def test_classes_and_names_are_checked():
    some = demonstrations(1)
    none = {c: () for c in CLASSES}
    with pytest.raises(ConfigError, match="demos of the classes box, expected box, round"):
        Behavior("grounded", {"box": some["box"]}, none)
    with pytest.raises(ConfigError, match="no demonstration of class round"):
        Behavior("grounded", some | {"round": ()}, none)
    with pytest.raises(ConfigError, match="the name box_0 comes twice"):
        Behavior("grounded", some | {"round": some["box"]}, none)


def test_the_operator_is_a_planner():
    planner: Planner = OperatorModel()
    assert callable(planner.demonstrate)
