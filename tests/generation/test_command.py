"""What only one process of a job should do, and how processes that work on it are listened to."""

import threading
import time
from pathlib import Path

import pytest

from r2s2r.contracts.errors import SimulationError
from r2s2r.generation import command, processes
from r2s2r.generation.command import only_one
from r2s2r.generation.processes import roles_of, run_processes


def test_one_does_it_and_the_others_wait_until_it_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "WAIT_S", 0.01)
    result, owners = tmp_path / "result", []
    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        with only_one(tmp_path / "lock", result.exists) as mine:
            owners.append(mine)
            if mine:
                time.sleep(0.1)
                result.write_text("done")
            assert result.exists()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(owners) == [False, False, False, True]


def test_who_fails_lets_another_one_try(tmp_path):
    done = tmp_path / "result"
    with pytest.raises(KeyError), only_one(tmp_path / "lock", done.exists) as mine:
        assert mine
        raise KeyError
    with only_one(tmp_path / "lock", done.exists) as mine:
        assert mine


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_somebody_simulates_and_everybody_films_in_the_end(workers):
    roles = roles_of(workers)
    assert len(roles) == workers and roles[0] == ["simulate", "film"]
    assert all(part[-1] == "film" for part in roles)


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Return a function that makes the worker's program; it finds the role in `sys.argv[2]`."""

    def write(text: str) -> None:
        (tmp_path / "scripted_worker.py").write_text(f"import json, sys, time\nrole = sys.argv[2]\n{text}\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(processes, "WORKER_MODULE", "scripted_worker")

    return write


def test_what_all_processes_have_done_is_summed_up(tmp_path: Path, worker):
    worker(
        """
print("Warp says something that is no JSON")
for n in (1, 2):
    print(json.dumps({"pid": role, "filmed": 10 * n, "attempts": n}), flush=True)
"""
    )
    news = []
    run_processes(tmp_path, "cpu", [["a"], ["b"]], news.append)
    assert news[-1] == {"filmed": 40, "attempts": 4}


def test_the_reason_of_a_failure_is_told_and_the_others_are_stopped(tmp_path: Path, worker):
    worker(
        """
if role == "bad":
    print(json.dumps({"error": "disk full"}), flush=True)
    sys.exit(2)
time.sleep(600)
"""
    )
    began = time.monotonic()
    with pytest.raises(SimulationError, match="disk full; what is finished in .* is safe"):
        run_processes(tmp_path, "cpu", [["good"], ["bad"]])
    assert time.monotonic() - began < 60.0, "the other one would sleep for ten minutes"


def test_a_crash_without_a_word_is_told_by_its_last_line(tmp_path: Path, worker):
    worker("raise ValueError('no such thing')")
    with pytest.raises(SimulationError, match="ended with status 1: ValueError: no such thing"):
        run_processes(tmp_path, "cpu", [["film"]])
