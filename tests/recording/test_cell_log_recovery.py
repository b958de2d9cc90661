"""Recordings that were killed, cut off or damaged: what is whole is there, the rest is named."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

from r2s2r.cli.main import main
from r2s2r.contracts.cell import Message
from r2s2r.contracts.errors import R2S2RError, RecordingError
from r2s2r.recording.cell_info import info_to_json
from r2s2r.recording.cell_log import Segment
from r2s2r.recording.cell_log_file import (
    CellLogWriter,
    partial_path,
    read_cell_log,
    recover_cell_log,
    write_cell_log,
)
from r2s2r.recording.pictures import decode

from .log_sample import assert_equal, record, sample_info

KILLED = """
import os, signal, sys
import numpy as np
from r2s2r.contracts.cell import Message
from r2s2r.recording.cell_log_file import CellLogWriter
from r2s2r.recording.cell_info import info_from_json
writer = CellLogWriter(sys.argv[1], info_from_json(sys.argv[2]), {"seed": 1})
writer.begin_segment("arm_chirp", 0.0)
for i in range(100):
    writer.append([Message("arm_joint_pos", 0.01 * i, np.full(7, i))])
writer.end_segment(0.995)
writer.begin_segment("hand_steps", 1.0)
writer.append([Message("hand_joint_pos", 1.0, np.arange(16.0))])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_recording_is_there_up_to_its_last_message(tmp_path, capsys):
    path, info = tmp_path / "log.h5", sample_info()
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), info_to_json(info)])
    assert done.returncode == -9 and not path.exists()
    for name in (path, partial_path(path)):
        with pytest.raises(RecordingError, match=r"interrupted; 1\.0 s, 1 whole segments and 0 pictures are there"):
            read_cell_log(name)
        recovered = recover_cell_log(name)
        assert len(recovered.log.streams["arm_joint_pos"].time_s) == 100
        assert recovered.log.streams["hand_joint_pos"].values.tolist() == [list(range(16))]
        assert recovered.log.segments == (Segment("arm_chirp", 0.0, 0.995),)
        assert recovered.log.info == info and recovered.log.provenance == {"seed": 1}
        assert any("'hand_steps', begun at 1.000 s, has no end" in note for note in recovered.notes)
    with pytest.raises(RecordingError, match="an interrupted recording is there"):
        CellLogWriter(path, info)
    saved = tmp_path / "saved.h5"
    assert main(["inspect", str(path), "--recover", str(saved)]) == 2
    assert "'hand_steps', begun at 1.000 s, has no end" in capsys.readouterr().out
    assert_equal(read_cell_log(saved), recovered.log)
    CellLogWriter(path, info, overwrite=True).finish()
    assert read_cell_log(path).streams == {}


def test_an_interrupted_recording_cut_anywhere_gives_what_is_whole(log, tmp_path, rng):
    path = tmp_path / "log.h5"
    writer = CellLogWriter(path, log.info)
    record(writer, log)
    whole, partial = partial_path(path).read_bytes(), partial_path(path)
    total = sum(len(stream.time_s) for stream in log.streams.values())
    before = 0
    for size in sorted(rng.integers(20000, len(whole), 10).tolist()):
        partial.write_bytes(whole[:size])
        recovered = recover_cell_log(partial)
        count = sum(len(stream.time_s) for stream in recovered.log.streams.values())
        assert before <= count <= total
        before = count
        for pictures in recovered.log.pictures.values():
            assert all(decode(png).shape == (48, 64, 3) for png in pictures.png)
    # A bit that flipped ends what is trusted.
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    partial.write_bytes(flipped)
    assert any("no whole record" in note for note in recover_cell_log(path).notes)
    partial.write_bytes(whole[:100])
    with pytest.raises(RecordingError, match="before the cell's description"):
        recover_cell_log(path)


def test_an_error_while_recording_keeps_the_side_file(log, tmp_path, caplog):
    path = tmp_path / "log.h5"
    with pytest.raises(KeyboardInterrupt), CellLogWriter(path, log.info) as writer:
        writer.append([Message("belt_command", 0.0, np.array([0.1]))])
        raise KeyboardInterrupt
    assert not path.exists() and "interrupted; what was recorded is in" in caplog.text
    assert recover_cell_log(path).log.streams["belt_command"].values.tolist() == [[0.1]]


def test_a_full_disk_is_told_before_anything_is_written(log, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("r2s2r.recording.cell_log_hdf5.shutil.disk_usage", lambda _: usage)
    with pytest.raises(RecordingError, match="1000 are free"):
        write_cell_log(tmp_path / "log.h5", log)
    assert list(tmp_path.iterdir()) == []


def test_a_log_cut_in_the_middle_is_named_and_what_is_whole_is_used(path, log, tmp_path):
    whole, cut = path.read_bytes(), tmp_path / "cut.h5"
    with h5py.File(path) as file:
        streams = {name: file[f"streams/{name}/values"].id.get_offset() for name in log.streams}
        pictures = file["pictures/head/png"].id.get_offset()
    cut.write_bytes(whole[: streams["hand_joint_pos"] + 16 * 8 * 500 + 3])
    with pytest.raises(RecordingError, match=rf"cut off at \d+ of {len(whole)} bytes"):
        read_cell_log(cut)
    recovered = recover_cell_log(cut)
    assert "stream hand_joint_pos: 500 of 1200 rows are whole" in recovered.notes
    assert np.array_equal(recovered.log.streams["arm_joint_pos"].values, log.streams["arm_joint_pos"].values)
    assert np.array_equal(recovered.log.streams["hand_joint_pos"].values, log.streams["hand_joint_pos"].values[:500])
    assert recovered.log.segments == log.segments
    cut.write_bytes(whole[: pictures + len(log.pictures["head"].png[0]) + 5])
    recovered = recover_cell_log(cut)
    assert list(recovered.log.pictures["head"].png) == [log.pictures["head"].png[0]]
    assert recovered.notes == ("pictures of head: 1 of 3 are whole",)
    cut.write_bytes(whole[:3000])
    with pytest.raises(RecordingError, match="too early to read anything"):
        recover_cell_log(cut)
    for size in np.linspace(64, len(whole) - 1, 40).astype(int):
        cut.write_bytes(whole[:size])
        try:
            assert recover_cell_log(cut).notes
        except RecordingError as error:
            assert "cut off" in str(error)


def test_no_damage_is_more_than_one_clear_error(path, tmp_path, rng):
    whole, spoilt = path.read_bytes(), tmp_path / "spoilt.h5"
    for place in rng.integers(0, 20000, 60):
        content = bytearray(whole)
        content[place : place + 4] = rng.bytes(4)
        spoilt.write_bytes(content)
        try:
            read_cell_log(spoilt)
        except R2S2RError as error:
            assert isinstance(error, RecordingError) and str(spoilt) in str(error)
