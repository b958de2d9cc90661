"""The scheduler with small real processes: order, skipping, changed inputs, failures, Ctrl-C and kill -9."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from r2s2r.contracts.errors import ConfigError, StudyError
from r2s2r.study.scheduler import Scheduler
from r2s2r.study.stage import SUPERSEDED, Stage, State, begin, digest_of, key_of, state_of

APPEND = (
    "import sys; open('order.txt', 'a').write(sys.argv[1] + '\\n'); open(sys.argv[1] + '/out', 'w').write(sys.argv[2])"
)


def writing(name: str, content: str = "x", **options) -> Stage:
    """Return a stage that notes its name in `order.txt` and writes `content`."""
    return Stage(name, ("-c", APPEND, name, content), ("out",), **options)


def failing(name: str, **options) -> Stage:
    return Stage(name, ("-c", "print('looking'); raise SystemExit('no grasp: belt stands still')"), ("out",), **options)


def run(root: Path, stages: list[Stage], cores: int = 2) -> list[str]:
    """Run the stages and return the lines told; also when it fails, in `root/told.json`."""
    lines: list[str] = []
    try:
        Scheduler(root, stages, cores, lines.append).run()
    finally:
        (root / "told.json").write_text(json.dumps(lines))
    return lines


def order(root: Path) -> list[str]:
    path = root / "order.txt"
    return path.read_text().split() if path.exists() else []


def test_each_stage_runs_behind_what_it_needs(tmp_path):
    stages = [writing("a"), writing("b"), writing("sets/c", needs=("a",)), writing("d", needs=("b", "sets/c"))]
    run(tmp_path, stages)
    ran = order(tmp_path)
    assert sorted(ran) == ["a", "b", "d", "sets/c"]
    assert ran.index("a") < ran.index("sets/c") < ran.index("d") and ran.index("b") < ran.index("d")
    done = json.loads((tmp_path / "d/done.json").read_text())
    assert set(done["inputs"]) == {"b", "sets/c"} and set(done["outputs"]) == {"out"}


def test_what_is_done_is_skipped(tmp_path):
    stages = [writing("a"), writing("b", needs=("a",))]
    run(tmp_path, stages)
    before = (tmp_path / "b/done.json").read_bytes()
    lines = run(tmp_path, stages)
    assert order(tmp_path) == ["a", "b"] and [line.split(":")[1].strip() for line in lines] == ["done before"] * 2
    assert (tmp_path / "b/done.json").read_bytes() == before


def test_another_command_runs_again_and_so_does_what_read_its_output(tmp_path):
    run(tmp_path, [writing("a", "1"), writing("b", needs=("a",)), writing("c")])
    run(tmp_path, [writing("a", "2"), writing("b", needs=("a",)), writing("c")])
    assert sorted(order(tmp_path)) == ["a", "a", "b", "b", "c"]
    assert (tmp_path / SUPERSEDED / "a-1/out").read_text() == "1" and (tmp_path / "a/out").read_text() == "2"


def test_a_stage_that_comes_to_the_same_bytes_leaves_its_readers_alone(tmp_path):
    run(tmp_path, [writing("a", "same"), writing("b", needs=("a",))])
    reworded = Stage("a", ("-c", APPEND + " ", "a", "same"), ("out",))
    run(tmp_path, [reworded, writing("b", needs=("a",))])
    assert order(tmp_path) == ["a", "b", "a"]


def test_how_it_is_done_does_not_count(tmp_path):
    run(tmp_path, [writing("a", how=("--workers=1",))])
    run(tmp_path, [writing("a", how=("--workers=8",))])
    assert order(tmp_path) == ["a"]


def test_a_greater_limit_goes_on_and_a_smaller_one_begins_anew(tmp_path):
    note = "import sys; open('a/out', 'a').write(' '.join(sys.argv[1:]) + '\\n')"

    def limited(limit: int) -> Stage:
        return Stage("a", ("-c", note), ("out",), how=("how",), limit=limit, resume=("on",))

    for limit in (2, 2, 5):
        run(tmp_path, [limited(limit), writing("b", needs=("a",))])
    assert (tmp_path / "a/out").read_text() == "how 2\nhow 5 on\n"
    assert json.loads((tmp_path / "a/done.json").read_text())["limit"] == 5
    assert order(tmp_path) == ["b", "b"], "what goes on has other outputs, and who reads them is made again"
    run(tmp_path, [limited(2)])
    assert (tmp_path / "a/out").read_text() == "how 2\n"
    assert (tmp_path / SUPERSEDED / "a-1/out").exists()


def test_a_stage_that_was_interrupted_on_the_way_to_a_greater_limit_is_not_taken_for_done(tmp_path):
    stage, further = (Stage("a", ("-c", APPEND, "a", "x"), ("out",), limit=limit, resume=()) for limit in (2, 5))
    run(tmp_path, [stage])
    assert state_of(stage, tmp_path, key_of(stage, {})) is State.DONE
    assert state_of(further, tmp_path, key_of(further, {})) is State.HALF
    begin(further, tmp_path, key_of(further, {}))
    assert state_of(further, tmp_path, key_of(further, {})) is State.HALF
    assert state_of(stage, tmp_path, key_of(stage, {})) is State.STALE


def test_an_output_that_was_lost_or_cut_is_made_again(tmp_path):
    stage = writing("a", "whole")
    run(tmp_path, [stage])
    (tmp_path / "a/out").write_text("who")
    assert state_of(stage, tmp_path, key_of(stage, {})) is State.STALE
    run(tmp_path, [stage])
    assert (tmp_path / "a/out").read_text() == "whole"


@pytest.mark.parametrize(("same_code", "expected"), [(True, State.STALE), (False, State.HALF)])
def test_what_other_code_began_goes_on_only_where_its_command_can(tmp_path, monkeypatch, same_code, expected):
    stage = writing("a", resume=("--resume",), same_code=same_code)
    key = key_of(stage, {})
    assert begin(stage, tmp_path, key)[-1] == "x" and state_of(stage, tmp_path, key) is State.HALF
    monkeypatch.setattr("r2s2r.study.stage.code_revision", lambda: {"revision": "0" * 40, "dirty": False})
    assert state_of(stage, tmp_path, key) is expected
    assert ("--resume" in begin(stage, tmp_path, key)) is not same_code


def test_a_folder_of_outputs_is_hashed_file_by_file(tmp_path):
    program = "import pathlib; p = pathlib.Path('a/deep/er'); p.mkdir(parents=True); (p / 'f').write_text('1')"
    stage = Stage("a", ("-c", program), ("deep",))
    run(tmp_path, [stage])
    assert set(json.loads((tmp_path / "a/done.json").read_text())["outputs"]) == {"deep/er/f"}
    assert len(digest_of(stage, tmp_path)) == 64


def test_a_failure_names_itself_and_its_reason_and_the_others_finish(tmp_path):
    stages = [failing("sets/bad"), writing("a"), writing("b", needs=("sets/bad",)), writing("c", needs=("a",))]
    with pytest.raises(StudyError, match=r"stage sets/bad: ended with status 1: no grasp.*not run for it: b;"):
        run(tmp_path, stages)
    assert sorted(order(tmp_path)) == ["a", "c"]
    assert not (tmp_path / "b").exists()
    told = json.loads((tmp_path / "told.json").read_text())
    shown = [line.strip() for line in told[next(i for i, line in enumerate(told) if "FAILED" in line) :]]
    assert "looking" in shown and "no grasp: belt stands still" in shown
    assert "belt stands still" in (tmp_path / "logs/sets.bad.log").read_text()


def test_a_failed_stage_is_tried_again(tmp_path):
    with pytest.raises(StudyError):
        run(tmp_path, [failing("a"), writing("b", needs=("a",))])
    run(tmp_path, [writing("a"), writing("b", needs=("a",))])
    assert order(tmp_path) == ["a", "b"]


def test_a_stage_that_leaves_nothing_is_a_failure(tmp_path):
    with pytest.raises(StudyError, match="ended well but left no out"):
        run(tmp_path, [Stage("a", ("-c", "print('fine')"), ("out",))])


def test_as_many_at_once_as_there_are_cores(tmp_path):
    program = (
        "import sys, time; begin = time.time(); time.sleep(0.4);"
        "open(sys.argv[1] + '/out', 'w').write(f'{begin} {time.time()}')"
    )
    stages = [
        Stage(name, ("-c", program, name), ("out",), cores=cores) for name, cores in [("a", 1), ("b", 1), ("c", 2)]
    ]
    run(tmp_path, stages)
    span = {name: tuple(map(float, (tmp_path / name / "out").read_text().split())) for name in "abc"}
    assert max(span["a"][0], span["b"][0]) < min(span["a"][1], span["b"][1]), "a and b fit together"
    assert span["c"][0] > max(span["a"][1], span["b"][1]), "c wants both cores"


def test_the_list_is_checked_first(tmp_path):
    with pytest.raises(ConfigError, match="before a, which it needs"):
        Scheduler(tmp_path, [writing("b", needs=("a",)), writing("a")], 1)
    with pytest.raises(ConfigError, match="listed twice"):
        Scheduler(tmp_path, [writing("a"), writing("a")], 1)


STUDY = """
import signal, sys
from pathlib import Path
from r2s2r.study.scheduler import Scheduler
from r2s2r.study.stage import Stage

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts tests in the background has it ignored

SLOW = '''
import pathlib, subprocess, sys, time
folder = pathlib.Path("slow")
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
(folder / "pids").write_text(str(child.pid))
(folder / "runs").open("a").write(" ".join(sys.argv[1:]) + chr(10))
while not pathlib.Path("go").exists():
    time.sleep(0.05)
child.kill()
(folder / "out").write_text("x")
'''
stages = [Stage("slow", ("-c", SLOW), ("out",), resume=("--resume",)), Stage("last", ("-c",
          "open('last/out', 'w').write('x')"), ("out",), needs=("slow",))]
Scheduler(Path(sys.argv[1]), stages, 2).run()
"""


def begun_study(root: Path) -> tuple[subprocess.Popen, int]:
    """Start a study in a process of its own; return it and a grandchild's number once its slow stage works."""
    study = subprocess.Popen([sys.executable, "-c", STUDY, str(root)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60.0
    while not (root / "slow/runs").exists():
        assert study.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    return study, int((root / "slow/pids").read_text())


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} lives on")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_leaves_no_process_behind_and_goes_on(tmp_path, number):
    study, grandchild = begun_study(tmp_path)
    os.kill(study.pid, number)
    assert study.wait(60) != 0
    wait_until_gone(grandchild)
    assert not (tmp_path / "slow/done.json").exists()
    (tmp_path / "go").touch()
    assert subprocess.run([sys.executable, "-c", STUDY, str(tmp_path)]).returncode == 0
    assert (tmp_path / "slow/runs").read_text().splitlines() == ["", "--resume"]
    assert (tmp_path / "last/done.json").exists()
