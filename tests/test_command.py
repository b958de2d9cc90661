"""The `r2s2r` command: what every verb can rely on."""

import json
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import tyro

from r2s2r.cli import main as command
from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError


@dataclass(frozen=True)
class Work(Verb):
    """A verb for these tests."""

    file: tyro.conf.Positional[Path]
    """Required, behind the optional `json` of the base."""
    num_envs: int = 4
    """Environments."""
    fate: str = "well"
    """How it ends."""

    def run(self) -> dict[str, Any]:
        if self.fate == "refused":
            raise ConfigError("num_envs: received 0,\n  allowed are 1 and more")
        if self.fate == "interrupted":
            raise KeyboardInterrupt
        if self.fate == "missing":
            import no_such_module  # noqa: F401
        if self.fate == "misspelt":
            import r2s2r.no_such_module  # noqa: F401
        return {"num_envs": self.num_envs, "exit_code": 2 if self.fate == "failed" else 0}


@dataclass(frozen=True)
class Other(Verb):
    """Another one."""

    def run(self) -> dict[str, Any]:
        return {"ratio": 0.5}


Either = Annotated[Work, tyro.conf.subcommand("work")] | Annotated[Other, tyro.conf.subcommand("other")]


@pytest.fixture(autouse=True)
def verbs(monkeypatch):
    module = types.ModuleType("verbs_of_this_test")
    module.Work, module.Either = Work, Either
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(command.VERBS, "work", command.VerbEntry("verbs_of_this_test:Work", "works", "r2s2r[test]"))
    monkeypatch.setitem(command.VERBS, "either", command.VerbEntry("verbs_of_this_test:Either", "one of two", "r2s2r"))


def test_a_verb_runs_and_writes_its_summary(tmp_path):
    summary = tmp_path / "new" / "summary.json"
    assert command.main(["work", "in.hdf5", "--num-envs", "8", "--json", str(summary)]) == 0
    assert json.loads(summary.read_text()) == {"num_envs": 8}  # without the exit code


def test_a_verb_chooses_its_exit_status_and_still_writes_its_summary(tmp_path):
    assert command.main(["work", "in.hdf5", "--fate", "failed", "--json", str(tmp_path / "summary.json")]) == 2
    assert (tmp_path / "summary.json").exists()


def test_a_verb_may_be_a_union(tmp_path):
    assert command.main(["either", "other", "--json", str(tmp_path / "summary.json")]) == 0
    assert json.loads((tmp_path / "summary.json").read_text()) == {"ratio": 0.5}


def test_user_errors_are_one_line_and_exit_2(capfd):
    assert command.main(["work", "in.hdf5", "--fate", "refused"]) == 2
    captured = capfd.readouterr()
    assert captured.err == "r2s2r: error: num_envs: received 0, allowed are 1 and more\n"
    assert captured.out == ""


def test_interruption_is_said_and_exits_130(capfd):
    assert command.main(["work", "in.hdf5", "--fate", "interrupted"]) == 130
    assert capfd.readouterr().err == "r2s2r: interrupted\n"


def test_missing_module_names_what_to_install(capfd):
    assert command.main(["work", "in.hdf5", "--fate", "missing"]) == 2
    assert "module 'no_such_module' is not installed; bring it by: pip install 'r2s2r[test]'" in capfd.readouterr().err


def test_a_fault_of_ours_keeps_its_traceback():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        command.main(["work", "in.hdf5", "--fate", "misspelt"])


def test_unknown_verb_lists_the_known(capfd):
    assert command.main(["wrok"]) == 2
    assert "verb: received 'wrok', allowed are demo, data, " in capfd.readouterr().err


@pytest.mark.parametrize("arguments", [["work"], ["work", "in.hdf5", "--num-envs", "many"], ["work", "a", "--nope"]])
def test_wrong_command_line_exits_2(arguments, capfd):
    assert command.main(arguments) == 2
    assert capfd.readouterr().err


def test_summary_that_cannot_be_written_is_refused_before_the_work(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(Work, "run", lambda self: pytest.fail("the work was done"))
    (tmp_path / "file").write_text("in the way")
    assert command.main(["work", "in.hdf5", "--json", str(tmp_path / "file" / "summary.json")]) == 2
    assert "cannot be written" in capfd.readouterr().err
    assert command.main(["work", "in.hdf5", "--json", str(tmp_path)]) == 2
    assert "is a folder; give the path of a file" in capfd.readouterr().err


def test_overview_lists_every_verb(capsys):
    assert command.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [name for name in command.VERBS if not any(line.startswith(f"  {name} ") for line in lines)] == []
    assert command.main([]) == 2


def _run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_overview_and_version_need_neither_parser_nor_simulator():
    done = _run(
        "import sys; from r2s2r.cli.main import main; main(['--help']); main(['--version']);"
        "sys.exit(str([m for m in ('tyro', 'torch', 'warp', 'newton', 'isaaclab') if m in sys.modules]))"
    )
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("verb", ["demo", "data", "retarget", "validate", "inspect", "bench"])
def test_help_of_each_verb_is_there_and_starts_no_simulator(verb):
    done = _run(
        f"import sys; from r2s2r.cli.main import main; status = main(['{verb}', '--help']); assert status == 0;"
        "sys.exit(str([m for m in ('torch', 'isaaclab', 'rclpy', 'robomimic') if m in sys.modules]))"
    )
    assert done.stderr == "[]\n"
    assert f"usage: r2s2r {verb}" in done.stdout
    assert "--json" in done.stdout or verb == "bench"


def test_closed_pipe_ends_quietly():
    code = "import sys; from r2s2r.cli.main import main; sys.exit(main(['--help']))"
    # `true` closes the pipe at once; the writer waits until it is gone.
    script = f'(sleep 0.3; {sys.executable} -c "{code}"; echo $? >&2) | true'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stderr == "141\n"
