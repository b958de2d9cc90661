"""How large a study is: data, policy, rounds of training, trials."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from r2s2r.contracts.checks import set_count
from r2s2r.contracts.conditions import condition
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.trials import SPLIT
from r2s2r.contracts.world import FACTORS

POLICY_SIZES = ("tiny", "small", "base", "paper")
"""Configurations of the policy network that can be trained."""

LARGEST_SEED = 2**31 - 1
"""Largest seed that the simulator takes."""


@dataclass(frozen=True)
class StudyScale:
    """What a study costs and how much it can show.

    Raises:
        ConfigError: a value is out of its range.
    """

    name: str
    """Names it."""
    demos: int
    """Demonstrations recorded on the cell."""
    episodes: int
    """Simulated episodes of each data set."""
    num_envs: int
    """Environments at once in each simulating process: fewer waste less at the end of a small data set."""
    policy: str
    """One of POLICY_SIZES."""
    batch_size: int
    """Samples of a training step."""
    round_steps: int
    """Steps of a round of training."""
    max_rounds: int
    """Rounds after which training ends, converged or not."""
    patience: int
    """Rounds without gain after which training ends."""
    trials: tuple[int, ...] = tuple(SPLIT.values())
    """Trials of each policy under each condition, in the order of `contracts.trials.SPLIT`."""
    validation_trials: tuple[int, ...] = (0,) * len(SPLIT)
    """Trials of each policy after each round, likewise."""
    conditions: tuple[str, ...] = ("nominal", "varied")
    """Conditions of the simulated data: simulation varies lamps and belt without anyone's work."""
    picture_size: int = 64
    """Width and height of both pictures [px]."""
    device: str = "cpu"
    """Where simulation and training run: cpu, or a CUDA device such as cuda:0."""
    sim_only: tuple[str, ...] = ()
    """Data sets that a policy is also trained with alone, to see whom a co-trained one follows."""
    overlays: int = 0
    """Pictures in the report of the grounding that compare the cell with Isaac Lab, for each camera."""

    def __post_init__(self):
        set_count(self, "demos", 2, 10**6)
        set_count(self, "episodes", 2, 2**24)
        set_count(self, "num_envs", 1, 2**16)
        for name in ("batch_size", "round_steps", "max_rounds", "patience"):
            set_count(self, name, 1, 10**9)
        set_count(self, "overlays", 0, 16)
        choose("policy", self.policy, POLICY_SIZES)
        for name in self.conditions:
            condition(name)
        if not self.conditions:
            raise ConfigError("conditions: received none, allowed are one and more")
        for name, least in (("trials", 1), ("validation_trials", 0)):
            counts = tuple(getattr(self, name))
            object.__setattr__(self, name, counts)
            if len(counts) != len(SPLIT) or min(counts, default=-1) < 0 or sum(counts) < least:
                raise ConfigError(
                    f"{name}: received {counts}, allowed are {len(SPLIT)} counts from 0, of {', '.join(SPLIT)}"
                )

    @property
    def real_only(self) -> str:
        """Name of the policy that is trained with the real demonstrations alone: `real_100` as in the paper's table."""
        return f"real_{self.demos}"


_SMALL = StudyScale(
    name="small",
    demos=100,
    episodes=1500,
    num_envs=128,
    policy="small",
    batch_size=64,
    round_steps=3000,
    max_rounds=6,
    patience=2,
    validation_trials=(6, 2, 2, 2, 0),
    sim_only=("fully_grounded",),
    overlays=3,
)
_TINY = StudyScale(
    name="tiny",
    demos=20,
    episodes=100,
    num_envs=32,
    policy="tiny",
    batch_size=32,
    round_steps=300,
    max_rounds=2,
    patience=1,
    trials=(4, 2, 2, 2, 1),
    conditions=("varied",),
)
_PAPER = replace(
    _SMALL,
    name="paper",
    num_envs=1024,
    policy="paper",
    batch_size=256,
    round_steps=10_000,
    max_rounds=12,
    device="cuda:0",
)
SCALES = {scale.name: scale for scale in (_TINY, _SMALL, _PAPER)}
"""Scales by name."""


@dataclass(frozen=True)
class SimulatedSet:
    """One simulated data set of the study."""

    name: str
    """Of its folder and of the policy that is trained with it."""
    factors: tuple[str, ...]
    """Factors of the world that are grounded."""
    grounded_behavior: bool
    """Whether the cell's own demonstrations are replayed, or the scripted pinch."""


FOUR_SETS = (
    SimulatedSet("ungrounded", (), False),
    SimulatedSet("behavior_grounded", (), True),
    SimulatedSet("world_grounded", FACTORS, False),
    SimulatedSet("fully_grounded", FACTORS, True),
)
"""The paper's four; the first needs nothing that is measured, so it can be made while the cell is calibrated."""


SCRIPTED_SET = FOUR_SETS[0]
"""The set for which the scripted pinch is tried out; the other worlds replay the same."""


def simulated_sets(single_factors: bool, names: Sequence[str] | None = None) -> tuple[SimulatedSet, ...]:
    """Return the data sets of a study.

    Args:
        single_factors: with the worlds in which one factor alone is grounded, under both behaviors.
        names: of those that are wanted; None: all.

    Raises:
        ConfigError: there is no such set, or one is wanted without `SCRIPTED_SET`, whose demonstrations it replays.
    """
    sets = (*FOUR_SETS, *(_single_factor_sets() if single_factors else ()))
    if names is None:
        return sets
    wanted = {choose("--sets", name, tuple(each.name for each in sets)) for name in names}
    chosen = tuple(each for each in sets if each.name in wanted)
    replays = [each.name for each in chosen if not each.grounded_behavior]
    if replays and SCRIPTED_SET.name not in wanted:
        raise ConfigError(
            f"--sets: received {', '.join(replays)} without {SCRIPTED_SET.name}, whose script they replay"
        )
    if not chosen:
        raise ConfigError("--sets: received none, allowed are one and more")
    return chosen


def _single_factor_sets() -> list[SimulatedSet]:
    return [
        SimulatedSet(f"{factor}_{'grounded' if grounded else 'ungrounded'}_behavior", (factor,), grounded)
        for factor in FACTORS
        for grounded in (False, True)
    ]


def stage_seed(seed: int, purpose: str) -> int:
    """Return the seed of one purpose, so that no two draws of a study are the same by accident."""
    digest = hashlib.sha256(f"study/{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little") % LARGEST_SEED
