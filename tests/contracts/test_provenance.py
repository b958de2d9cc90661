import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import IntEnum
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import r2s2r
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.provenance import DISTRIBUTIONS, machine, provenance

PACKAGE = Path(r2s2r.__file__).parent


class Mode(IntEnum):
    FAST = 1


@dataclass(frozen=True)
class Inner:
    gains: np.ndarray
    mode: Mode = Mode.FAST


@dataclass(frozen=True)
class Config:
    inner: Inner
    rate_hz: float = 30.0
    out: Path = Path("/somewhere")
    names: tuple[str, ...] = ("a", "b")
    extra: object = None


def test_configuration_is_resolved_to_json_values():
    record = provenance(Config(Inner(np.array([1.0, 2.0]))), seed=7)
    expected = {"inner": {"gains": [1.0, 2.0], "mode": "FAST"}, "rate_hz": 30.0, "names": ["a", "b"], "extra": None}
    assert record["config"] == expected
    assert record["seed"] == 7
    assert json.loads(json.dumps(record)) == record


def test_where_files_lie_leaves_no_trace(tmp_path):
    records = []
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "grab.npz").write_bytes(b"recording")
        config = Config(Inner(np.zeros(2)), out=tmp_path / place)
        records.append(provenance(config, [tmp_path / place / "grab.npz"], seed=1))
    assert records[0] == records[1]
    assert list(records[0]["inputs"]) == ["grab.npz"]
    assert str(tmp_path) not in json.dumps(records[0])


def test_inputs_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for place in ("real", "sim"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "dataset.hdf5").write_text(place)
    inputs = [tmp_path / "real" / "dataset.hdf5", tmp_path / "sim" / "dataset.hdf5"]
    recorded = provenance({}, [*inputs, inputs[0]])["inputs"]
    assert sorted(recorded) == ["real/dataset.hdf5", "sim/dataset.hdf5"]
    assert len(set(recorded.values())) == 2
    assert provenance({}, inputs[::-1])["inputs"] == recorded


def test_missing_input_is_one_clear_error(tmp_path):
    with pytest.raises(ConfigError, match=r"input '.*gone\.npz' cannot be read: No such file"):
        provenance({}, [tmp_path / "gone.npz"])


def test_value_without_json_form_is_named():
    with pytest.raises(ConfigError, match=r"config\.inner\[1\]\.call: received a function"):
        provenance({"inner": [0, {"call": test_value_without_json_form_is_named}]})


def test_versions_are_those_installed():
    versions = provenance({})["versions"]
    assert versions["numpy"] == version("numpy") == np.__version__
    assert versions["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(versions) <= {"python", *DISTRIBUTIONS}


def _code_seen_from(package: Path) -> dict | None:
    """Return what a fresh interpreter reports for a copy of the package."""
    script = "import json; from r2s2r.contracts.provenance import code_revision; print(json.dumps(code_revision()))"
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=package.parent, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_code_revision_is_the_checkout_s_own(tmp_path):
    package = tmp_path / "r2s2r"
    shutil.copytree(PACKAGE / "contracts", package / "contracts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "__init__.py", package)
    assert _code_seen_from(package) is None  # no checkout

    (tmp_path / "theirs.txt").write_text("someone else's project")
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", "theirs.txt")
    _git(tmp_path, "commit", "--quiet", "-m", "theirs")
    assert _code_seen_from(package) is None  # installed inside a foreign checkout

    _git(tmp_path, "add", "r2s2r")
    _git(tmp_path, "commit", "--quiet", "-m", "ours")
    revision = _git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "report.html").write_text("untracked")
    assert _code_seen_from(package) == {"revision": revision, "dirty": False}

    with open(package / "contracts" / "errors.py", "a") as file:
        file.write("# changed\n")
    assert _code_seen_from(package) == {"revision": revision, "dirty": True}


def test_machine_says_what_a_bench_ran_on():
    described = machine()
    assert set(described) == {"cpu", "cores", "memory_bytes", "gpu"}
    assert described["cpu"]
    assert 1 <= described["cores"] <= os.cpu_count()
    assert described["memory_bytes"] > 2**28
