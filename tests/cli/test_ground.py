"""`r2s2r ground`: what it refuses before anything long is begun. Whole runs: tests/world/test_grounding.py."""

import pytest

from r2s2r.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["camera", "log.hdf5"], "which: received 'camera', allowed are wrist, poses, arm, hand, all"),
        (["arm", "log.hdf5", "--overlays", "-1"], "--overlays: received -1, allowed are 0 to 16"),
        (["arm", "nowhere.hdf5"], "nowhere.hdf5"),
    ],
)
def test_bad_arguments_are_one_line_and_2(arguments, message, tmp_path, capsys):
    assert main(["ground", *arguments, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and error.startswith("r2s2r: error:")
    assert not list(tmp_path.glob("world.yaml"))


def test_a_base_that_is_no_world_is_refused_first(tmp_path, capsys):
    (tmp_path / "base.yaml").write_text("- 1\n")
    arguments = ["ground", "arm", "nowhere.hdf5", "--out", str(tmp_path), "--base", str(tmp_path / "base.yaml")]
    assert main(arguments) == 2
    assert "received list, allowed is a table" in capsys.readouterr().err
