"""What a study came to: `study.json`, the pooled table and effects with intervals, read from its finished stages."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import StudyError
from r2s2r.contracts.provenance import code_revision, versions
from r2s2r.contracts.trials import SPLIT
from r2s2r.deployment.trial_log import read_trials
from r2s2r.evaluation.group_bootstrap import Interval
from r2s2r.evaluation.policy_table import PolicyTable
from r2s2r.study.convergence import Round
from r2s2r.study.effects import contrasts, effects
from r2s2r.study.outcomes import Outcomes
from r2s2r.study.plan import CellPlan

FORMAT_VERSION = 1
"""Of `study.json`."""


@dataclass(frozen=True)
class Training:
    """How a policy's training went."""

    rounds: tuple[Round, ...]
    """All of them."""
    best: int
    """Index of the round whose policy was evaluated."""
    converged: bool
    """Whether it stopped since nothing improved any more, not since rounds were used up."""

    @property
    def taken(self) -> Round:
        """The round whose policy was evaluated."""
        return self.rounds[self.best]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values: the evaluated policy's figures, and all rounds."""
        return {
            **self.taken.to_dict(),
            "converged": self.converged,
            "trained_steps": self.rounds[-1].steps,
            "rounds": [one.to_dict() for one in self.rounds],
        }


@dataclass(frozen=True)
class StudyResults:
    """The results of all cells of a study."""

    plans: tuple[CellPlan, ...]
    """Its cells."""
    command: str
    """The command that makes the study again."""
    tables: dict[int, PolicyTable]
    """Each cell's table, by the seed of the cell."""
    table: PolicyTable
    """All cells' trials together."""
    effects: dict[str, Interval]
    """What grounding is worth."""
    training: dict[int, dict[str, Training]]
    """How each policy was trained, by the seed of the cell."""
    data_sets: dict[int, dict[str, dict[str, Any]]]
    """What `r2s2r generate` says of each simulated data set, by the seed of the cell."""
    revisions: tuple[dict[str, Any] | None, ...]
    """Code revisions that the stages were made with."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values, the same for the same seeds, settings and code."""
        return {
            "format_version": FORMAT_VERSION,
            "command": self.command,
            "scale": asdict(self.plans[0].scale),
            "seeds": [plan.seed for plan in self.plans],
            "code": code_revision(),
            "stage_code": list(self.revisions),
            "versions": versions(),
            **self.table.to_dict(),
            "by_cell": {str(seed): table.to_dict()["policies"] for seed, table in self.tables.items()},
            "effects": {name: effect.to_dict() for name, effect in self.effects.items()},
            "convergence": {
                str(seed): {name: each.to_dict() for name, each in policies.items()}
                for seed, policies in self.training.items()
            },
            "data_sets": {str(seed): sets for seed, sets in self.data_sets.items()},
        }


def read_results(root: Path, plans: Sequence[CellPlan], command: str) -> StudyResults:
    """Return the results of a study whose evaluations are finished.

    Args:
        root: the study's folder.
        plans: its cells.
        command: what to type to make it again.

    Raises:
        StudyError: a file of a stage is missing or damaged.
        DatasetError: a log of trials is damaged.
        ConfigError: policies were not tried from the same starts.
    """
    policies = plans[0].policies
    tables, results = {}, []
    for plan in plans:
        _, trials = read_trials(root / plan.folder / "evaluation" / "trials.jsonl")
        tables[plan.seed] = _table(policies, trials)
        results += trials
    weights = contrasts(policies, plans[0].scale.real_only)
    return StudyResults(
        plans=tuple(plans),
        command=command,
        tables=tables,
        table=_table(policies, results),
        effects=effects(Outcomes.of(tables), weights),
        training={plan.seed: {name: _training(root / plan.folder, name) for name in policies} for plan in plans},
        data_sets={
            plan.seed: {each.name: _data_set(root / plan.folder, each.name) for each in plan.sets} for plan in plans
        },
        revisions=_revisions(root, plans),
    )


def _table(policies: tuple[str, ...], trials: Sequence[Any]) -> PolicyTable:
    tried = {trial.condition for trial in trials}
    return PolicyTable.of(policies, [name for name in SPLIT if name in tried], trials)


def _training(folder: Path, policy: str) -> Training:
    content = _read(folder / "policies" / policy / "convergence.json")
    return Training(tuple(Round(**each) for each in content["rounds"]), content["best"], content["converged"])


def _data_set(folder: Path, name: str) -> dict[str, Any]:
    summary = _read(folder / "sets" / name / "summary.json")
    return {key: summary.get(key) for key in ("episodes", "attempts", "yield", "failures", "dataset_sha256")}


def _revisions(root: Path, plans: Sequence[CellPlan]) -> tuple[dict[str, Any] | None, ...]:
    told = []
    for stage in (stage for plan in plans for stage in plan.stages()):
        path = root / stage.name / "done.json"
        code = _read(path)["code"] if path.exists() else None
        if path.exists() and code not in told:
            told.append(code)
    return tuple(told)


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise StudyError(f"{path}: missing or damaged ({error})") from error
