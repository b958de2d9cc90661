"""`r2s2r data` lists every set with source, licence, checksum and place, and tells damaged copies."""

import json

import pytest

from r2s2r.cli.data import Data
from r2s2r.recording import catalogue
from r2s2r.recording.data_sets import DATA_SETS


def test_list_without_any_data_says_where_to_put_them(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv(catalogue.DATA_DIR_VARIABLE, raising=False)
    monkeypatch.setattr(catalogue, "_CHECKOUT", tmp_path / "checkout")
    summary = Data().run()
    printed = capsys.readouterr().out
    json.dumps(summary)
    assert str(tmp_path / "shared/data") in printed and "exit_code" not in summary
    for entry in DATA_SETS:
        assert entry.url in printed and entry.licence in printed
        assert all(path in printed and digest in printed for path, digest in entry.sha256.items())
    assert {row["state"] for row in summary["data_sets"]} == {"missing"}


def test_verify_fails_on_a_damaged_copy(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(catalogue.DATA_DIR_VARIABLE, str(tmp_path))
    damaged = tmp_path / "hand_motion/leap_grab.npz"
    damaged.parent.mkdir()
    damaged.write_bytes(b"cut off")
    summary = Data(verify=True).run()
    assert summary["exit_code"] == 2
    assert next(row for row in summary["data_sets"] if row["name"] == "leap_grab")["state"] == "damaged"
    assert "hand_motion/leap_grab.npz  <- damaged" in capsys.readouterr().out


@pytest.mark.usefixtures("data_dir")
def test_verify_of_the_data_here(capsys):
    summary = Data(verify=True).run()
    assert "exit_code" not in summary and {row["state"] for row in summary["data_sets"]} == {"present"}
