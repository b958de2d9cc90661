"""The catalogue finds the recorded data and tells whole copies from damaged ones."""

import hashlib
import shutil

import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.recording import catalogue
from r2s2r.recording.data_set import DataSet, FileState, worst
from r2s2r.recording.data_sets import DATA_SETS


def test_variable_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(catalogue.DATA_DIR_VARIABLE, str(tmp_path))
    assert catalogue.data_dir() == tmp_path
    assert catalogue.data_file("leap_grab") == tmp_path / "hand_motion/leap_grab.npz"


def test_variable_that_names_nothing_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv(catalogue.DATA_DIR_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="R2S2R_DATA_DIR: received .*nowhere"):
        catalogue.data_dir()


def test_without_variable_the_folder_beside_the_checkout_counts(monkeypatch, tmp_path):
    monkeypatch.delenv(catalogue.DATA_DIR_VARIABLE, raising=False)
    monkeypatch.setattr(catalogue, "_CHECKOUT", tmp_path / "checkout")
    assert catalogue.data_dir() is None
    assert catalogue.data_file("leap_grab") is None
    (tmp_path / "shared/data").mkdir(parents=True)
    assert catalogue.data_dir() == tmp_path / "shared/data"


def test_unknown_set_and_file_are_named():
    with pytest.raises(ConfigError, match="'leap_grap' is unknown, known are leap_grab"):
        catalogue.data_set("leap_grap")
    with pytest.raises(ConfigError, match="webxr_hand_poses_left.json, .*right.json"):
        catalogue.data_file("webxr_hand_poses")


def test_every_set_states_source_licence_and_checksum():
    assert len({entry.name for entry in DATA_SETS}) == len(DATA_SETS)
    for entry in DATA_SETS:
        assert len(entry.commit) == 40 and entry.repository.count("/") == 1 and entry.licence
        assert any(path.startswith("LICENSES/") for path in entry.sha256), f"{entry.name} carries no licence text"
        assert all(len(digest) == 64 for digest in entry.sha256.values())


def test_verify_tells_present_missing_and_damaged(tmp_path):
    (tmp_path / "whole").write_bytes(b"whole")
    (tmp_path / "cut").write_bytes(b"c")
    digests = {"whole": hashlib.sha256(b"whole").hexdigest(), "cut": "0", "gone": "0"}
    entry = DataSet("x", "", "a/b", "0" * 40, "MIT", digests)
    assert entry.verify(tmp_path) == {
        "whole": FileState.PRESENT,
        "cut": FileState.DAMAGED,
        "gone": FileState.MISSING,
    }
    assert entry.verify(tmp_path, checksums=False)["cut"] == FileState.PRESENT
    assert worst([FileState.MISSING, FileState.PRESENT, FileState.DAMAGED]) == FileState.DAMAGED


def test_the_data_here_are_whole(data_dir, tmp_path):
    """Where the recorded data are present, every byte of the hand motion is the catalogued one."""
    entry = catalogue.data_set("leap_grab")
    assert set(entry.verify(data_dir).values()) == {FileState.PRESENT}
    for path in entry.sha256:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data_dir / path, tmp_path / path)
    damaged = tmp_path / "hand_motion/leap_grab.npz"
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes()[:1000])
    assert entry.verify(tmp_path)["hand_motion/leap_grab.npz"] == FileState.DAMAGED
