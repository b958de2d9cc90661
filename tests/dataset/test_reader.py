"""The reader: natural order, names instead of positions, no untagged numbers."""

import json
import logging
from dataclasses import fields

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2s2r.contracts.action import ACTION_NAMES
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.joints import ROBOT_JOINTS
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.schema import natural_order
from r2s2r.dataset.summary import summarize
from r2s2r.dataset.validate import validate


def assert_equal(one, other):
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, dict) and field.name != "attributes":
            assert a.keys() == b.keys()
            for key in a:
                np.testing.assert_array_equal(a[key], b[key])
        elif isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
        else:
            assert a == b


def test_episodes_come_back_as_they_were(make_dataset, make_episode):
    written = make_dataset(count=4, seed=3, belt_speed=0.125, shifted=False)
    with DatasetReader(written.path) as reader:
        for index, episode in enumerate(reader):
            given = make_episode(index, source=f"human_{index % 3}", seed=3, belt_speed=0.125, shifted=False)
            assert_equal(episode, given)
            assert all(type(value) is type(given.attributes[key]) for key, value in episode.attributes.items())


def test_b24_a_data_set_of_another_hand_is_refused(make_dataset):
    # The row's input: recorded with one variant of the hand, loaded with another.
    written = make_dataset()
    with DatasetReader(written.path, hand_variant="allegro_v4_right") as reader:
        assert reader.header.hand_variant == "allegro_v4_right"
    message = "recorded with the hand 'allegro_v4_right', read for 'allegro_v5_right'; their fingertips differ"
    with pytest.raises(DatasetError, match=message):
        DatasetReader(written.path, hand_variant="allegro_v5_right")
    with h5py.File(written.path, "a") as file:
        del file["data"].attrs["hand_variant"]  # as data sets before there was a second hand
    with DatasetReader(written.path) as reader:
        assert reader.header.hand_variant == "allegro_v4_right"


def test_b54_index_is_the_number_of_the_episode(make_dataset):
    written = make_dataset(count=12, sources=12)
    with DatasetReader(written.path) as reader:
        assert reader.names == [f"demo_{i}" for i in range(12)]
        assert reader[2].rewards[0] == 2 and reader[10].rewards[0] == 10
        split = reader.mask("train") + reader.mask("valid")
        assert natural_order(split) == reader.names
        assert reader.mask("train") == natural_order(reader.mask("train"))


def test_b54_a_missing_episode_is_reported_and_the_others_keep_their_numbers(make_dataset, caplog):
    written = make_dataset(count=12)
    with h5py.File(written.path, "a") as file:
        del file["data/demo_7"]
    with caplog.at_level(logging.WARNING), DatasetReader(written.path) as reader:
        assert reader.gaps == [7]
        assert [int(reader[i].rewards[0]) for i in reader.numbers] == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
        with pytest.raises(DatasetError, match="no demo_7"):
            reader[7]
    assert "no demo_7; the others keep their numbers" in caplog.text
    assert summarize(written.path)["missing_numbers"] == [7]


@settings(deadline=None)  # other work may share the cores
@given(st.sets(st.integers(0, 2000), max_size=30))
def test_b54_natural_order_is_numeric(numbers):
    names = [f"demo_{number}" for number in numbers]
    assert natural_order([*names, "demo_01", "mask", "demo_x"]) == [f"demo_{number}" for number in sorted(numbers)]


def test_b46_actions_of_another_space_are_refused_naming_both(make_dataset):
    path = make_dataset().path
    with h5py.File(path, "a") as file:
        file["data"].attrs["action_space"] = "joint_pos"
    with pytest.raises(ConfigError, match=r"'joint_pos', expected 'wrist_pose_b\+hand_joint_pos'; convert"):
        DatasetReader(path)
    assert any("action_space is 'joint_pos'" in problem.what for problem in validate(path))


@pytest.mark.parametrize("tag", ["quaternion_order", "format_version", "action_space", "rotation_layout"])
def test_b49_an_untagged_file_is_refused_not_guessed(make_dataset, tag):
    path = make_dataset().path
    with h5py.File(path, "a") as file:
        del file["data"].attrs[tag]
    with pytest.raises(DatasetError, match=f"data has no attribute '{tag}'"):
        DatasetReader(path)
    assert [problem.what for problem in validate(path)] == [f"not tagged: attributes {tag} are missing"]


@pytest.mark.parametrize(
    ("tag", "value", "told"),
    [
        ("quaternion_order", "wxyz", "quaternion_order 'wxyz', expected 'xyzw'; convert"),
        ("rotation_layout", "rot6d_rows", "rotation_layout 'rot6d_rows', expected"),
        ("format_version", 99, "format version 99, this program reads 1"),
        ("provenance", "{", "attribute 'provenance' of data is not JSON"),
    ],
)
def test_b49_another_convention_is_refused(make_dataset, tag, value, told):
    path = make_dataset().path
    with h5py.File(path, "a") as file:
        file["data"].attrs[tag] = value
    with pytest.raises(DatasetError, match=told):
        DatasetReader(path)


def test_b50_joint_order_is_mapped_by_name(make_dataset, make_episode, caplog):
    path = make_dataset(count=2).path
    rng = np.random.default_rng(1)
    joints, actions = rng.permutation(23), rng.permutation(25)
    with h5py.File(path, "a") as file:
        for demo in file["data"].values():
            for key in ("obs/joint_pos", "next_obs/joint_pos", "commands/joint_pos_target"):
                demo[key][...] = demo[key][()][:, joints]
            demo["actions"][...] = demo["actions"][()][:, actions]
        file["data"].attrs["joint_names"] = json.dumps([ROBOT_JOINTS[i] for i in joints])
        file["data"].attrs["action_names"] = json.dumps([ACTION_NAMES[i] for i in actions])
    with caplog.at_level(logging.WARNING), DatasetReader(path) as reader:
        for index, episode in enumerate(reader):
            assert_equal(episode, make_episode(index, source=f"human_{index}"))
    assert "mapped by name" in caplog.text


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([*ROBOT_JOINTS[:-1], "joint1"], "'joint1' comes twice|joints missing"),
        ([*ROBOT_JOINTS[:-1], "wheel"], "joints missing: hand_joint_15"),
    ],
)
def test_b50_a_joint_named_twice_or_missing_is_refused(make_dataset, names, told):
    path = make_dataset().path
    with h5py.File(path, "a") as file:
        file["data"].attrs["joint_names"] = json.dumps(names)
    with DatasetReader(path) as reader, pytest.raises(ConfigError, match=told):
        reader[0]


def test_a_file_that_is_missing_foreign_or_cut_off_is_told_in_one_line(tmp_path, make_dataset):
    with pytest.raises(DatasetError, match="no such file; give the path"):
        DatasetReader(tmp_path / "nothing.hdf5")
    (tmp_path / "text.hdf5").write_text("not HDF5")
    with pytest.raises(DatasetError, match="not an HDF5 file"):
        DatasetReader(tmp_path / "text.hdf5")
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["x"] = 1
    with pytest.raises(DatasetError, match="no group 'data'"):
        DatasetReader(tmp_path / "other.hdf5")
    path = make_dataset().path
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DatasetError, match=r"cut off at \d+ of \d+ bytes; .*--recover OUT") as caught:
        DatasetReader(path)
    assert "\n" not in str(caught.value)


def test_episodes_come_without_pictures_if_none_are_asked_for(make_dataset):
    path = make_dataset(2).path
    with DatasetReader(path) as whole, DatasetReader(path, pictures=False) as blind:
        assert set(whole[1].obs) - set(blind[1].obs) == {"head_rgb", "wrist_rgb"}
        np.testing.assert_array_equal(blind[1].obs["joint_pos"], whole[1].obs["joint_pos"])
        np.testing.assert_array_equal(blind[1].actions, whole[1].actions)
