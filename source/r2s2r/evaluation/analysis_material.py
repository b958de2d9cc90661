"""What an analysis is made of, and how much of it is looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from r2s2r.contracts.checks import set_count
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.policy import Policy
from r2s2r.evaluation.analysis_data import DataSet, Domain, check_same_pictures, rollout_domain
from r2s2r.evaluation.coverage import CoverageCfg
from r2s2r.evaluation.getting_back import MIN_RUN
from r2s2r.evaluation.rollout import Rollout


@dataclass(frozen=True)
class AnalysisCfg:
    """How much is looked at, and the seed of all that is drawn.

    Raises:
        ConfigError: a number is out of its range.
    """

    coverage: CoverageCfg = field(default_factory=CoverageCfg)
    min_run: int = MIN_RUN
    """Decisions in a row that a change of side has to last."""
    asked_states: int = 100
    """Decisions of each policy at which the single-domain policies are asked too: 50 ms an answer on one core."""
    rounds: int = 200
    """Of every bootstrap."""
    seed: int = 0

    def __post_init__(self):
        set_count(self, "min_run", 1, 100)
        set_count(self, "asked_states", 2, 100_000)
        set_count(self, "rounds", 10, 100_000)


@dataclass(frozen=True)
class Material:
    """What is analysed.

    Raises:
        ConfigError: nothing to compare with, or pictures of several sizes.
    """

    real: DataSet
    sets: Mapping[str, DataSet]
    """Simulated sets by name; the set a policy was co-trained with has the policy's name."""
    rollouts: Sequence[Rollout]
    policies: Mapping[str, Policy] = field(default_factory=dict)
    """By name; those of the rollouts or some of them."""
    real_only: str | None = None
    """Name of the policy among `policies` that was trained on the real demonstrations alone."""
    sim_only: Mapping[str, Policy] = field(default_factory=dict)
    """Policies trained on a simulated set alone, by the name of the set."""

    def __post_init__(self):
        if not self.sets:
            raise ConfigError("analysis: no simulated set, at least one is needed")
        if not self.rollouts:
            raise ConfigError("analysis: no rollouts, at least one is needed")
        if self.sim_only and self.real_only not in self.policies:
            named = ", ".join(self.policies) or "none"
            raise ConfigError(f"real_only: received {self.real_only!r}, allowed beside sim_only are policies: {named}")
        unknown = sorted(set(self.sim_only) - set(self.sets))
        if unknown:
            raise ConfigError(f"sim_only: received {unknown[0]!r}, allowed are sets: {', '.join(self.sets)}")
        domains = [self.real.domain, *(one.domain for one in self.sets.values()), *self.decisions.values()]
        check_same_pictures(domains)
        for name, policy in (*self.policies.items(), *self.sim_only.items()):
            size = policy.info["picture_size"]
            if size != domains[0].picture_size:
                raise ConfigError(
                    f"policy {name}: takes pictures of {size} px, the real set has {domains[0].picture_size}"
                )

    @property
    def by_policy(self) -> dict[str, list[Rollout]]:
        """Rollouts of each policy, in the order of `policies` and `sets`."""
        tried = dict.fromkeys(str(rollout.meta["policy"]) for rollout in self.rollouts)
        known = [name for name in (*self.policies, *self.sets) if name in tried]
        ordered = dict.fromkeys([*known, *tried])
        return {name: [r for r in self.rollouts if r.meta["policy"] == name] for name in ordered}

    @property
    def decisions(self) -> dict[str, Domain]:
        """Decisions of each policy."""
        return {name: rollout_domain(rollouts, f"{name}, rollouts") for name, rollouts in self.by_policy.items()}

    def own_sets(self, policy: str) -> dict[str, Domain]:
        """Return the set that a policy was co-trained with; all sets for one whose name none has."""
        chosen = [policy] if policy in self.sets else list(self.sets)
        return {name: self.sets[name].domain for name in chosen}
