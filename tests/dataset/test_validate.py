"""What `validate` finds, each problem named with place, value and what is allowed."""

import json
import time

import h5py
import numpy as np
import pytest

from r2s2r.contracts.errors import DatasetError
from r2s2r.dataset.summary import describe, summarize
from r2s2r.dataset.validate import validate
from r2s2r.dataset.writer import DatasetWriter
from r2s2r.recording.frame_rate import rows_at_rate


def damaged(path, change):
    with h5py.File(path, "a") as file:
        change(file)
    return path


def replaced(file, key, values):
    del file[key]
    file[key] = values


def test_what_the_writer_makes_is_fit(make_dataset):
    assert validate(make_dataset().path, contents=True) == []


def test_b67_a_missing_mask_is_named_within_a_second(make_dataset):
    path = damaged(make_dataset(count=30).path, lambda file: file.__delitem__("mask/train"))
    start = time.monotonic()
    problems = validate(path)
    assert time.monotonic() - start < 1.0
    assert [str(problem) for problem in problems] == ["mask/train: missing or empty; allowed: episode names"]


CASES = {
    "b67 num_samples": (
        lambda f: f["data/demo_1"].attrs.__setitem__("num_samples", 100),
        "data/demo_1",
        "num_samples is 100, actions has 8 rows",
    ),
    "b67 total": (lambda f: f["data"].attrs.__setitem__("total", 7), "data", "attribute total is 7"),
    "b67 next_obs": (
        lambda f: f.__delitem__("data/demo_2/next_obs/joint_pos"),
        "data/demo_2/next_obs",
        "joint_pos missing",
    ),
    "b67 actions": (lambda f: f.__delitem__("data/demo_2/actions"), "data/demo_2", "actions is missing"),
    "b67 env_args": (lambda f: f["data"].attrs.__delitem__("env_args"), "data", "env_args is missing"),
    "b67 env_args text": (lambda f: f["data"].attrs.__setitem__("env_args", "x"), "data", "env_args is not JSON"),
    "b67 env_args keys": (
        lambda f: f["data"].attrs.__setitem__("env_args", '{"type": 2}'),
        "data",
        "env_args lacks env_name, env_kwargs",
    ),
    "b68 overlap": (
        lambda f: replaced(f, "mask/valid", np.array([b"demo_3", f["mask/train"][0]])),
        "mask",
        "in both train and valid",
    ),
    "b68 source on both sides": (
        lambda f: f["data/demo_0"].attrs.__setitem__("source_demo", "human_2"),
        "mask",
        "copies of human_2 in both",
    ),
    "mask of nothing": (
        lambda f: replaced(f, "mask/condition_nominal", np.array([b"demo_99"])),
        "mask/condition_nominal",
        "demo_99 not in data",
    ),
    "b69 float pictures": (
        lambda f: replaced(f, "data/demo_0/obs/head_rgb", np.zeros((8, 16, 16, 3), np.float32)),
        "data/demo_0/obs/head_rgb",
        "pictures of float32 (8, 16, 16, 3)",
    ),
    "b69 channel first": (
        lambda f: replaced(f, "data/demo_0/obs/head_rgb", np.zeros((8, 3, 16, 16), np.uint8)),
        "data/demo_0/obs/head_rgb",
        "pictures of uint8 (8, 3, 16, 16)",
    ),
    "b66 degrees": (
        lambda f: f["data/demo_0/obs/joint_pos"].__setitem__((3, 2), 57.3),
        "data/demo_0/obs/joint_pos",
        "57.3 in row 3, column 2 looks like degrees",
    ),
    "nan": (
        lambda f: f["data/demo_0/states"].__setitem__((3, 1), np.nan),
        "data/demo_0/states",
        "nan at (3, 1)",
    ),
    "rotation": (
        lambda f: f["data/demo_0/actions"].__setitem__((5, 3), 0.9),
        "data/demo_0/actions",
        "off orthonormal by 0.19 in row 5",
    ),
    "rows": (
        lambda f: replaced(f, "data/demo_0/rewards", np.zeros(7, np.float32)),
        "data/demo_0/rewards",
        "7 rows, actions has 8",
    ),
    "done early": (
        lambda f: f["data/demo_0/dones"].__setitem__(2, 1),
        "data/demo_0/dones",
        "2 steps marked done",
    ),
    "time order": (
        lambda f: f.__setitem__("data/demo_0/commands/time_s", np.array([0, 1, 2, 2, 4, 5, 6, 7.0])),
        "data/demo_0/commands/time_s",
        "time does not increase at row 3",
    ),
    "b64 shift": (
        lambda f: f.__setitem__("data/demo_0/commands/frame_step", np.array([0, 0, 1, 2, 3, 4, 5, 6])),
        "data/demo_0/commands/frame_step",
        "offset 1 in 7 of 8 rows",
    ),
    "odd name": (lambda f: f.create_group("data/episode_x"), "data", "episodes named episode_x"),
    "attributes": (
        lambda f: f["data/demo_0"].attrs.__delitem__("source_demo"),
        "data/demo_0",
        "attributes source_demo are missing",
    ),
    "shifted numbers": (
        lambda f: f["data/demo_0/next_obs/joint_pos"].__setitem__((0, 0), 0.5),
        "data/demo_0/next_obs/joint_pos",
        "is not obs one step later",
    ),
    "view of another demo": (
        lambda f: (
            f.copy("data/demo_0/next_obs/head_rgb", f["data/demo_1/next_obs"], "copied")
            or (
                f.__delitem__("data/demo_1/next_obs/head_rgb"),
                f.move("data/demo_1/next_obs/copied", "data/demo_1/next_obs/head_rgb"),
            )
        ),
        "data/demo_1/next_obs/head_rgb",
        "shows /data/demo_0/obs/head_rgb",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_problem_is_found_where_it_is(make_dataset, case):
    change, where, what = CASES[case]
    problems = validate(damaged(make_dataset(count=4).path, change))
    assert any(problem.where == where and what in problem.what for problem in problems), problems
    assert all(problem.allowed for problem in problems)


def test_b59_frames_at_the_rate_of_the_loop_are_refused(tmp_path, header, make_episode):
    """3.0 s of a loop at 90 Hz in a set of 30 fps: 90 rows are fine, all 270 are told by the writer and by validate."""
    control_s = np.arange(270) / 90.0
    rows = rows_at_rate(control_s, 30.0)
    fine = make_episode(steps=90)
    fine.commands.update(time_s=control_s[rows], frame_step=np.arange(90))
    with DatasetWriter(tmp_path / "set.hdf5", header) as writer:
        writer.add(fine)
        hasty = make_episode(steps=270)
        hasty.commands.update(time_s=control_s, frame_step=np.arange(270))
        with pytest.raises(DatasetError, match="270 frames within 3.000 s are 90 Hz, declared are 30 Hz"):
            writer.add(hasty)
        writer.add(fine)
    path = tmp_path / "set.hdf5"
    assert not [problem for problem in validate(path) if "time_s" in problem.where or "frame_step" in problem.where]
    damaged(path, lambda f: replaced(f, "data/demo_0/commands/time_s", np.arange(90) / 90.0))
    damaged(path, lambda f: replaced(f, "data/demo_1/commands/frame_step", np.arange(90) // 3))
    told = {problem.where: problem.what for problem in validate(path)}
    assert told["data/demo_0/commands/time_s"] == "90 frames within 1.000 s are 90 Hz, declared are 30 Hz"
    assert "pictures lag states" in told["data/demo_1/commands/frame_step"], "a picture that comes three times"


def test_the_same_problem_of_many_episodes_is_told_once(make_dataset):
    def drop(file):
        for demo in file["data"].values():
            del demo["next_obs"]

    problems = validate(damaged(make_dataset(count=9).path, drop))
    assert len(problems) == 1 and "(so in 8 more episodes)" in problems[0].what


def test_a_cut_off_or_missing_file(make_dataset, tmp_path):
    path = make_dataset().path
    path.write_bytes(path.read_bytes()[:-100])
    assert "cut off at" in validate(path)[0].what
    with pytest.raises(DatasetError, match="no such file"):
        validate(tmp_path / "nothing.hdf5")
    with h5py.File(tmp_path / "empty.hdf5", "w") as file:
        file.create_group("data")
    assert "no episodes" in [problem.what for problem in validate(tmp_path / "empty.hdf5")]


def test_a_real_foreign_file_is_told_what_it_lacks(data_dir):
    path = data_dir / "scene_images" / "bridge_widowx_episodes.hdf5"
    told = "\n".join(map(str, validate(path)))
    for part in (
        "data: attribute env_args is missing",
        "mask/train: missing or empty",
        "mask/valid: missing or empty",
        "not tagged: attributes format_version, action_space",
        "actions: shape (10, 7) (so in 11 more episodes); allowed: (T, 25)",
        "obs/joint_pos is missing",
    ):
        assert part in told
    assert len(told.splitlines()) < 15


def test_summary_of_a_real_foreign_file(data_dir):
    summary = summarize(data_dir / "scene_images" / "bridge_widowx_episodes.hdf5")
    assert summary["episodes"] == 12 and summary["frames"] == 120 and summary["rate_hz"] is None
    assert summary["arrays"]["obs/image_0"]["shape"] == [64, 64, 3]
    text = describe(summary)
    assert "12 episodes, 120 frames" in text and "not tagged" in text and "masks         none" in text


def test_summary_counts_by_class_and_condition(make_dataset):
    written = make_dataset(count=5)
    summary = summarize(written.path)
    assert summary["episodes"] == 5 and summary["seconds"] == pytest.approx(40 / 30)
    assert summary["attributes"]["object_class"] == {"box": 3, "round": 2}
    assert summary["attempts"] == {"attempts": 5, "successes": 5, "yield": 1.0, "failures": {}}
    assert summary["arrays"]["next_obs/head_rgb"]["storage"] == "a view of obs"
    assert summary["actions"]["wrist_rot6d_b.xx"] == [1.0, 1.0]
    assert summary["size_bytes"] == written.size_bytes
    json.dumps(summary)
    assert "5 of 5 kept (100.0 %)" in describe(summary)
