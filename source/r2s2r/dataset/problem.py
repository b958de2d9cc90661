"""One thing that is wrong with a data set."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """What is wrong where, and what is allowed."""

    where: str
    """Path inside the file, or the file's own."""

    what: str
    """The value received."""

    allowed: str
    """What would be right."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; allowed: {self.allowed}"
