"""Data sets for others' training code: layout, slices, limits, frames (B78, B79), and read back by our own importer."""

import json
from pathlib import Path

import numpy as np
import pytest

from r2s2r.contracts.action import WRIST_ROT6D
from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.joints import ARM_JOINTS, ROBOT_JOINTS
from r2s2r.contracts.transforms import rot6d_from_matrix
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.dataset.export_target import JOINTS, TARGETS, WRIST, Slices, export_target
from r2s2r.dataset.lerobot_export import LeRobotExport
from r2s2r.dataset.reader import DatasetReader
from r2s2r.dataset.writer import DatasetWriter
from r2s2r.evaluation.clips import write_clip
from r2s2r.recording.lerobot import open_lerobot
from r2s2r.recording.lerobot_teleop import load_lerobot
from r2s2r.recording.video import read_pictures


@pytest.fixture(scope="module")
def chain() -> SerialChain:
    from r2s2r.robot.description import compose

    robot = compose()
    return serial_chain(robot.urdf_path, robot.wrist_link)


@pytest.fixture
def dataset(tmp_path, header, make_episode, chain):
    """A data set whose commanded orientations are those that the arm reaches a step later, turned by `turn`."""

    def make(turn: np.ndarray | None = None, episodes: int = 3) -> Path:
        path = tmp_path / "set.hdf5"
        with DatasetWriter(path, header) as writer:
            for index in range(episodes):
                episode = make_episode(index, steps=8 + index, source=f"human_{index}")
                arm = episode.obs["joint_pos"][1:, : len(ARM_JOINTS)].astype(float)
                reached = chain.wrist_pose(arm)[:, :3, :3]
                episode.actions[:-1, WRIST_ROT6D] = rot6d_from_matrix(reached if turn is None else reached @ turn)
                writer.add(episode)
        return path

    return make


def export(path: Path, out: Path, chain: SerialChain, target: str = "groot", actions: str = "joints") -> dict:
    with DatasetReader(path) as reader:
        return LeRobotExport(export_target(target), actions, chain, write_clip).write(reader, out)


def test_b79_groot_gets_version_2_1_and_slices_without_gap_or_overlap(dataset, chain, tmp_path):
    export(dataset(), tmp_path / "out", chain)
    info = json.loads((tmp_path / "out/meta/info.json").read_text())
    cut = json.loads((tmp_path / "out/meta/modality.json").read_text())
    assert info["codebase_version"] == "v2.1"
    for part in ("state", "action"):
        assert cut[part] == {"arm": {"start": 0, "end": 7}, "hand": {"start": 7, "end": 23}}
    for feature in ("observation.state", "action"):
        assert info["features"][feature]["shape"] == [23] and info["features"][feature]["names"] == list(ROBOT_JOINTS)
    for camera in cut["video"].values():
        assert info["features"][camera["original_key"]]["dtype"] == "video"


def test_b79_a_35_wide_action_is_refused_before_anything_is_written(dataset, chain, tmp_path, monkeypatch):
    wide = Slices(tuple(f"n{k}" for k in range(35)), {"all": (0, 35)})
    monkeypatch.setattr("r2s2r.dataset.lerobot_export.ACTIONS", {"joints": wide})
    path = dataset()
    with pytest.raises(DatasetError, match="groot: action has 35 numbers, allowed are 32 at most"):
        export(path, tmp_path / "out", chain)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["set.hdf5"]


def test_b79_every_target_takes_every_action_of_ours():
    for target in TARGETS.values():
        for slices in (JOINTS, WRIST):
            target.check_width("action", slices)


@pytest.mark.parametrize(
    "parts", [{"a": (0, 3), "b": (4, 5)}, {"a": (0, 3), "b": (2, 5)}, {"a": (0, 4)}, {"a": (0, 0)}]
)
def test_b79_slices_with_a_gap_an_overlap_or_a_rest_are_refused(parts):
    with pytest.raises(DatasetError, match="slices"):
        Slices(tuple("vwxyz"), parts)


def test_our_own_importer_reads_it_back(dataset, chain, tmp_path):
    path, out = dataset(), tmp_path / "out"
    assert export(path, out, chain, "lerobot")["episodes"] == 3
    there = open_lerobot(out)
    assert not there.lost and not there.notes and not (out / "meta/modality.json").exists()
    units = dict.fromkeys(ROBOT_JOINTS, "rad")
    with DatasetReader(path) as reader:
        for index in range(3):
            read, episode = load_lerobot(out, index, units=units), reader[index]
            assert read.joint_names == ROBOT_JOINTS and read.hw_time_s is None
            np.testing.assert_array_equal(read.measured, episode.obs["joint_pos"])
            np.testing.assert_array_equal(read.commanded, episode.commands["joint_pos_target"])
            for camera in there.info.cameras:
                video = there.video(index, camera)
                assert video is not None
                pictures = read_pictures(video, len(episode)).astype(float)
                key = f"{camera.rpartition('.')[2]}_rgb"
                # A grey level a step; H.264 in 4:2:0 keeps plain grey to within its quantiser.
                np.testing.assert_allclose(pictures, episode.obs[key], atol=6.0)


def test_statistics_are_those_of_the_numbers(dataset, chain, tmp_path):
    path, out = dataset(), tmp_path / "out"
    export(path, out, chain)
    lines = [json.loads(line) for line in (out / "meta/episodes_stats.jsonl").read_text().splitlines()]
    with DatasetReader(path) as reader:
        for line, episode in zip(lines, reader, strict=True):
            state = line["stats"]["observation.state"]
            np.testing.assert_allclose(state["mean"], episode.obs["joint_pos"].mean(axis=0), atol=1e-6)
            np.testing.assert_allclose(state["std"], episode.obs["joint_pos"].std(axis=0), atol=1e-6)
            picture = line["stats"]["observation.images.head"]
            assert np.shape(picture["mean"]) == (3, 1, 1) and state["count"] == [len(episode)]
            np.testing.assert_allclose(np.ravel(picture["max"]), episode.obs["head_rgb"].max() / 255.0)


def test_b78_the_spec_names_frame_and_layout_of_rotations(dataset, chain, tmp_path):
    export(dataset(), tmp_path / "out", chain, actions="wrist")
    told = json.loads((tmp_path / "out/meta/info.json").read_text())["r2s2r"]
    assert told["rotation_layout"] == "rot6d_columns_xy" and told["rotation_frame"] == "hand_palm_link"
    assert told["action"] == "wrist_pose_b+hand_joint_pos" and told["units"]["angle"] == "rad"


def test_b78_actions_of_the_flange_are_refused_with_the_angle(dataset, chain, tmp_path):
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    path = dataset(turn=quarter)
    with pytest.raises(ConfigError, match=r"fixed turn of 90\.0 deg about \(0\.00, 0\.00, 1\.00\) of the tool"):
        export(path, tmp_path / "out", chain)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_there_is_not_touched(dataset, chain, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(DatasetError, match="exists"):
        export(dataset(), tmp_path / "out", chain)


def test_the_same_data_set_gives_the_same_bytes(dataset, chain, tmp_path):
    path = dataset()
    contents = []
    for name in ("one", "two"):
        export(path, tmp_path / name, chain)
        files = sorted(file for file in (tmp_path / name).rglob("*") if file.is_file())
        contents.append([(file.relative_to(tmp_path / name), file.read_bytes()) for file in files])
    assert contents[0] == contents[1]
