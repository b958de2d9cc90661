"""Pictures: one stored type, explicit conversions, and no shift against the states."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset.images import frame_step_problem, to_uint8_hwc
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.writer import DatasetWriter

PICTURES = hnp.arrays(np.uint8, st.tuples(st.just(2), st.integers(4, 6), st.integers(4, 6), st.just(3)))


@settings(deadline=None)  # other work may share the cores
@given(PICTURES)
def test_b69_uint8_float_and_channel_first_give_the_same_bytes(picture):
    # uint8 -> float32 / 255 -> uint8 is exact: the rounding error is far below half a level.
    variants = [picture, picture / np.float32(255), np.moveaxis(picture, -1, -3), np.moveaxis(picture / 255, -1, -3)]
    for variant in variants:
        converted = to_uint8_hwc(variant)
        assert converted.dtype == np.uint8
        np.testing.assert_array_equal(converted, picture)


@pytest.mark.parametrize(
    ("picture", "told"),
    [
        (np.full((4, 4, 3), 200.0), "from 0 to 200, allowed is 0 to 1"),
        (np.full((4, 4, 3), -0.1), "from -0.1 to 0, allowed is 0 to 1"),
        (np.full((4, 4, 3), np.nan), "allowed is 0 to 1"),
        (np.zeros((4, 4, 3), np.int32), "type int32"),
        (np.zeros((4, 4, 4), np.uint8), "shape"),
        (np.zeros((4, 4), np.uint8), "shape"),
    ],
)
def test_b69_other_ranges_types_and_shapes_are_refused(picture, told):
    with pytest.raises(DatasetError, match=told):
        to_uint8_hwc(picture, "head_rgb")


def test_b69_red_stays_red_through_the_file(tmp_path, header, make_episode):
    episode = make_episode()
    red = np.zeros_like(episode.obs["head_rgb"])
    red[:, 4:8, 4:8, 0] = 255
    with DatasetWriter(tmp_path / "set.hdf5", header) as writer:
        writer.add(replace(episode, obs=episode.obs | {"head_rgb": red}))
    with DatasetReader(tmp_path / "set.hdf5") as reader:
        np.testing.assert_array_equal(reader[0].obs["head_rgb"], red)


@pytest.mark.parametrize("change", [lambda x: x / np.float32(255), lambda x: np.moveaxis(x, -1, 1)])
def test_b69_writer_takes_only_the_stored_kind(tmp_path, header, make_episode, change):
    episode = make_episode()
    wrong = replace(episode, obs=episode.obs | {"head_rgb": change(episode.obs["head_rgb"])})
    with pytest.raises(DatasetError, match="obs/head_rgb: pictures of .* allowed: uint8"):
        DatasetWriter(tmp_path / "set.hdf5", header).add(wrong)


def test_b64_pictures_and_states_share_their_step(tmp_path, header, make_episode):
    steps = np.arange(50)
    with DatasetWriter(tmp_path / "set.hdf5", header) as writer:
        for index in range(3):
            episode = make_episode(index, steps=50)
            writer.add(replace(episode, commands=episode.commands | {"frame_step": steps}))
    with DatasetReader(tmp_path / "set.hdf5") as reader:
        for episode in reader:
            np.testing.assert_array_equal(episode.obs["head_rgb"][:, 0, 0, 0], episode.states[:, 0])


def test_b64_one_frame_shift_is_refused(tmp_path, header, make_episode):
    episode = make_episode(steps=50)
    late = np.concatenate([[0], np.arange(49)])
    writer = DatasetWriter(tmp_path / "set.hdf5", header)
    with pytest.raises(DatasetError, match="offset 1 in 49 of 50 rows, first in row 1"):
        writer.add(replace(episode, commands=episode.commands | {"frame_step": late}))


def test_b64_a_frame_of_the_episode_before_is_told():
    problem = frame_step_problem(np.array([299, 1, 2]), np.array([0, 1, 2]), "demo_1/frame_step")
    assert problem is not None and "offset -299 in 1 of 3 rows, first in row 0" in problem.what
