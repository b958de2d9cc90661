"""The replay bench: both sides run the same physics, also where attempts end and begin between them."""

import json

import pytest
from isaaclab_newton.physics import NewtonManager

from r2s2r.cli.main import main
from r2s2r_tasks.belt_sort import bench_replay
from r2s2r_tasks.belt_sort.physics_checkpoint import model_changes_held_back

pytestmark = pytest.mark.sim


def test_bare_physics_reaches_the_very_state_that_the_replay_reached(monkeypatch, tmp_path):
    monkeypatch.setattr(bench_replay, "WARM_UP_STEPS", 3)
    monkeypatch.setattr(bench_replay, "CONTROL_STEPS", (6, 6))
    # Attempts end within 0.4 s, so that resets fall between the timed steps.
    monkeypatch.setattr(bench_replay, "ATTEMPT_S", 0.4)
    summary = tmp_path / "bench.json"
    assert main(["bench", "replay", "--num-envs", "8", "--repetitions", "2", "--json", str(summary)]) == 0
    (row,) = json.loads(summary.read_text())["rows"]
    assert row["state_error"] == 0.0
    assert row["attempts_ended"] >= 1
    assert (row["num_envs"], row["repetitions"], row["control_steps"]) == (8, 2, 6)
    low, high = row["ratio_range"]
    # The replay does all that bare physics does and more; eight environments leave it at least a tenth of the time.
    assert 0.1 < low <= row["ratio"] <= high
    assert row["real_time_factor"] == pytest.approx(row["replay_env_steps_per_s"] / 30.0)


def test_model_changes_reach_the_solver_after_the_bare_steps(monkeypatch):
    pending = {object()}
    monkeypatch.setattr(NewtonManager, "_model_changes", pending)
    with model_changes_held_back():
        assert NewtonManager._model_changes == set()
    assert NewtonManager._model_changes is pending
