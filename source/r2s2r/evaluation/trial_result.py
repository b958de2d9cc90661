"""What one trial of a policy came to: a line of the log, a cell of the table."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.trials import Trial
from r2s2r.evaluation.judging import Outcome


@dataclass(frozen=True)
class TrialResult:
    """One policy in one trial.

    Raises:
        ConfigError: the condition or the outcome is unknown, or a number is of another kind.
    """

    policy: str
    """Name of the policy in the comparison."""
    condition: str
    """Condition of the trial."""
    number: int
    """Number of the trial under its condition."""
    seed: int
    """Seed of the trials' draw."""
    outcome: str
    """Label of an :class:`Outcome`."""
    target_class: str
    """Class of the object that had to be sorted."""
    shape: str
    """Its shape and size."""
    belt_speed: float
    """Speed sent to the belt [m/s]."""
    duration_s: float
    """Time that the attempt took on the cell [s]."""
    decisions: int
    """Answers of the policy that were begun to execute."""
    blended: int
    """Joins of two answers whose jump was above the limit and was blended."""
    largest_jump: float
    """Largest jump of a hand joint at a join [rad]."""
    held_steps: int
    """Steps in which the robot held still because no answer was there, those before the first one not counted."""

    def __post_init__(self):
        Trial(self.condition, self.number, self.seed)
        if self.outcome not in {outcome.label for outcome in Outcome if outcome is not Outcome.RUNNING}:
            raise ConfigError(f"trial result: outcome is {self.outcome!r}, allowed are the labels of an ended attempt")

    @property
    def success(self) -> bool:
        """Whether the target lay still in its bin."""
        return self.outcome == Outcome.SUCCESS.label

    @property
    def start(self) -> tuple[str, int, int]:
        """Condition, number and seed: what two policies have to share to be compared."""
        return self.condition, self.number, self.seed

    @property
    def trial(self) -> Trial:
        """The trial."""
        return Trial(self.condition, self.number, self.seed)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Any) -> "TrialResult":
        """Return the result of :meth:`to_dict`.

        Raises:
            ConfigError: a value is missing, unknown or of another type.
        """
        types: dict[str, Any] = {item.name: item.type for item in fields(cls)}
        if not isinstance(content, dict) or set(content) != set(types):
            raise ConfigError(f"trial result: allowed are exactly the values {', '.join(types)}")
        for name, kind in types.items():
            if type(content[name]) is not kind and not (kind is float and type(content[name]) is int):
                raise ConfigError(f"trial result: {name} is {content[name]!r}, allowed is {kind.__name__}")
        return cls(**content)
