"""The log of an evaluation: a line for each trial as it ends, so that an interrupted run loses at most those under way.

The first line holds the settings; a run with others does not go on with the file.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import ConfigError, DatasetError
from r2s2r.contracts.files import writable_folder
from r2s2r.evaluation.trial_result import TrialResult

FORMAT_VERSION = 1
"""Version of the file."""


class TrialLog:
    """A log that is open for one run; close it, or use it as a context manager."""

    def __init__(self, path: "str | os.PathLike[str]", settings: Mapping[str, Any], *, resume: bool = False):
        """Begin a log, or go on with one.

        A last line that was cut off, as by a power failure, is dropped: its trial is made again.

        Args:
            path: the file.
            settings: JSON-able values that the results depend on.
            resume: go on with a log that is there.

        Raises:
            ConfigError: there is a log already and `resume` is not given, it was begun with other settings, or the
                folder cannot be written.
            DatasetError: another run writes to it, or it is damaged elsewhere than at its end.
        """
        self._path = Path(path)
        writable_folder(self._path.parent)
        self._file = open(self._path, "a+b")  # noqa: SIM115, held open for the whole run
        try:
            self._lock()
            results, end = _parsed(self._path, settings, self._read())
            if end and not resume:
                raise ConfigError(f"{self._path}: there are trials already; go on with --resume or take another folder")
            self._file.truncate(end)
            self._results = {(result.policy, *result.start): result for result in results}
            if not end:
                self._append({"format_version": FORMAT_VERSION, "settings": _plain(settings)})
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "TrialLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, key: tuple[str, str, int, int]) -> bool:
        """Return whether a trial is there: policy, condition, number, seed."""
        return key in self._results

    @property
    def results(self) -> list[TrialResult]:
        """What is there, in the order of the file."""
        return list(self._results.values())

    def append(self, result: TrialResult) -> None:
        """Add a trial; it is on the disk when this returns."""
        self._append(result.to_dict())
        self._results[(result.policy, *result.start)] = result

    def close(self) -> None:
        """Close the file and let other runs use it."""
        self._file.close()

    def _append(self, content: Any) -> None:
        self._file.write(json.dumps(content, sort_keys=True).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> bytes:
        self._file.seek(0)
        return self._file.read()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DatasetError(f"{self._path}: another run writes to it; wait for it or take another folder") from error


def read_trials(path: "str | os.PathLike[str]") -> tuple[dict[str, Any], list[TrialResult]]:
    """Return the settings and the trials of a log.

    Raises:
        DatasetError: it is missing or damaged, but for a last line that was cut off.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DatasetError(f"{path}: no log of trials ({error.strerror})") from error
    lines, _ = _lines(content)
    if not lines:
        raise DatasetError(f"{path}: no log of trials, it is empty")
    return _header(Path(path), lines[0]), [_result(Path(path), n, line) for n, line in enumerate(lines[1:], 2)]


def _parsed(path: Path, settings: Mapping[str, Any], content: bytes) -> tuple[list[TrialResult], int]:
    """Return the trials in the file and how many of its bytes are whole lines."""
    lines, end = _lines(content)
    if not lines:
        return [], 0
    there, wanted = _header(path, lines[0]), _plain(settings)
    others = sorted(key for key in {*there, *wanted} if there.get(key) != wanted.get(key))
    if others:
        key = others[0]
        raise ConfigError(
            f"{path}: begun with other settings: {key} was {there.get(key)!r} and is now {wanted.get(key)!r}; "
            "take the same or another folder"
        )
    return [_result(path, number, line) for number, line in enumerate(lines[1:], 2)], end


def _lines(content: bytes) -> tuple[list[bytes], int]:
    """Return the whole lines and where they end; a last one that was cut off, or is no JSON, is left out."""
    lines = content.splitlines(keepends=True)
    if lines and not _is_whole(lines[-1]):
        lines.pop()
    return lines, sum(map(len, lines))


def _is_whole(line: bytes) -> bool:
    if not line.endswith(b"\n"):
        return False
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _header(path: Path, line: bytes) -> dict[str, Any]:
    content = _json(path, 1, line)
    version = content.get("format_version") if isinstance(content, dict) else None
    if version != FORMAT_VERSION or not isinstance(content.get("settings"), dict):
        raise DatasetError(f"{path}: line 1: format_version is {version!r}, known is {FORMAT_VERSION} with settings")
    return content["settings"]


def _result(path: Path, number: int, line: bytes) -> TrialResult:
    try:
        return TrialResult.from_dict(_json(path, number, line))
    except ConfigError as error:
        raise DatasetError(f"{path}: line {number}: {error}") from error


def _json(path: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise DatasetError(f"{path}: line {number} is damaged ({error})") from error


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as they come back from a file: tuples as lists."""
    return json.loads(json.dumps(settings))
