"""The stages of a study: which command makes what from what.

::

    OUT/cell_7/                  everything of the cell whose hidden world has seed 7
      calibration -> world ------------+
      demos ---------------------------+-> sets/NAME (generate) -> policies/NAME (train, in rounds) -> evaluation
                                                                                                          |
                                                                                                       analysis
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from r2s2r.contracts.trials import SPLIT
from r2s2r.study.settings import SCRIPTED_SET, SimulatedSet, StudyScale, stage_seed
from r2s2r.study.stage import Stage

COMMAND = ("-m", "r2s2r.cli.main")
"""The `r2s2r` command as arguments of the interpreter."""

CALIBRATION_S, GROUND_S = 390.0, 75.0
"""Time of the two on one core [s]."""
DEMO_S, EPISODE_S, SET_S, TRIAL_S = 12.0, 3.0, 120.0, 4.5
"""Time of one core for a demonstration, a simulated episode, the begin of a data set, and a trial [s]."""
SIM_ONLY = "_sim_only"
"""Behind a data set's name: the policy that is trained with it alone, which the analysis compares with."""

STEP_S = {"tiny": 0.12, "small": 0.22, "base": 6.0, "paper": 1.0}
"""Time of a training step by the size of the policy [s]: one core, of `paper` one CUDA device."""

ANALYSIS_S = 120.0
"""Time of the analysis [s]."""


@dataclass(frozen=True)
class CellPlan:
    """The stages of one cell."""

    scale: StudyScale
    """How large the study is."""
    sets: tuple[SimulatedSet, ...]
    """Simulated data sets, each of which trains a policy."""
    seed: int
    """Seed of the cell's hidden world and of everything else that is drawn."""
    cores: int
    """Processor cores of the study."""

    @property
    def folder(self) -> str:
        """Folder of the cell below the study's."""
        return f"cell_{self.seed}"

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies in the order of the table."""
        return (self.scale.real_only, *(each.name for each in self.sets))

    def stages(self) -> list[Stage]:
        """Return the stages, those that others wait longest for first."""
        grounded_worlds = any(each.factors for each in self.sets)
        return [
            *((self._calibration(), self._world()) if grounded_worlds else ()),
            self._demos(),
            *map(self._set, self.sets),
            self._policy(self.scale.real_only, None, 1.0),
            *(self._policy(each.name, each, 0.5) for each in self.sets),
            *(self._policy(f"{each.name}{SIM_ONLY}", each, 0.0) for each in self._sim_only),
            self._evaluation(),
            self._analysis(),
        ]

    @property
    def _sim_only(self) -> list[SimulatedSet]:
        """Sets that a policy is also trained with alone."""
        return [each for each in self.sets if each.name in self.scale.sim_only]

    @property
    def _share(self) -> int:
        """Cores of a stage that can use several: four such stages fill the machine. A CUDA device has one at a time."""
        return self.cores if self.scale.device != "cpu" else max(1, self.cores // 4)

    @property
    def _set_share(self) -> int:
        """Cores of a data set: as `_share`, and more where fewer than four are made."""
        return max(self._share, self.cores // len(self.sets))

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def _calibration(self) -> Stage:
        name = self._path("calibration")
        return Stage(
            name,
            (*COMMAND, "record", "calibration", "--out", name, "--seed", str(self.seed)),
            ("calibration.hdf5",),
            expected_s=CALIBRATION_S,
        )

    def _world(self) -> Stage:
        name, recording = self._path("world"), self._path("calibration/calibration.hdf5")
        return Stage(
            name,
            (*COMMAND, "ground", "all", recording, "--out", name, "--overlays", str(self.scale.overlays)),
            ("world.yaml",),
            needs=(self._path("calibration"),),
            expected_s=GROUND_S,
        )

    def _demos(self) -> Stage:
        name, scale = self._path("demos"), self.scale
        options = ("--episodes", str(scale.demos), "--picture-size", str(scale.picture_size), "--seed", str(self.seed))
        return Stage(
            name,
            (*COMMAND, "record", "demos", "--out", name, *options),
            ("demos.hdf5",),
            how=("--workers", str(self._share)),
            resume=("--resume",),
            cores=self._share,
            expected_s=DEMO_S * scale.demos / self._share,
        )

    def _set(self, chosen: SimulatedSet) -> Stage:
        name, scale, share = self._path(f"sets/{chosen.name}"), self.scale, self._set_share
        needs, world, behavior = [], ("--world", "nominal"), "ungrounded"
        if chosen.factors:
            needs.append(self._path("world"))
            world = ("--world", self._path("world/world.yaml"), "--factors", "+".join(chosen.factors))
        if chosen.grounded_behavior:
            needs.append(self._path("demos"))
            behavior = self._path("demos/demos.hdf5")
        elif chosen.factors:  # the script is tried out once, for all worlds
            needs.append(self._path(f"sets/{SCRIPTED_SET.name}"))
            behavior = self._path(f"sets/{SCRIPTED_SET.name}/behavior")
        options = {
            "episodes": scale.episodes,
            "num-envs": scale.num_envs,
            "picture-size": scale.picture_size,
            "seed": stage_seed(self.seed, "sets"),
        }
        conditions = ("--conditions", *scale.conditions)
        return Stage(
            name,
            (*COMMAND, "generate", name, *world, "--behavior", behavior, *_options(options), *conditions),
            ("dataset.hdf5", "behavior"),
            needs=tuple(needs),
            how=("--workers", str(share), "--device", scale.device),
            resume=("--resume",),
            same_code=True,
            cores=share,
            expected_s=SET_S + EPISODE_S * scale.episodes / share,
        )

    def _policy(self, name: str, simulated: SimulatedSet | None, real_share: float) -> Stage:
        scale = self.scale
        # On a processor one thread: another number would sum in another order, and the table depend on the machine.
        cores = 1 if scale.device == "cpu" else self._share
        trials = scale.validation_trials if real_share else (0,) * len(SPLIT)  # sim-only ones are for the analysis
        sets = [] if simulated is None else [self._path(f"sets/{simulated.name}")]
        cfg = {
            "real": self._path("demos/demos.hdf5"),
            "simulated": f"{sets[0]}/dataset.hdf5" if sets else None,
            "real_share": real_share,
            "size": scale.policy,
            "batch_size": scale.batch_size,
            "seed": stage_seed(self.seed, "policies"),
            "round_steps": scale.round_steps,
            "patience": scale.patience,
            "cell_seed": self.seed,
            "trial_seed": stage_seed(self.seed, "validation"),
            "trials": list(trials),
            "device": scale.device,
        }
        tried_s = scale.max_rounds * sum(trials) * TRIAL_S
        trained_s = scale.max_rounds * scale.round_steps * STEP_S[scale.policy]
        return Stage(
            self._path(f"policies/{name}"),
            ("-m", "r2s2r.study.policy_rounds", self._path(f"policies/{name}"), json.dumps(cfg, sort_keys=True)),
            ("best", "convergence.json"),
            needs=(self._path("demos"), *sets),
            how=(str(cores),),
            limit=scale.max_rounds,
            resume=(),
            cores=cores,
            expected_s=trained_s + tried_s / cores,
        )

    def _evaluation(self) -> Stage:
        name, scale = self._path("evaluation"), self.scale
        trials = tuple(map(str, scale.trials))
        seeds = ("--seed", str(self.seed), "--trial-seed", str(stage_seed(self.seed, "evaluation")))
        count = len(self.policies) * sum(scale.trials)
        return Stage(
            name,
            (
                *COMMAND,
                "evaluate",
                name,
                "--policies",
                *self._checkpoints(),
                "--cell",
                "virtual",
                *seeds,
                "--trials",
                *trials,
            ),
            ("trials.jsonl", "table.json"),
            needs=tuple(self._path(f"policies/{policy}") for policy in self.policies),
            how=("--workers", str(self.cores)),
            resume=("--resume",),
            cores=self.cores,
            expected_s=TRIAL_S * count / self.cores,
        )

    def _checkpoints(self) -> list[str]:
        return [f"{policy}={self._path(f'policies/{policy}/best')}" for policy in self.policies]

    def _analysis(self) -> Stage:
        name = self._path("analysis")
        sets = [f"{each.name}={self._path(f'sets/{each.name}/dataset.hdf5')}" for each in self.sets]
        sim_only = [f"{each.name}={self._path(f'policies/{each.name}{SIM_ONLY}/best')}" for each in self._sim_only]
        inputs = ("--evaluation", self._path("evaluation"), "--real", self._path("demos/demos.hdf5"), "--sim", *sets)
        policies = ("--policies", *self._checkpoints(), "--real-only", self.scale.real_only)
        policies += ("--sim-only", *sim_only) if sim_only else ()
        return Stage(
            name,
            (*COMMAND, "analyze", name, *inputs, *policies, "--seed", str(stage_seed(self.seed, "analysis"))),
            ("analysis.html", "analysis.json"),
            needs=(
                *map(self._path, ("evaluation", "demos")),
                *(self._path(f"sets/{each.name}") for each in self.sets),
                *(self._path(f"policies/{policy}") for policy in self.policies),
                *(self._path(f"policies/{each.name}{SIM_ONLY}") for each in self._sim_only),
            ),
            resume=(),
            expected_s=ANALYSIS_S,
        )


def plan_study(scale: StudyScale, sets: tuple[SimulatedSet, ...], seeds: Sequence[int], cores: int) -> list[CellPlan]:
    """Return the plans of all cells of a study, one for each seed of a hidden world."""
    return [CellPlan(scale, sets, seed, cores) for seed in seeds]


def _options(values: dict[str, int]) -> tuple[str, ...]:
    return tuple(part for name, value in values.items() for part in (f"--{name}", str(value)))
