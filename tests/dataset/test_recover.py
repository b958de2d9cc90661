"""Recovery: what is intact is kept, what is not is named, the original stays."""

import h5py
import numpy as np
import pytest

from r2s2r.contracts.errors import DatasetError
from r2s2r.contracts.files import file_sha256
from r2s2r.dataset.hdf5_file import open_damaged
from r2s2r.dataset.parts import parts_folder
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.recover import recover
from r2s2r.dataset.validate import validate
from r2s2r.dataset.writer import DatasetWriter


@pytest.mark.parametrize("share", [0.7, 0.3, 0.95])
def test_b52_of_a_cut_off_file_every_episode_before_the_cut_is_saved(tmp_path, make_dataset, make_episode, share):
    path = make_dataset(count=40, size=24).path
    with h5py.File(path) as file:
        starts = [file[f"data/demo_{i}/actions"].id.get_offset() for i in range(40)]
    whole = path.read_bytes()
    cut = int(share * len(whole))
    path.write_bytes(whole[:cut])
    before = file_sha256(path)
    recovery = recover(path, tmp_path / "saved.hdf5")
    # An episode ends where the next begins.
    assert recovery.kept == [f"demo_{i}" for i, end in enumerate(starts[1:]) if end <= cut]
    assert len(recovery.kept) > share * 40 - 5  # the tables in front take the room of four such small episodes
    assert len(recovery.kept) + len(recovery.lost) == 40
    assert file_sha256(path) == before
    assert validate(tmp_path / "saved.hdf5", contents=True) == []
    with DatasetReader(tmp_path / "saved.hdf5") as reader:
        for index, episode in enumerate(reader):
            np.testing.assert_array_equal(episode.obs["wrist_rgb"], make_episode(index, size=24).obs["wrist_rgb"])


def test_an_intact_file_is_recovered_to_the_same_content(tmp_path, make_dataset):
    path = make_dataset().path
    recovery = recover(path, tmp_path / "saved.hdf5")
    assert not recovery.lost and validate(tmp_path / "saved.hdf5", contents=True) == []


def test_bytes_changed_inside_are_noticed_and_the_episode_left_out(tmp_path, make_dataset):
    path = make_dataset(count=6).path
    with h5py.File(path, "a") as file:
        file["data/demo_3/actions"][2, 0] += 0.001
    problems = validate(path, contents=True)
    assert [problem.where for problem in problems] == ["data/demo_3"] and "checksum" in problems[0].what
    assert validate(path) == []
    recovery = recover(path, tmp_path / "saved.hdf5")
    assert list(recovery.lost) == ["demo_3"]
    with DatasetReader(tmp_path / "saved.hdf5") as reader:
        assert reader.gaps == [3] and reader[4].rewards[0] == 4
    assert validate(tmp_path / "saved.hdf5", contents=True) == []


def test_a_damaged_part_is_lost_alone(tmp_path, header, make_episode):
    path = tmp_path / "set.hdf5"
    writer = DatasetWriter(path, header)
    for index in range(3):
        writer.add(make_episode(index))
    writer.close()
    part = parts_folder(path) / "demo_1.hdf5"
    part.write_bytes(part.read_bytes()[:2000])
    recovery = recover(path, tmp_path / "saved.hdf5")
    assert recovery.kept == ["demo_0", "demo_2"] and "cut off at 2000" in recovery.lost["demo_1"]
    assert "not finished: 3 episodes" in validate(path)[0].what


def test_what_cannot_be_recovered_is_told(tmp_path, make_dataset):
    path = make_dataset().path
    with pytest.raises(DatasetError, match="exists; recovery never replaces"):
        recover(path, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:200])
    with pytest.raises(DatasetError, match="table of contents is lost"):
        recover(path, tmp_path / "saved.hdf5")
    with pytest.raises(DatasetError, match="no such file"):
        recover(tmp_path / "nothing.hdf5", tmp_path / "saved.hdf5")
    assert not (tmp_path / "saved.hdf5").exists()


def test_padding_reads_zeros_behind_the_end_and_leaves_the_file(tmp_path):
    path = tmp_path / "plain.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(10_000, dtype=np.int64))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40_000])
    with open_damaged(path) as file:
        found = file["x"][()]
    known = np.count_nonzero(found) + 1
    np.testing.assert_array_equal(found[:known], np.arange(known))
    assert 4_900 <= known <= 5_100 and path.stat().st_size == len(whole) - 40_000
