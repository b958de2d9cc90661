"""`r2s2r record`: what it refuses, what it shows, what it leaves behind. The routine itself: tests/recording."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from r2s2r.cli.main import main
from r2s2r.contracts.cell import CellInfo, Message, Picture
from r2s2r.contracts.world import World
from r2s2r.recording import calibration
from r2s2r.recording.cell_log_file import partial_path, read_cell_log, recover_cell_log


class QuickCell:
    """Only what the verb itself asks of a virtual cell."""

    def __init__(self, seed: int):
        nominal = World.nominal()
        arm = nominal.arm
        self.info = CellInfo(
            f"cell {seed}",
            arm.drive_stiffness,
            arm.drive_damping,
            "allegro_v4_right",
            nominal.wrist_cameras.camera,
            nominal.poses.head_camera,
        )

    def place_item(self) -> None:
        """Nothing."""


@pytest.fixture
def quick(monkeypatch):
    """Replace cell, plan and routine; the routine's end can be set."""
    end = SimpleNamespace(error=None)

    def record(cell, log, plan, place_item, progress):
        assert plan == "plan" and place_item == cell.place_item
        progress("arm_chirp", 0.0, 20.0)
        log.begin_segment("arm_chirp", 1.0)
        log.append([Message("arm_command", 1.0, np.zeros(7)), Message("arm_command", 1.1, np.zeros(7))])
        log.end_segment(2.0)
        for k in range(2):
            progress(f"viewpoint {k + 1} of 2", 10.0 + k, 20.0)
            log.append_picture(Picture("head", 3.0 + k, np.zeros((4, 6, 3), np.uint8)))
        if end.error is not None:
            raise end.error
        return 12.5

    monkeypatch.setitem(sys.modules, "r2s2r.cell.virtual_cell", SimpleNamespace(VirtualCell=QuickCell))
    monkeypatch.setattr(calibration, "plan_calibration", lambda description, targets: "plan")
    monkeypatch.setattr(calibration, "record_calibration", record)
    return end


def test_recording_and_summary_are_written(quick, tmp_path, capsys):
    summary = tmp_path / "summary.json"
    arguments = ["record", "calibration", "--cell", "virtual", "--seed", "7", "--out", str(tmp_path)]
    assert main([*arguments, "--json", str(summary)]) == 0
    log = read_cell_log(tmp_path / "calibration.hdf5")
    assert log.info.name == "cell 7" and log.provenance["seed"] == 7
    written = json.loads(summary.read_text())
    assert written["segments"] == {"arm_chirp": 1} and written["pictures"] == {"head": 2}
    assert written["samples"] == {"arm_command": 2} and (written["cell_s"], written["seed"]) == (12.5, 7)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["   0 of 20 s  arm_chirp", "  10 of 20 s  viewpoint 1 of 2"]
    assert lines[-2:] == ["  segments: arm_chirp 1", "  pictures: 2 head"]


def test_an_existing_recording_is_kept_unless_told_otherwise(quick, tmp_path, capsys):
    arguments = ["record", "calibration", "--out", str(tmp_path)]
    assert main(arguments) == 0
    before = (tmp_path / "calibration.hdf5").read_bytes()
    assert main([*arguments, "--seed", "1"]) == 2
    assert "calibration.hdf5: exists" in capsys.readouterr().err
    assert (tmp_path / "calibration.hdf5").read_bytes() == before
    assert main([*arguments, "--seed", "1", "--overwrite"]) == 0
    assert read_cell_log(tmp_path / "calibration.hdf5").info.name == "cell 1"


def test_interruption_keeps_what_was_recorded(quick, tmp_path):
    quick.error = KeyboardInterrupt()
    assert main(["record", "calibration", "--out", str(tmp_path)]) == 130
    path = tmp_path / "calibration.hdf5"
    assert not path.exists() and partial_path(path).exists()
    recovered = recover_cell_log(path).log
    assert len(recovered.pictures["head"].png) == 2 and recovered.segments[0].name == "arm_chirp"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibration", "--cell", "real"], "--cell: received 'real', allowed are virtual"),
        (["calibration", "--seed", "-1"], f"--seed: received -1, allowed are 0 to {2**31 - 1}"),
    ],
)
def test_bad_arguments_are_one_line_and_2(arguments, message, quick, tmp_path, capsys):
    assert main(["record", *arguments, "--out", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err == f"r2s2r: error: {message}\n"
    assert not (tmp_path / "new").exists()
