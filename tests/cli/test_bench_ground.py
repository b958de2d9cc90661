"""`r2s2r bench ground`: what it refuses, and the summary that it writes. The measurement itself is the benchmark."""

import json
from types import SimpleNamespace

import pytest

from r2s2r.cli import bench_ground
from r2s2r.cli.main import main


@pytest.fixture
def measured(monkeypatch):
    """Replace recording, fits and peers: every world misses by its seed, in thousandths of the limit."""

    def one_world(seed, folder):
        figures = {name: 1e-3 * seed * limit for name, limit in bench_ground.LIMITS.items()} | {"coverage": 0.95}
        return figures, {"arm.armature": (6, 7), "hand.lag_s": (16, 16)}, SimpleNamespace()

    monkeypatch.setattr(bench_ground, "_record", lambda seeds, folder: None)
    monkeypatch.setattr(bench_ground, "_one_world", one_world)
    monkeypatch.setattr(bench_ground, "_peers", lambda seed, folder, grounding: {"arm": {"ratio": 0.1}})


def test_medians_over_worlds_and_coverage_over_everything_are_written(measured, tmp_path, capsys):
    summary = tmp_path / "bench.json"
    assert main(["bench", "ground", "--seeds", "101", "102", "900", "--json", str(summary)]) == 0
    written = json.loads(summary.read_text())
    assert written["median"]["mount_mm"] == pytest.approx(0.102 * 1.5)
    assert set(written["median"]) == {*bench_ground.LIMITS, "coverage"}
    assert written["median"]["coverage"] == pytest.approx(66 / 69)
    assert written["coverage_by_parameter"]["arm.armature"] == [18, 21]
    assert [world["seed"] for world in written["worlds"]] == [101, 102, 900]
    assert written["peers"] == {"arm": {"ratio": 0.1}}
    printed = capsys.readouterr().out
    assert printed.count("   met") == len(bench_ground.LIMITS) + 1 and "NOT met" not in printed


def test_what_is_not_met_is_said(measured, capsys):
    assert main(["bench", "ground", "--seeds", "1200", "--no-peers"]) == 0
    assert capsys.readouterr().out.count("NOT met") == len(bench_ground.LIMITS)


@pytest.mark.parametrize("seeds", [["101", "101"], ["-1"]])
def test_seeds_are_checked(measured, seeds, capsys):
    assert main(["bench", "ground", "--seeds", *seeds]) == 2
    assert "--seeds: received" in capsys.readouterr().err
