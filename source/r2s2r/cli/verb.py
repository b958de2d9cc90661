"""What every verb of the command has in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import ConfigError


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

    def check_counts(self, *names: str) -> None:
        """Refuse options that are not at least 1.

        Raises:
            ConfigError: with the first one.
        """
        for name in names:
            if getattr(self, name) < 1:
                option = name.replace("_", "-")
                raise ConfigError(f"--{option}: received {getattr(self, name)}, allowed are 1 and more")

    def check_seed(self, seed: int) -> None:
        """Refuse a seed that the simulator cannot take.

        Raises:
            ConfigError: with what is allowed.
        """
        if not 0 <= seed < 2**31:
            raise ConfigError(f"--seed: received {seed}, allowed are 0 to {2**31 - 1}")
