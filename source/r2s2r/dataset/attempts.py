"""What became of the attempts from which a data set was made."""

from collections import Counter
from dataclasses import dataclass, field

from r2s2r.contracts.rejection import Rejection


@dataclass
class Attempts:
    """Count of attempts kept and rejected, by reason."""

    kept: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """Number of rejected attempts by rule."""

    examples: list[str] = field(default_factory=list)
    """Up to :data:`MAX_EXAMPLES` rejections with value and limit."""

    def reject(self, rejection: Rejection) -> None:
        """Count one rejected attempt."""
        self.rejected[rejection.rule] += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(str(rejection))

    @property
    def total(self) -> int:
        """Number of attempts."""
        return self.kept + self.rejected.total()

    @property
    def success_yield(self) -> float | None:
        """Share of the attempts that were kept, None without attempts."""
        return self.kept / self.total if self.total else None

    def __str__(self) -> str:
        share = "n/a" if self.success_yield is None else f"{100 * self.success_yield:.1f} %"
        return f"{self.kept}/{self.total} kept ({share})"

    def to_dict(self) -> dict[str, object]:
        """Return the figures for a summary."""
        reasons = dict(sorted(self.rejected.items()))
        return {"attempts": self.total, "successes": self.kept, "yield": self.success_yield, "failures": reasons}


MAX_EXAMPLES = 10
"""Rejections told in full: enough to see a pattern, short enough for one message."""
