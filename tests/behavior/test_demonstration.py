"""Demonstrations: what they refuse and what survives the file."""

import dataclasses
import json

import numpy as np
import pytest

from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.contracts.files import file_sha256
from r2s2r.contracts.joints import HAND_JOINTS

STEPS = 12


def demonstration(**changes):
    rng = np.random.default_rng(7)
    quat = rng.normal(size=(STEPS, 4))
    fields = {
        "name": "d0",
        "wrist_pos_b": rng.normal(size=(STEPS, 3)),
        "wrist_quat_b": quat / np.linalg.norm(quat, axis=1, keepdims=True),
        "hand_joint_pos": rng.normal(size=(STEPS, 16)),
        "phase": np.repeat(list(Phase), 2),
        "object_pos_b": rng.normal(size=(STEPS, 3)),
        "object_yaw": rng.normal(size=STEPS),
        "belt_velocity_b": np.array([0.0, 0.1, 0.0]),
        "bin_pos_b": np.array([0.1, 0.5, 0.0]),
        "tracked": np.arange(STEPS) != 4,
        "provenance": {"seed": 3},
    }
    return Demonstration(**(fields | changes))


def rewrite(path, header_change=None, **array_changes):
    """Write the file at `path` again with another header or other arrays."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files} | array_changes
    header = json.loads(str(arrays["header"]))
    for key, value in (header_change or {}).items():
        header.pop(key) if value is None else header.__setitem__(key, value)
    np.savez(path, **(arrays | {"header": np.array(json.dumps(header))}))


def test_file_round_trip_is_exact(tmp_path):
    demo = demonstration()
    demo.save(tmp_path / "d.npz")
    back = Demonstration.load(tmp_path / "d.npz")
    arrays = ("wrist_pos_b", "wrist_quat_b", "hand_joint_pos", "phase", "object_pos_b", "object_yaw", "bin_pos_b")
    for name in (*arrays, "belt_velocity_b", "tracked"):
        assert np.array_equal(getattr(demo, name), getattr(back, name))
        assert getattr(demo, name).dtype == getattr(back, name).dtype
    assert (back.name, back.rate_hz, back.provenance) == ("d0", 30.0, {"seed": 3})


def test_same_demonstration_same_bytes(tmp_path):
    demonstration().save(tmp_path / "a.npz")
    demonstration().save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_checksum_is_that_of_the_file_and_tells_changes(tmp_path):
    demonstration().save(tmp_path / "a.npz")
    assert demonstration().sha256() == file_sha256(tmp_path / "a.npz")
    transposed = demonstration(hand_joint_pos=np.asfortranarray(demonstration().hand_joint_pos))
    assert transposed.sha256() == demonstration().sha256()
    changed = demonstration(tracked=np.arange(STEPS) != 5)
    assert changed.sha256() != demonstration().sha256()


def test_all_steps_count_as_tracked_unless_told_otherwise():
    fields = {f.name: getattr(demonstration(), f.name) for f in dataclasses.fields(Demonstration)}
    del fields["tracked"]
    assert Demonstration(**fields).tracked.tolist() == [True] * STEPS


def test_file_of_version_1_is_all_tracked(tmp_path):
    path = tmp_path / "d.npz"
    demonstration().save(path)
    rewrite(path, {"format_version": 1})
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "tracked"}
    np.savez(path, **arrays)
    assert Demonstration.load(path).tracked.all()
    rewrite(path, {"format_version": 2})
    with pytest.raises(RecordingError, match="tracked missing"):
        Demonstration.load(path)
    rewrite(path, {"format_version": 3})
    with pytest.raises(ConfigError, match="format 3, this reads 1 to 2"):
        Demonstration.load(path)


def test_an_adapted_demonstration_names_its_source():
    assert demonstration().source == "d0"
    assert demonstration(provenance={"source_demo": "human_7"}).source == "human_7"


def test_spans_cover_all_steps_in_order():
    demo = demonstration(phase=np.array([0] * 5 + [1] * 3 + [4] * 4))
    assert [demo.span(phase) for phase in (Phase.APPROACH, Phase.CLOSE, Phase.RELEASE)] == [
        slice(0, 5),
        slice(5, 8),
        slice(8, 12),
    ]
    lift = demo.span(Phase.LIFT)
    assert lift.start == lift.stop


def test_b46_another_action_space_is_an_error(tmp_path):
    path = tmp_path / "d.npz"
    demonstration().save(path)
    rewrite(path, {"action_space": "joint_pos"})
    with pytest.raises(ConfigError, match=r"'joint_pos', expected 'wrist_pose_b\+hand_joint_pos'"):
        Demonstration.load(path)


def test_b49_quaternion_order_is_checked_not_guessed(tmp_path):
    path = tmp_path / "d.npz"
    demonstration().save(path)
    rewrite(path, {"quaternion_order": None})
    with pytest.raises(ConfigError, match="the tag quaternion_order is missing"):
        Demonstration.load(path)
    rewrite(path, {"quaternion_order": "wxyz"})
    with pytest.raises(ConfigError, match="order 'wxyz', expected 'xyzw'"):
        Demonstration.load(path)


def test_b50_joint_order_is_mapped_by_name(tmp_path):
    demo, path = demonstration(), tmp_path / "d.npz"
    demo.save(path)
    order = np.random.default_rng(1).permutation(16)
    shuffled = [HAND_JOINTS[k] for k in order]
    rewrite(path, {"hand_joint_names": shuffled}, hand_joint_pos=demo.hand_joint_pos[:, order])
    assert np.array_equal(Demonstration.load(path).hand_joint_pos, demo.hand_joint_pos)
    rewrite(path, {"hand_joint_names": [HAND_JOINTS[0], *HAND_JOINTS[:15]]})
    with pytest.raises(ConfigError, match="'hand_joint_0' comes twice"):
        Demonstration.load(path)


def test_missing_cut_and_foreign_files_are_one_line(tmp_path):
    path = tmp_path / "d.npz"
    with pytest.raises(RecordingError, match="there is no such file"):
        Demonstration.load(path)
    demonstration().save(path)
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(RecordingError, match="damaged"):
        Demonstration.load(path)
    np.savez(path, other=np.zeros(2))
    with pytest.raises(RecordingError, match="header missing"):
        Demonstration.load(path)
    np.savez(path, header=np.array("{"))
    with pytest.raises(RecordingError, match="the header is not JSON"):
        Demonstration.load(path)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"wrist_pos_b": np.zeros((STEPS, 2))}, r"wrist_pos_b has shape \(12, 2\), expected \(12, 3\)"),
        ({"hand_joint_pos": np.full((STEPS, 16), np.nan)}, "hand_joint_pos is not finite in step 0"),
        ({"wrist_quat_b": np.ones((STEPS, 4))}, "must hold unit quaternions"),
        ({"phase": np.repeat([0, 2, 1], 4)}, "must never step back"),
        ({"phase": np.full(STEPS, 6)}, "hold only 0..5"),
        ({"tracked": np.ones(STEPS - 1, bool)}, r"tracked has shape \(11,\), expected \(12,\)"),
        ({"tracked": np.full(STEPS, 0.5)}, "tracked has type float64, expected bool"),
        ({"rate_hz": 0.0}, "rate_hz is 0.0"),
        ({"phase": np.zeros(1)}, "1 steps, at least 2"),
    ],
)
def test_bad_values_are_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        demonstration(**changes)
