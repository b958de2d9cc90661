"""r2s2r.sh: how it finds an interpreter, when it installs, and what it hands on. Nothing is downloaded here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BASE_PYTHON = Path(sys.base_prefix) / "bin" / "python3.12"

pytestmark = pytest.mark.skipif(
    not (ROOT / "r2s2r.sh").exists() or not BASE_PYTHON.exists(), reason="needs the checkout and an unpacked CPython"
)


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of what the script reads, in a folder with a space in its name."""
    checkout = tmp_path / "a checkout"
    (checkout / "requirements").mkdir(parents=True)
    for name in ("r2s2r.sh", "pyproject.toml", "setup.py", "requirements/constraints.txt", "requirements/excludes.txt"):
        shutil.copy(ROOT / name, checkout / name)
    return checkout


def _run(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run the script from elsewhere, in a home without anything, unable to reach a package index."""
    home = checkout.parent / "home"
    home.mkdir(exist_ok=True)
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(
        [checkout / "r2s2r.sh", *arguments], env=clean | environment, cwd=home, capture_output=True, text=True
    )


def _script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def _pretend_installed(checkout: Path) -> None:
    """Put an interpreter that only repeats its arguments, and the stamp of a finished installation."""
    _script(checkout / ".venv" / "bin" / "python", 'echo "$PWD: $*"')
    wanted = "".join(
        (checkout / name).read_text()
        for name in ("pyproject.toml", "setup.py", "requirements/constraints.txt", "requirements/excludes.txt")
    )
    (checkout / ".venv" / "r2s2r-installed").write_text(f"{checkout} sim,ground,train,test\n{wanted}")


def test_installed_checkout_hands_a_verb_on_from_any_folder(checkout):
    _pretend_installed(checkout)
    done = _run(checkout, "demo", "--out", "my demo")
    assert done.stdout == f"{checkout.parent / 'home'}: -m r2s2r.cli.main demo --out my demo\n"
    assert (done.stderr, done.returncode) == ("", 0)


def test_tests_run_in_the_checkout(checkout):
    _pretend_installed(checkout)
    told = _run(checkout, "test", "-k", "joints").stdout
    assert told.startswith(f"{checkout}: -m pytest ") and told.endswith(" -k joints\n")


def _change_requirements(checkout: Path) -> None:
    with open(checkout / "requirements" / "constraints.txt", "a") as file:
        file.write("numpy==2.2.5\n")


def test_changed_requirements_are_installed_once_more(checkout):
    _pretend_installed(checkout)
    _change_requirements(checkout)
    calls = checkout.parent / "calls"
    _script(checkout / ".venv" / "bin" / "uv", f'echo "$*" >>"{calls}"')
    for _ in range(2):
        assert _run(checkout, "setup").returncode == 0
    (call,) = calls.read_text().splitlines()
    assert call.startswith("pip install --quiet --python ")
    assert call.endswith(f"-e {checkout}[sim,ground,train,test]")


def test_failed_installation_is_redone_from_an_empty_environment(checkout):
    _pretend_installed(checkout)
    _change_requirements(checkout)
    _script(checkout / ".venv" / "bin" / "uv", "exit 1")
    done = _run(checkout, "demo")
    assert done.stderr.splitlines()[-1].startswith("r2s2r.sh: error: the installation failed (above)")
    assert done.returncode == 2
    done = _run(checkout, "demo", PYTHON=str(BASE_PYTHON))
    assert f"making {checkout}/.venv with {BASE_PYTHON}" in done.stderr
    # With no package index this environment stays without uv: one line, and nothing that looks installed.
    assert "r2s2r.sh: error: pip could not install uv" in done.stderr
    assert done.returncode == 2
    assert not (checkout / ".venv" / "r2s2r-installed").exists()


def test_broken_shim_on_the_path_is_passed_over(checkout):
    shims = checkout.parent / "shims"
    _script(shims / "python3.12", 'echo "python3.12: command not found" >&2; exit 127')
    manager = checkout.parent / "home" / ".pyenv" / "versions" / "3.12.9" / "bin"
    manager.mkdir(parents=True)
    (manager / "python3.12").symlink_to(BASE_PYTHON)
    done = _run(checkout, "setup", PATH=f"{shims}:/usr/bin:/bin", PYENV_ROOT="")
    assert "making" in done.stderr and f"with {shims}" not in done.stderr
    assert "command not found" not in done.stderr


def test_wrong_interpreter_is_refused_by_name(checkout):
    done = _run(checkout, "demo", PYTHON="/bin/false")
    assert done.stderr == (
        "r2s2r.sh: error: PYTHON=/bin/false is not a CPython 3.12 that runs; unset it or name another one\n"
    )
    assert done.returncode == 2


def test_without_arguments_it_explains_itself_and_installs_nothing(checkout):
    done = _run(checkout)
    assert done.stderr.startswith("usage: ./r2s2r.sh demo")
    assert done.returncode == 2
    assert not (checkout / ".venv").exists()
