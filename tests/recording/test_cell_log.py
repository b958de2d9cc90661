"""Cell logs on disk: exact, equal for equal content, refused where they are no logs."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from r2s2r.cli.main import main
from r2s2r.contracts.cell import Message, Picture
from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.targets import TagGroup
from r2s2r.recording.cell_info import info_from_json, info_to_json
from r2s2r.recording.cell_log import PictureStream, Segment, Stream
from r2s2r.recording.cell_log_file import (
    CellLogWriter,
    is_cell_log,
    partial_path,
    read_cell_log,
    recover_cell_log,
    write_cell_log,
)
from r2s2r.recording.pictures import decode, encode, size_of

from .log_sample import assert_equal, record, sample_info


def test_what_is_written_is_read_back_exactly(path, log):
    assert_equal(read_cell_log(path), log)
    assert_equal(recover_cell_log(path).log, log)
    assert recover_cell_log(path).notes == ()


def test_a_recording_gives_the_same_bytes_as_its_log_at_once_and_leaves_no_side_file(log, tmp_path, path):
    for name in ("a.h5", "b.h5"):
        with CellLogWriter(tmp_path / name, log.info, log.provenance) as writer:
            record(writer, log)
            assert partial_path(tmp_path / name).exists() and not (tmp_path / name).exists()
            assert is_cell_log(tmp_path / name)
        writer.finish()
        assert not partial_path(tmp_path / name).exists()
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    # The order in which streams were begun is of no account either.
    backwards = replace(log, streams=dict(reversed(log.streams.items())))
    write_cell_log(path, backwards, overwrite=True)
    assert path.read_bytes() == (tmp_path / "a.h5").read_bytes()


def test_an_empty_recording_is_a_log(tmp_path):
    with CellLogWriter(tmp_path / "log.h5", sample_info()):
        pass
    log = read_cell_log(tmp_path / "log.h5")
    assert (log.streams, log.pictures, log.segments, log.duration_s) == ({}, {}, (), 0.0)


def test_the_cell_s_description_returns_whole():
    offsets = tuple(tuple(0.1 * (i + 6 * j) for i in range(6)) for j in range(7))
    targets = sample_info().targets
    item = TagGroup("item", 0.03, (401,), ((0.0, 0.01, 1.0 / 3.0),), ((0.0, 0.0, 0.6, 0.8),))
    info = sample_info(factory_kinematics=offsets, targets=replace(targets, item=item), name="Zelle Süd")
    assert info_from_json(info_to_json(info)) == info


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("targets"), "cell_info: missing targets"),
        (lambda content: content.update(colour=1), "cell_info: unknown colour"),
        (lambda content: content["wrist_camera"].pop("fx"), "cell_info.wrist_camera: missing fx"),
        (lambda content: content.update(arm_stiffness=[1.0]), "allowed are 7 numbers"),
        (lambda content: content.update(hand_variant="allegro_left"), "allowed are allegro_v4_right"),
        (lambda content: content["targets"]["item"].update(ids=5), "cell_info.targets.item"),
        (lambda content: content["head_camera"].update(fx="wide"), "head_camera"),
    ],
)
def test_a_wrong_description_is_refused_by_field(change, message):
    content = json.loads(info_to_json(sample_info()))
    change(content)
    with pytest.raises(RecordingError, match=message):
        info_from_json(json.dumps(content))
    with pytest.raises(RecordingError, match="no JSON"):
        info_from_json("{")


def test_pictures_lose_nothing_and_stay_in_the_file_until_asked_for(path, log, rng):
    rgb = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    assert np.array_equal(decode(encode(rgb)), rgb) and size_of(encode(rgb)) == (64, 48)
    pictures = read_cell_log(path).pictures["head"].png
    assert len(pictures) == 3 and pictures[-1] == log.pictures["head"].png[-1]
    assert [*pictures[1:]] == list(log.pictures["head"].png[1:])
    with pytest.raises(IndexError):
        pictures[3]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RecordingError, match="cut off"):
        pictures[2]
    path.unlink()
    with pytest.raises(RecordingError, match="picture 0 cannot be read"):
        pictures[0]


def test_what_is_no_picture_is_refused():
    for wrong in (np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)):
        with pytest.raises(RecordingError, match="allowed are uint8 of"):
            encode(wrong)
    whole = encode(np.zeros((4, 4, 3), np.uint8))
    for wrong in (b"", b"JFIF", whole[:-1], whole[:20]):
        with pytest.raises(RecordingError, match="no whole PNG"):
            decode(wrong)
    with pytest.raises(RecordingError, match="no PNG picture"):
        size_of(whole[:20])


def test_the_writer_refuses_what_no_cell_sends(tmp_path):
    path = tmp_path / "log.h5"
    writer = CellLogWriter(path, sample_info())
    with pytest.raises(RecordingError, match="stream 'gripper'; allowed are arm_command"):
        writer.append([Message("gripper", 0.0, np.zeros(1))])
    with pytest.raises(RecordingError, match=r"value of shape \(6,\), allowed is \(7,\)"):
        writer.append([Message("arm_command", 0.0, np.zeros(7)), Message("arm_command", 0.1, np.zeros(6))])
    with pytest.raises(RecordingError, match="camera 'ceiling'; allowed are wrist, head"):
        writer.append_picture(Picture("ceiling", 0.0, np.zeros((4, 4, 3), np.uint8)))
    with pytest.raises(RecordingError, match="ends that was not begun"):
        writer.end_segment(1.0)
    for name in ("", "x" * 65):
        with pytest.raises(RecordingError, match="1 to 64 bytes"):
            writer.begin_segment(name, 0.0)
    writer.begin_segment("one", 0.0)
    with pytest.raises(RecordingError, match="begins before 'one' has ended"):
        writer.begin_segment("two", 1.0)
    with pytest.raises(RecordingError, match="segment 'one' has no end"):
        writer.finish()
    assert partial_path(path).exists() and not path.exists()
    with pytest.raises(RecordingError, match="cannot be written: File exists"):
        # Two recordings at once.
        from r2s2r.recording.journal import JournalWriter

        JournalWriter(partial_path(path), sample_info(), {})


def test_a_log_is_not_overwritten_unless_asked(path, log):
    with pytest.raises(RecordingError, match="exists; overwrite=True"):
        write_cell_log(path, log)
    with pytest.raises(RecordingError, match="exists; overwrite=True"):
        CellLogWriter(path, log.info)


def test_a_log_with_unknown_parts_is_not_written(log, tmp_path):
    one = Stream(np.zeros(1), np.zeros((1, 1)))
    with pytest.raises(RecordingError, match="unknown stream 'gripper'"):
        write_cell_log(tmp_path / "x.h5", replace(log, streams={"gripper": one}))
    with pytest.raises(RecordingError, match="unknown camera 'ceiling'"):
        write_cell_log(tmp_path / "x.h5", replace(log, pictures={"ceiling": log.pictures["head"]}))
    with pytest.raises(RecordingError, match="pictures of head: each needs one stamp and a whole PNG"):
        write_cell_log(tmp_path / "x.h5", replace(log, pictures={"head": PictureStream(np.zeros(1), (b"JFIF",))}))
    with pytest.raises(RecordingError, match=r"arm_command: values of shape \(1, 1\), allowed are 7 columns"):
        write_cell_log(tmp_path / "x.h5", replace(log, streams={"arm_command": one}))
    assert list(tmp_path.iterdir()) == []


ARM, HEAD = "streams/arm_command", "pictures/head"


@pytest.mark.parametrize(
    ("where", "name", "value", "message"),
    [
        ("/", "format", None, "attribute 'format' is None, allowed is 'r2s2r_cell_log'"),
        ("/", "format_version", 2, "format_version is 2, allowed is 1"),
        ("/", "format_version", None, "format_version is None"),
        ("/", "clock", "utc", "attribute 'clock' is 'utc', allowed is 'host_monotonic'"),
        ("/", "time_unit", "ms", "attribute 'time_unit' is 'ms', allowed is 's'"),
        ("/", "cell_info", None, "cell_info: no JSON"),
        ("/", "provenance", "{", "damaged, cannot be read"),
        (ARM, "unit", None, "arm_command: unit is None, allowed are rad"),
        ("streams/belt_command", "unit", "mm/s", "unit is 'mm/s', allowed are m/s"),
        (ARM, "names", None, "0 columns are named"),
        (ARM, "names", json.dumps([f"axis{i}" for i in range(7)]), "joints missing: joint1, joint2"),
        (HEAD, "encoding", "jpeg", "encoding is 'jpeg', allowed is 'png'"),
    ],
)
def test_an_attribute_against_the_specification_is_refused_by_name(path, where, name, value, message):
    with h5py.File(path, "a") as file:
        if value is None:
            del file[where].attrs[name]
        else:
            file[where].attrs[name] = value
    with pytest.raises(RecordingError, match=message) as caught:
        read_cell_log(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file["streams"].move("arm_command", "gripper"), "unknown stream 'gripper'"),
        (lambda file: file["pictures"].move("head", "ceiling"), "unknown camera 'ceiling'"),
        (lambda file: file[HEAD]["png_end"].__setitem__(1, 0), "png_end does not increase"),
        (lambda file: file["segments/end_s"].__setitem__(1, np.nan), "'hand_steps', begun at 6.000 s, has no end"),
        (lambda file: file[ARM].__delitem__("time_s"), "damaged, cannot be read"),
        (lambda file: file.__delitem__("segments"), "damaged, cannot be read"),
    ],
)
def test_content_against_the_specification_is_refused_by_name(path, change, message):
    with h5py.File(path, "a") as file:
        change(file)
    with pytest.raises(RecordingError, match=message):
        read_cell_log(path)


def test_arrays_that_do_not_fit_are_refused(path):
    with h5py.File(path, "a") as file:
        del file["streams/arm_command/time_s"]
        file["streams/arm_command/time_s"] = np.zeros(3)
    with pytest.raises(RecordingError, match="arrays of 3, 1000 rows do not fit together"):
        read_cell_log(path)


def test_what_is_no_cell_log_is_refused(tmp_path):
    path = tmp_path / "log.h5"
    with pytest.raises(RecordingError, match="there is no such file"):
        read_cell_log(path)
    with pytest.raises(RecordingError, match="there is no such file, and no interrupted recording log.h5.partial"):
        recover_cell_log(path)
    for content in (b"", b"R2S2R", pickle.dumps({"streams": 1}), b"time,joint1\n0,0\n"):
        path.write_bytes(content)
        assert not is_cell_log(path)
        for read in (read_cell_log, recover_cell_log):
            with pytest.raises(RecordingError, match="not an HDF5 file"):
                read(path)
    with h5py.File(path, "w") as file:
        file["data"] = 1
    assert not is_cell_log(path)
    with pytest.raises(RecordingError, match="no cell log"):
        read_cell_log(path)


def test_a_file_of_another_program_is_read(path, log):
    """Degrees are converted, joints mapped by name, chunks and text of variable length are fine."""
    with h5py.File(path, "a") as file:
        arm = file["streams/arm_command"]
        values, names = arm["values"][()], json.loads(arm.attrs["names"])
        del arm["values"]
        arm.create_dataset("values", data=np.degrees(values[:, ::-1]), chunks=(10, 7), compression="gzip")
        arm.attrs["names"], arm.attrs["unit"] = json.dumps(names[::-1]), "deg"
        png = file["pictures/head/png"][()]
        del file["pictures/head/png"]
        file["pictures/head"].create_dataset("png", data=png, chunks=(100,))
        name = file["segments/name"].asstr()[()]
        del file["segments/name"]
        file["segments/name"] = name
    found = read_cell_log(path)
    assert np.allclose(found.streams["arm_command"].values, log.streams["arm_command"].values, rtol=0.0, atol=1e-15)
    assert list(found.pictures["head"].png) == list(log.pictures["head"].png)
    assert found.segments == log.segments


def test_the_specification_s_example_writes_a_log(log, tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "recording-format.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    arm, wrist, path = log.streams["arm_joint_pos"], log.pictures["wrist"], tmp_path / "log.h5"
    given = {"stamps": arm.time_s, "readings": arm.values, "picture_stamps": wrist.time_s, "pngs": wrist.png}
    exec(example[1], {**given, "path": path, "cell_info": json.loads(info_to_json(log.info))})
    found = read_cell_log(path)
    assert np.array_equal(found.streams["arm_joint_pos"].values, arm.values) and found.info == log.info
    assert list(found.pictures["wrist"].png) == list(wrist.png)
    assert found.segments == (Segment("viewpoint", 0.0, 12.5),)


def test_inspect_tells_what_a_log_holds(path, tmp_path, capsys):
    summary = tmp_path / "summary.json"
    assert main(["inspect", str(path), "--json", str(summary)]) == 0
    printed = capsys.readouterr().out
    assert "cell log of 'test cell', 12.0 s" in printed
    assert re.search(r"arm_joint_pos +2400, median rate (199|200)", printed)
    content = json.loads(summary.read_text())
    assert content["streams"]["hand_joint_pos"]["count"] == 1200 and content["pictures"]["head"]["count"] == 3
    assert content["segments"][0] == ["arm_chirp", 1.0, 6.0] and content["problem"] is None


def test_inspect_of_an_unfit_log_exits_with_2(log, tmp_path, capsys):
    path = tmp_path / "log.h5"
    write_cell_log(path, replace(log, pictures={}))
    assert main(["inspect", str(path)]) == 2
    assert "not fit for grounding: recording: camera wrist, head missing" in capsys.readouterr().out
