"""What became of every attempt of a recording, a line each, safe on disk before its episode is."""

import json
import os
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.files import whole_file
from r2s2r.deployment.demonstration_attempt import DemonstrationAttempt

FORMAT_VERSION = 1
"""Of the file; readers refuse another one."""


class AttemptLog:
    """Attempts in the order of their numbers, behind a line with the settings that they were made with."""

    def __init__(self, path: Path, settings: dict[str, Any], interrupted: str):
        """Begin, or go on with what is there.

        Args:
            path: the file.
            settings: JSON-able.
            interrupted: what to do with an earlier log: `refuse`, `resume` or `discard`.

        Raises:
            ConfigError: there is a log that may not be used, it is damaged, or it was begun with other settings.
        """
        self._path = path
        self._settings = {"format_version": FORMAT_VERSION, **settings}
        self.attempts: list[DemonstrationAttempt] = []
        """Attempts so far."""
        if path.exists() and interrupted == "refuse":
            raise ConfigError(f"{path}: a recording was begun here; go on with --resume or replace it with --overwrite")
        if path.exists() and interrupted == "resume":
            self._read()
        self._write_anew()

    def add(self, attempt: DemonstrationAttempt) -> None:
        """Add one attempt, safe on disk when this returns."""
        self.attempts.append(attempt)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(attempt.to_dict()) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def forget_unsaved(self, saved: int) -> None:
        """Forget a last success whose episode was not saved, so that it is made again.

        Args:
            saved: episodes on disk.

        Raises:
            ConfigError: other episodes are missing, or there are more than successes.
        """
        successes = sum(attempt.success for attempt in self.attempts)
        if successes == saved + 1 and self.attempts[-1].success:
            self.attempts.pop()
            self._write_anew()
        elif successes != saved:
            raise ConfigError(
                f"{self._path}: tells of {successes} demonstrations, but {saved} are in the parts folder; "
                "record anew with --overwrite"
            )

    def _read(self) -> None:
        lines = self._path.read_text(encoding="utf-8").splitlines()
        try:
            begun = json.loads(lines[0]) if lines else None
            for number, line in enumerate(lines[1:], start=2):
                try:
                    self.attempts.append(DemonstrationAttempt(**json.loads(line)))
                except ValueError:
                    if number < len(lines):
                        raise
                    # The last line may have been cut off together with its writer.
        except (ValueError, TypeError) as error:
            raise ConfigError(f"{self._path}: damaged ({error}); record anew with --overwrite") from error
        wanted = json.loads(json.dumps(self._settings))
        if begun != wanted:
            before = begun if isinstance(begun, dict) else {}
            name = next((name for name in wanted if before.get(name) != wanted[name]), "settings")
            raise ConfigError(
                f"{self._path}: was begun with {name} {before.get(name)}, received {wanted.get(name)}; resume with the "
                "same, or choose another folder"
            )

    def _write_anew(self) -> None:
        lines = [self._settings, *(attempt.to_dict() for attempt in self.attempts)]
        with whole_file(self._path) as aside:
            aside.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
