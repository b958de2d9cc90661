"""Why something was not kept."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rejection:
    """Why one attempt or demonstration was not kept: the rule, the value it gave and its limit."""

    rule: str
    """Name of the rule, such as `lift_height`."""

    value: float | None = None
    """What was reached, in `unit`."""

    limit: float | None = None
    """What the rule asks for at least, or allows at most where `upper`, in `unit`."""

    unit: str = ""

    upper: bool = False
    """Whether the limit is the most that is allowed."""

    def __str__(self) -> str:
        if self.value is None or self.limit is None:
            return self.rule
        return f"{self.rule} {self.value:.3f} {'>' if self.upper else '<'} {self.limit:.3f} {self.unit}".rstrip()
