"""Where a file came from: configuration, inputs, code, seed and versions.

Two runs with the same seed must write the same bytes, so nothing here depends on the clock, the host or where a file
lies; what does (:func:`machine`) is for benchmarks and stays out of data files.
"""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.files import file_sha256

FORMAT_VERSION = 1
"""Version of the layout that :func:`provenance` returns."""

DISTRIBUTIONS = ("r2s2r", "isaaclab", "mujoco", "newton", "numpy", "torch", "warp-lang")
"""Distributions whose version can change a result."""


def provenance(config: Any, inputs: Iterable[Path] = (), seed: int | None = None) -> dict[str, Any]:
    """Return the origin of a result as JSON-able values, equal for equal runs.

    Args:
        config: dataclass instance or mapping, resolved. Entries that are paths are left out: where a file lies is not
            part of what it holds, so name the files that matter in `inputs`.
        inputs: files that were read; recorded by name and SHA-256.
        seed: seed of the run, if it has one.

    Returns:
        `format_version`, `config`, `inputs` {name: SHA-256}, `code` {revision, dirty} or None outside a git checkout,
        `seed` and `versions` {distribution: version} of what is installed.

    Raises:
        ConfigError: an input cannot be read, or a configuration value has no JSON form (its name is in the message).
    """
    return {
        "format_version": FORMAT_VERSION,
        "config": _plain(config, "config"),
        "inputs": _hashes(inputs),
        "code": code_revision(),
        "seed": seed,
        "versions": versions(),
    }


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed :data:`DISTRIBUTIONS`, without importing them."""
    found = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def code_revision() -> dict[str, str | bool] | None:
    """Return the git commit of this code and whether tracked files differ from it; None if it is not a checkout."""
    # A package installed into someone else's checkout must not report their commit: this file has to be tracked.
    if _git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    revision = _git("rev-parse", "HEAD")
    # Untracked files do not count, or the first run's output folder would change the second run's provenance.
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return None if revision is None else {"revision": revision, "dirty": changes != ""}


def machine() -> dict[str, str | int | None]:
    """Return what a benchmark ran on: `cpu` model, usable `cores`, `memory_bytes`, `gpu` name or None."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpu": _output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]) or None,
    }


def _plain(value: Any, where: str) -> Any:
    """Return `value` as JSON-able values."""
    if isinstance(value, Enum):  # before the scalars, since an IntEnum is an int
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist(), where)
    if is_dataclass(value) and not isinstance(value, type):
        return _plain({field.name: getattr(value, field.name) for field in fields(value)}, where)
    if isinstance(value, Mapping):
        return {str(k): _plain(v, f"{where}.{k}") for k, v in value.items() if not isinstance(v, Path)}
    if isinstance(value, set | frozenset):
        return sorted(_plain(list(value), where))
    if isinstance(value, list | tuple):
        return [_plain(v, f"{where}[{i}]") for i, v in enumerate(value) if not isinstance(v, Path)]
    raise ConfigError(
        f"{where}: received a {type(value).__name__}, allowed are dataclasses, mappings, sequences, arrays, enums, "
        "numbers, strings and None"
    )


def _hashes(inputs: Iterable[Path]) -> dict[str, str]:
    """Return {name: SHA-256}; a name is the end of the path that tells two different files apart."""
    paths = sorted({Path(path).resolve() for path in inputs})
    hashes: dict[str, str] = {}
    for path in paths:
        length = 1
        while any(other != path and other.parts[-length:] == path.parts[-length:] for other in paths):
            length += 1
        try:
            hashes["/".join(path.parts[-length:])] = file_sha256(path)
        except OSError as error:
            raise ConfigError(f"input {str(path)!r} cannot be read: {error.strerror}") from error
    return dict(sorted(hashes.items()))


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _git(*arguments: str) -> str | None:
    # No optional locks: another process may be committing in this checkout.
    return _output(["git", "--no-optional-locks", "-C", str(Path(__file__).parent), *arguments])


def _output(command: list[str]) -> str | None:
    """Return the stripped standard output of `command`, None if it is not installed or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return done.stdout.strip()
