"""One stage of a study: a command, what it needs, what it leaves, and whether it is done.

A stage owns a folder below the study's. `begun.json` says what it was begun with, `done.json` appears last, whole, with
the hashes of what the stage read and left. Neither holds a clock time or an absolute path.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import ConfigError, StudyError
from r2s2r.contracts.files import file_sha256, write_json
from r2s2r.contracts.provenance import code_revision, versions

FORMAT_VERSION = 1
"""Of `begun.json` and `done.json`."""

SUPERSEDED = "superseded"
"""Folder below the study's for stages that were made from other inputs."""


@dataclass(frozen=True)
class Stage:
    """A command of Python's and its place in the study.

    Raises:
        ConfigError: it names no output.
    """

    name: str
    """Its folder below the study's."""
    command: tuple[str, ...]
    """Arguments of the Python interpreter, run in the study's folder with paths relative to it. Together with the
    inputs they decide what the stage comes to."""
    outputs: tuple[str, ...]
    """Files or folders that it leaves in its folder."""
    needs: tuple[str, ...] = ()
    """Names of the stages whose outputs it reads."""
    how: tuple[str, ...] = ()
    """Further arguments that do not change what it comes to, such as the number of processes."""
    limit: int = 0
    """How far it goes at most, its last argument; 0: it has none. One that ended at a smaller limit goes on to a larger
    one, so that nothing is made twice; one that went further than allowed is made anew."""
    resume: tuple[str, ...] | None = None
    """Arguments that go on with an interrupted command; None: it begins anew in an empty folder."""
    same_code: bool = False
    """Whether its command refuses to go on with what other code began; then it is made anew."""
    cores: int = 1
    """Processor cores that it keeps busy."""
    expected_s: float = 60.0
    """About how long it takes, for the estimate of the time left [s]."""

    def __post_init__(self):
        if not self.outputs:
            raise ConfigError(f"stage {self.name}: no outputs, allowed are one and more")


class State(Enum):
    """What is there of a stage."""

    NEW = "new"
    """Nothing."""
    HALF = "half"
    """It was begun with the same command and inputs, and can go on, or ended at a smaller limit."""
    STALE = "stale"
    """It was begun or finished with another command or other inputs, or cannot go on."""
    DONE = "done"
    """It is finished, with the same command and inputs, and its outputs are there."""


def key_of(stage: Stage, digests: Mapping[str, str]) -> dict[str, Any]:
    """Return what decides what a stage comes to.

    Args:
        stage: the stage.
        digests: of the outputs of the stages that it needs, by name.
    """
    return {
        "format_version": FORMAT_VERSION,
        "stage": stage.name,
        "command": list(stage.command),
        "inputs": {name: digests[name] for name in stage.needs},
        **({"limit": stage.limit} if stage.limit else {}),
    }


def state_of(stage: Stage, root: Path, key: Mapping[str, Any]) -> State:
    """Return what is there of a stage in the study's folder `root`."""
    folder = root / stage.name
    done = _read(folder / "done.json")
    if done is not None:
        whole = _sizes(folder, stage) == _told_sizes(done)
        return _compared(done, key, State.DONE) if whole else State.STALE
    begun = _read(folder / "begun.json")
    if begun is None:
        return State.STALE if folder.exists() and any(folder.iterdir()) else State.NEW
    same_code = not stage.same_code or begun.get("code") == _code()
    return _compared(begun, key, State.HALF) if same_code else State.STALE


def begin(stage: Stage, root: Path, key: Mapping[str, Any]) -> tuple[str, ...]:
    """Make the stage's folder ready and return the arguments to run.

    What was made from other inputs is moved to `superseded/`, so that nothing is lost and nothing is mixed.
    """
    folder, state = root / stage.name, state_of(stage, root, key)
    going_on = state is State.HALF and stage.resume is not None
    if state is not State.NEW and not going_on:
        _set_aside(root, stage.name)
    folder.mkdir(parents=True, exist_ok=True)
    begun = _read(folder / "begun.json") if going_on else None
    write_json(folder / "begun.json", {**(begun or {"code": _code()}), **key})
    (folder / "done.json").unlink(missing_ok=True)
    limit = (str(stage.limit),) if stage.limit else ()
    return (*stage.command, *stage.how, *limit, *(stage.resume if going_on and stage.resume else ()))


def finish(stage: Stage, root: Path, key: Mapping[str, Any]) -> str:
    """Write `done.json` and return the digest of the stage's outputs.

    Raises:
        StudyError: an output is not there.
    """
    folder = root / stage.name
    missing = [name for name in stage.outputs if not (folder / name).exists()]
    if missing:
        raise StudyError(f"stage {stage.name}: ended well but left no {', '.join(missing)} in {folder}")
    outputs = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
        for path in _files(folder, stage)
    }
    write_json(folder / "done.json", {**key, "outputs": outputs, "code": code_revision()})
    return digest_of(stage, root)


def digest_of(stage: Stage, root: Path) -> str:
    """Return the digest of the outputs of a stage that is done.

    Raises:
        StudyError: it is not.
    """
    done = _read(root / stage.name / "done.json")
    if done is None:
        raise StudyError(f"stage {stage.name}: not done")
    hashes = {name: entry["sha256"] for name, entry in done["outputs"].items()}
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()


def _compared(told: Mapping[str, Any], key: Mapping[str, Any], state: State) -> State:
    """Return `state` if a stage was begun or done as its key says, HALF if with a smaller limit, else STALE."""
    if any(told.get(name) != value for name, value in key.items() if name != "limit"):
        return State.STALE
    reached, allowed = told.get("limit", 0), key.get("limit", 0)
    return state if reached == allowed else State.HALF if reached < allowed else State.STALE


def _code() -> dict[str, Any]:
    return {"revision": code_revision(), "versions": versions()}


def _set_aside(root: Path, name: str) -> None:
    number = 1
    while (target := root / SUPERSEDED / f"{name}-{number}").exists():
        number += 1
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(root / name, target)


def _files(folder: Path, stage: Stage) -> list[Path]:
    found = []
    for name in stage.outputs:
        path = folder / name
        found += sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return found


def _sizes(folder: Path, stage: Stage) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in _files(folder, stage) if path.exists()}


def _told_sizes(done: Mapping[str, Any]) -> dict[str, int]:
    return {name: entry["bytes"] for name, entry in done["outputs"].items()}


def _read(path: Path) -> dict[str, Any] | None:
    """Return a JSON table; None where there is none or it cannot be read, which is then made again."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
