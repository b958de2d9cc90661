"""`r2s2r validate` and `r2s2r inspect`, as a user runs them."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from r2s2r.cli.main import main
from r2s2r.contracts.action import ACTION_DIM
from r2s2r.contracts.episode import Episode
from r2s2r.dataset.schema import DatasetHeader
from r2s2r.dataset.writer import DatasetWriter


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A data set of four episodes from two source demonstrations."""
    actions = np.zeros((5, ACTION_DIM))
    actions[:, [3, 7]] = 1.0
    header = DatasetHeader(env_args={"env_name": "Task", "type": 2, "env_kwargs": {}}, provenance={})
    with DatasetWriter(tmp_path / "set.hdf5", header) as writer:
        for index in range(4):
            episode = Episode(
                actions=actions,
                obs={"joint_pos": np.full((5, 23), 0.1 * index)},
                states=np.zeros((5, 1)),
                state_names=("zero",),
                commands={},
                rewards=np.zeros(5),
                dones=np.eye(5)[-1],
                success=True,
                source_demo=f"human_{index % 2}",
            )
            writer.add(episode)
    return writer.path


def test_a_fit_data_set_exits_with_0(dataset, tmp_path, capsys):
    summary = tmp_path / "summary.json"
    assert main(["validate", str(dataset), "--verify", "--json", str(summary)]) == 0
    assert "fit for training" in capsys.readouterr().out
    assert json.loads(summary.read_text()) == {"problems": []}


def test_problems_are_printed_and_exit_with_2(dataset, tmp_path, capsys):
    with h5py.File(dataset, "a") as file:
        del file["mask/train"]
    summary = tmp_path / "summary.json"
    assert main(["validate", str(dataset), "--json", str(summary)]) == 2
    assert "mask/train: missing or empty; allowed: episode names" in capsys.readouterr().out
    assert json.loads(summary.read_text())["problems"][0]["where"] == "mask/train"


def test_b52_a_cut_off_file_is_recovered_and_still_exits_with_2(dataset, tmp_path, capsys):
    whole = dataset.read_bytes()
    dataset.write_bytes(whole[: int(0.7 * len(whole))])
    saved = tmp_path / "saved.hdf5"
    assert main(["validate", str(dataset), "--recover", str(saved)]) == 2
    out = capsys.readouterr().out
    assert "cut off at" in out and "saved " in out and "lost  demo_3" in out
    assert main(["inspect", str(saved)]) == 0


@pytest.mark.parametrize("verb", ["validate", "inspect"])
def test_a_missing_or_foreign_file_is_one_line_and_2(verb, tmp_path, capsys):
    (tmp_path / "text.hdf5").write_text("x")
    for name, told in (("nothing.hdf5", "no such file"), ("text.hdf5", "not an HDF5 file"), (".", "cannot be read")):
        assert main([verb, str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert told in error and error.count("\n") == 1


def test_inspect_tells_and_summarises(dataset, tmp_path, capsys):
    summary = tmp_path / "summary.json"
    assert main(["inspect", str(dataset), "--json", str(summary)]) == 0
    assert "set.hdf5: 4 episodes, 20 frames, 0.7 s" in capsys.readouterr().out
    assert json.loads(summary.read_text())["masks"] == {"train": 2, "valid": 2}


def test_inspect_of_a_cut_off_file_names_the_way_out(dataset, capsys):
    dataset.write_bytes(dataset.read_bytes()[:-1])
    assert main(["inspect", str(dataset)]) == 2
    assert "r2s2r validate" in capsys.readouterr().err
