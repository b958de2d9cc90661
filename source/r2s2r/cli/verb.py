"""What every verb of the command has in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Verb(ABC):
    """One verb: its fields are its options, `run` does the work.

    A subclass is a frozen dataclass; tyro turns its fields into kebab-case options and their docstrings into help.
    """

    # Keyword only, so that a subclass may have required fields behind this default.
    json: Path | None = field(default=None, kw_only=True)
    """Write the summary to this file too, as JSON."""

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """Do the work, print what a human wants to read, and return the summary as JSON-able values.

        A key `exit_code` is taken out of the summary and becomes the exit status of the process (default 0).

        Raises:
            R2S2RError: the user can mend it; the command prints it as one line and exits with 2.
        """
