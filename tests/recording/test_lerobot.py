"""LeRobot sets: looked up by key, opened with what is whole, repaired with their videos; stamps and units."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.lerobot import describe, open_lerobot
from r2s2r.recording.lerobot_layout import read_info
from r2s2r.recording.lerobot_repair import repair_lerobot
from r2s2r.recording.lerobot_teleop import load_lerobot
from r2s2r.recording.video import read_pictures

from .lerobot_sets import CAMERA, LENGTH, NAMES, RATE_HZ, burnt_in, cut, data_file, write_set

both = pytest.mark.parametrize("version", ["v2.1", "v3.0"])


def number_in(root: Path, index: int) -> int:
    """Return the number that an episode's rows carry."""
    return round(100.0 * float(load_lerobot(root, index).measured[0, 0]))


def pictured(root: Path, index: int) -> set[int]:
    """Return the numbers burnt into an episode's pictures."""
    video = load_lerobot(root, index).video
    assert video is not None
    return {burnt_in(picture) for picture in read_pictures(video, LENGTH)}


@both
def test_rows_and_pictures_belong_together(tmp_path, version):
    """Rows of the metadata in another order than the numbers: the look-up goes by key."""
    root = write_set(tmp_path / "set", version, episodes=(2, 0, 3, 1))
    data_set = open_lerobot(root)
    assert sorted(data_set.episodes) == [0, 1, 2, 3] and not data_set.lost and not data_set.notes
    for index in range(4):
        assert number_in(root, index) == index and pictured(root, index) == {index}
    recording = load_lerobot(root, 3)
    assert recording.joint_names == NAMES and recording.task == "pick"
    assert recording.units == ("rad",) * 7 + ("share",) * 6
    assert recording.hw_time_s is None and recording.rate_hz == pytest.approx(30.0)


@both
def test_b57_a_gap_is_refused_and_repair_keeps_the_pairing(tmp_path, version):
    """Metadata rows 0, 1, 2, 5, 6, total 7; by row, episode 5 would get the pictures of another."""
    root = write_set(tmp_path / "set", version, episodes=(0, 1, 2, 5, 6), total=7)
    with pytest.raises(RecordingError, match="episodes 3-4 are missing; .* the wrong video; r2s2r validate FOLDER"):
        open_lerobot(root)
    repaired = repair_lerobot(root, tmp_path / "sound")
    assert repaired.renumbered == {0: 0, 1: 1, 2: 2, 5: 3, 6: 4}
    assert repaired.lost == {3: "no metadata", 4: "no metadata"}
    sound = open_lerobot(repaired.root)
    assert sorted(sound.episodes) == list(range(5)) and not sound.lost
    for old, new in repaired.renumbered.items():
        assert number_in(repaired.root, new) == old, "rows"
        assert pictured(repaired.root, new) == {old}, "pictures"
        numbers = sound.numbers(new)
        assert (numbers["episode_index"] == new).all()
        assert numbers["index"].tolist() == list(range(new * LENGTH, (new + 1) * LENGTH))
    info = read_info(repaired.root).raw
    assert (info["total_episodes"], info["total_frames"], info["splits"]) == (5, 5 * LENGTH, {"train": "0:5"})


@both
def test_b56_an_interrupted_set_opens_with_what_is_whole(tmp_path, version):
    """An exception in episode 3 of 5: its table has no footer; in version 3.0 two episodes share a file."""
    root = write_set(tmp_path / "set", version, episodes=(0, 1, 2, 3), total=5)
    cut(data_file(root, 3) if version == "v2.1" else root / "data/chunk-000/file-001.parquet")
    data_set = open_lerobot(root)
    kept = [0, 1, 2] if version == "v2.1" else [0, 1]
    assert sorted(data_set.episodes) == kept
    assert sorted(data_set.lost) == [index for index in range(5) if index not in kept]
    assert "no whole parquet file, as an interrupted recorder leaves it" in data_set.lost[3]
    assert data_set.lost[4] == "no metadata, the recording was interrupted"
    assert "r2s2r validate FOLDER --recover OUT" in "\n".join(describe(data_set))
    with pytest.raises(RecordingError, match="episode 3: data/.*no whole parquet file"):
        load_lerobot(root, 3)
    repaired = repair_lerobot(root, tmp_path / "sound")
    assert list(repaired.renumbered) == kept and sorted(repaired.lost) == sorted(data_set.lost)
    sound = open_lerobot(repaired.root)
    assert not sound.lost and sound.info.total_episodes == len(kept), "a recorder resumes behind the last one"
    for index in kept:
        assert pictured(repaired.root, index) == {index}


def test_a_line_that_was_being_written_is_lost_alone(tmp_path):
    root = write_set(tmp_path / "set", episodes=(0, 1, 2))
    path = root / "meta/episodes.jsonl"
    path.write_text(path.read_text()[:-9])
    data_set = open_lerobot(root)
    assert sorted(data_set.episodes) == [0, 1] and list(data_set.lost) == [2]
    assert data_set.notes == ("episodes.jsonl: line 3 is cut off or damaged",)


def test_repair_leaves_out_statistics_that_no_longer_hold(tmp_path):
    for version in ("v2.1", "v3.0"):
        root = write_set(tmp_path / version, version, episodes=(0, 2), total=3)
        (root / "meta/stats.json").write_text("{}")
        out = repair_lerobot(root, tmp_path / f"{version}-sound").root
        assert not (out / "meta/stats.json").exists()
        if version == "v2.1":
            lines = [json.loads(line) for line in (out / "meta/episodes_stats.jsonl").read_text().splitlines()]
            assert [(line["episode_index"], list(line["stats"])) for line in lines] == [
                (0, ["action"]),
                (1, ["action"]),
            ]
        else:
            names = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet").column_names
            assert "stats/action/min" in names and "stats/index/min" not in names


def test_repair_touches_nothing_that_is_there(tmp_path):
    root = write_set(tmp_path / "set", episodes=(0, 2))
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(RecordingError, match="exists; give the name of a new folder"):
        repair_lerobot(root, tmp_path)
    repair_lerobot(root, tmp_path / "sound")
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_b60_a_slow_clock_keeps_its_stamps_and_rows_stay_within_the_video(tmp_path):
    """300 frames stamped with a clock 7 % slow: its stamps span 9.27 s, those of a fast one would lead to row 320."""
    for share in (0.93, 1.07):
        stamps = share * np.arange(300) / RATE_HZ
        root = write_set(tmp_path / f"{share}", episodes=(0,), stamps=stamps, length=300)
        recording = load_lerobot(root, 0)
        assert np.array_equal(recording.time_s, np.arange(300) / RATE_HZ)
        assert round(recording.time_s[-1] * RATE_HZ) == 299
        assert recording.hw_time_s is not None and np.allclose(recording.hw_time_s, stamps, atol=1e-5)
        assert recording.video is not None and len(read_pictures(recording.video, len(recording))) == 300
        assert any(f"stamps advance by {30 / share:.3f} rows a second" in line for line in recording.statements)


def test_b60_stamps_that_go_back_inside_an_episode_name_the_row(tmp_path):
    stamps = np.arange(LENGTH) / RATE_HZ + 26.3
    stamps[7:] -= 26.3 + 7 / RATE_HZ
    root = write_set(tmp_path / "set", stamps=stamps)
    with pytest.raises(RecordingError, match="episode 1: time does not increase at row 7: 0 s after 26.5 s"):
        load_lerobot(root, 1)


def test_b59_frames_of_another_rate_than_declared_are_refused(tmp_path):
    root = write_set(tmp_path / "set", stamps=np.arange(270) / 90.0, length=270, episodes=(0,))
    with pytest.raises(RecordingError, match="270 frames within 3.000 s are 90 Hz, declared are 30 Hz"):
        load_lerobot(root, 0)


def ramp(top: float) -> np.ndarray:
    values = np.full((LENGTH, len(NAMES)), 0.5)
    values[:, 3] = np.linspace(0.0, top, LENGTH)
    return values


def test_b66_degrees_given_as_radians_are_told_and_degrees_given_as_such_converted(tmp_path):
    """A column to 57.2958 with a limit of 2 pi."""
    root = write_set(tmp_path / "set", values=ramp(57.2958))
    with pytest.raises(RecordingError, match="kRightElbow is 57.3 rad.* looks like degrees"):
        load_lerobot(root, 0)
    units = dict.fromkeys(NAMES[:7], "deg") | dict.fromkeys(NAMES[7:], "share")
    recording = load_lerobot(root, 0, units=units)
    assert recording.measured[-1, 3] == pytest.approx(1.0, abs=1e-6)
    assert recording.commanded[-1, 3] == pytest.approx(1.0, abs=1e-6)
    assert set(recording.units) == {"rad", "share"}


def test_units_are_never_guessed(tmp_path):
    root = write_set(tmp_path / "set", robot="so100")
    with pytest.raises(RecordingError, match="kRightShoulderPitch: robot type 'so100' is not known; give each"):
        load_lerobot(root, 0)
    with pytest.raises(RecordingError, match="kRightHandPinky: its unit is None"):
        load_lerobot(root, 0, units=dict.fromkeys(NAMES[:7], "rad"))
    values = ramp(1.0)
    values[5, 9] = 430.0
    root = write_set(tmp_path / "thousandths", values=values)
    with pytest.raises(RecordingError, match="kRightHandMiddle is 430 in row 5, a motor's share is 0 to 1"):
        load_lerobot(root, 0)


def test_rows_without_numbers_are_not_tracked(tmp_path):
    values = ramp(1.0)
    values[4:6, 2] = np.nan
    recording = load_lerobot(write_set(tmp_path / "set", values=values), 0)
    assert np.flatnonzero(~recording.tracked).tolist() == [4, 5]


@both
def test_what_contradicts_itself_is_refused(tmp_path, version):
    root = write_set(tmp_path / "set", version)
    with pytest.raises(RecordingError, match="episode 7: unknown; whole episodes are 0-2"):
        load_lerobot(root, 7)
    with pytest.raises(RecordingError, match=f"camera 'wrist', allowed are {CAMERA}"):
        load_lerobot(root, 0, camera="wrist")
    info = json.loads((root / "meta/info.json").read_text())
    for change, message in (
        ({"codebase_version": "v1.6"}, "codebase_version is 'v1.6', allowed are v2.1, v3.0"),
        ({"fps": 0}, "fps is 0.0, allowed are positive"),
        ({"data_path": "/etc/passwd"}, "outside the data set"),
        ({"data_path": "../{episode_index}"} if version == "v2.1" else {"data_path": "../{file_index}"}, "outside"),
        ({"data_path": "data/{nothing}"}, "data_path is 'data/{nothing}'"),
        ({"features": {}}, "no observation.state; the set has"),
        ({"features": {k: {**v, "names": None} for k, v in info["features"].items()}}, "numbers without names"),
    ):
        (root / "meta/info.json").write_text(json.dumps(info | change))
        with pytest.raises(RecordingError, match=message):
            load_lerobot(root, 0)
    (root / "meta/info.json").write_text("{")
    with pytest.raises(RecordingError, match="damaged, or not LeRobot's"):
        load_lerobot(root, 0)
    with pytest.raises(RecordingError, match="no meta/info.json; no LeRobot data set"):
        load_lerobot(tmp_path, 0)


def test_a_file_under_the_wrong_number_is_not_taken_for_it(tmp_path):
    root = write_set(tmp_path / "set")
    data_file(root, 1).write_bytes(data_file(root, 2).read_bytes())
    with pytest.raises(RecordingError, match="episode 1: 0 rows, its metadata count 12"):
        load_lerobot(root, 1)


def test_a_video_that_is_too_short_is_refused(tmp_path):
    root = write_set(tmp_path / "set", "v3.0")
    video = load_lerobot(root, 2).video
    assert video is not None
    with pytest.raises(RecordingError, match=r"12 pictures from 0.800 s on, 13 rows need one each"):
        read_pictures(video, LENGTH + 1)
    cut(video.path, 0.3)
    with pytest.raises(RecordingError, match="missing, damaged or of a codec"):
        read_pictures(video, LENGTH)
