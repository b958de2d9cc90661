"""Pictures read from their places in the file are those that HDF5 reads, however they are stored."""

import h5py
import numpy as np
import pytest

from r2s2r.contracts.errors import DatasetError
from r2s2r_policies.frames import DEFLATED, OTHER, RAW, PictureTable

SHAPE = (6, 8, 8, 3)
ONE = (1, *SHAPE[1:])


def pictures(rng) -> np.ndarray:
    frames = np.zeros(SHAPE, np.uint8)
    frames[::2] = rng.integers(0, 256, (3, *SHAPE[1:]))  # noise, which does not shrink, between black
    return frames


def check(path, frames, storages: set[int], rows: slice = slice(None)) -> None:
    with h5py.File(path, "r", locking=False) as file:
        table = PictureTable(path, [file["first"], file["second"]], [rows, slice(None)])
        assert set(table._storage.tolist()) == storages
        expected = np.concatenate([frames[rows], frames[::-1]])
        out = np.empty(SHAPE[1:], np.uint8)
        if not table.keeps_hdf5:
            file.close()
        for row in reversed(range(len(expected))):
            table.read(row, out)
            np.testing.assert_array_equal(out, expected[row])
        table.close()


@pytest.mark.parametrize(
    ("options", "storages"),
    [
        ({}, {RAW}),
        ({"chunks": ONE}, {RAW}),
        ({"chunks": ONE, "compression": "gzip"}, {DEFLATED}),
        ({"chunks": ONE, "compression": "gzip", "shuffle": True}, {OTHER}),
        ({"chunks": ONE, "compression": "lzf"}, {OTHER}),
        ({"chunks": (2, 4, 8, 3), "compression": "gzip"}, {OTHER}),
    ],
)
def test_every_storage_gives_the_same_pictures(options, storages, rng, tmp_path):
    frames, path = pictures(rng), tmp_path / "set.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("first", data=frames, **options)
        file.create_dataset("second", data=frames[::-1], **options)
    check(path, frames, storages)
    check(path, frames, storages, rows=slice(2, None))


def test_chunks_that_were_stored_without_the_filter(rng, tmp_path):
    frames, path = pictures(rng), tmp_path / "set.hdf5"
    with h5py.File(path, "w") as file:
        for name, content in (("first", frames), ("second", frames[::-1])):
            stored = file.create_dataset(name, SHAPE, np.uint8, chunks=ONE, compression="gzip")
            stored[...] = content
            stored.id.write_direct_chunk((0, 0, 0, 0), content[0].tobytes(), filter_mask=1)
    check(path, frames, {RAW, DEFLATED})


def test_virtual_pictures_and_those_never_written_are_left_to_hdf5(rng, tmp_path):
    frames, path = pictures(rng), tmp_path / "set.hdf5"
    frames[4:] = 9
    with h5py.File(path, "w") as file:
        sparse = file.create_dataset("first", SHAPE, np.uint8, chunks=ONE, compression="gzip", fillvalue=9)
        sparse[:4] = frames[:4]
        layout = h5py.VirtualLayout(SHAPE, np.uint8)
        layout[...] = h5py.VirtualSource(".", "shown", SHAPE)[...]
        file.create_dataset("shown", data=frames[::-1])
        file.create_virtual_dataset("second", layout)
    check(path, frames, {DEFLATED, OTHER})


def test_a_user_block_shifts_nothing(rng, tmp_path):
    frames, path = pictures(rng), tmp_path / "set.hdf5"
    with h5py.File(path, "w", userblock_size=1024) as file:
        file.create_dataset("first", data=frames)
        file.create_dataset("second", data=frames[::-1])
    check(path, frames, {OTHER})


def test_a_damaged_picture_is_named(rng, tmp_path):
    frames, path = pictures(rng), tmp_path / "set.hdf5"
    with h5py.File(path, "w") as file:
        stored = file.create_dataset("first", data=frames, chunks=ONE, compression="gzip")
        place = stored.id.get_chunk_info(2).byte_offset
    with open(path, "r+b") as raw:
        raw.seek(place + 5)
        raw.write(b"\xff" * 8)
    with h5py.File(path, "r", locking=False) as file:
        table = PictureTable(path, [file["first"]], [slice(1, None)])
        with pytest.raises(DatasetError, match="picture /first row 2 is damaged"):
            table.read(1, np.empty(SHAPE[1:], np.uint8))
        table.close()


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        ((6, 8, 8, 3), np.float32, "float32"),
        ((6, 3, 8, 8), np.uint8, "to_uint8_hwc"),
        ((6, 4, 8, 3), np.uint8, "several"),
    ],
)
def test_other_pictures_are_refused(shape, dtype, message, tmp_path):
    with h5py.File(tmp_path / "set.hdf5", "w") as file:
        arrays = [file.create_dataset("first", SHAPE, np.uint8), file.create_dataset("second", shape, dtype)]
        with pytest.raises(DatasetError, match=message):
            PictureTable(tmp_path / "set.hdf5", arrays, [slice(None)] * 2)
