"""The stages of a study: what reads what, and that every command is one that its verb takes."""

import importlib
import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
import tyro

from r2s2r.cli.main import VERBS
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.trials import SPLIT
from r2s2r.contracts.world import FACTORS
from r2s2r.study.plan import COMMAND, plan_study
from r2s2r.study.policy_rounds import PolicyRounds
from r2s2r.study.scheduler import Scheduler
from r2s2r.study.settings import SCALES, SimulatedSet, simulated_sets, stage_seed
from r2s2r.study.stage import Stage


def stages(scale: str = "small", factors: bool = False, seeds=(7,), cores: int = 2) -> dict[str, Stage]:
    plans = plan_study(SCALES[scale], simulated_sets(factors), seeds, cores)
    return {stage.name: stage for plan in plans for stage in plan.stages()}


def parsed(arguments: tuple[str, ...]):
    """Return the verb that the command line makes, or fail with what is wrong with it."""
    module, _, attribute = VERBS[arguments[0]].target.partition(":")
    verb_type = getattr(importlib.import_module(module), attribute)
    try:
        return tyro.cli(verb_type, args=list(arguments[1:]))
    except SystemExit as error:
        raise AssertionError(f"r2s2r {' '.join(arguments)} is refused") from error


def verb_commands(stage: Stage) -> list[tuple[str, ...]]:
    """Return the `r2s2r` commands that a stage runs, as first run and as resumed."""
    if stage.command[: len(COMMAND)] == COMMAND:
        whole = (*stage.command[len(COMMAND) :], *stage.how)
        return [whole, (*whole, *(stage.resume or ()))]
    rounds = PolicyRounds(**json.loads(stage.command[-1]))
    folder = Path(stage.command[-2])
    return [rounds.training_command(folder, 100), rounds.validation_command(Path("checkpoint"), folder / "round_1", 1)]


@pytest.mark.parametrize("scale", sorted(SCALES))
def test_every_command_is_one_that_its_verb_takes(scale):
    seen = set()
    for stage in stages(scale).values():
        for command in verb_commands(stage):
            parsed(command)
            seen.add(command[0])
    assert seen == {"record", "ground", "generate", "train", "evaluate", "analyze"}


def test_every_path_that_is_read_belongs_to_a_stage_that_is_needed():
    for stage in stages(factors=True).values():
        words = " ".join(stage.command).replace('"', " ").replace("=", " ").replace(",", " ").split()
        read = {word for word in words if word.startswith("cell_7/") and not word.startswith(stage.name)}
        for path in read:
            owners = [name for name in stage.needs if path == name or path.startswith(f"{name}/")]
            assert owners, f"{stage.name} reads {path} and needs only {stage.needs}"


def test_the_four_sets_differ_in_world_and_behavior_alone():
    made = stages()
    sets = {name: parsed(made[f"cell_7/sets/{name}"].command[2:]) for name in ("ungrounded", "fully_grounded")}
    shared = [f.name for f in fields(sets["ungrounded"]) if f.name not in ("out", "world", "factors", "behavior")]
    assert {n: getattr(sets["ungrounded"], n) for n in shared} == {
        n: getattr(sets["fully_grounded"], n) for n in shared
    }
    needs = {
        s.name: tuple(n.rpartition("/")[2] for n in made[f"cell_7/sets/{s.name}"].needs) for s in simulated_sets(False)
    }
    assert needs == {
        "ungrounded": (),
        "behavior_grounded": ("demos",),
        "world_grounded": ("world", "ungrounded"),
        "fully_grounded": ("world", "demos"),
    }


def test_a_set_that_needs_nothing_is_made_beside_the_calibration(tmp_path):
    order = list(stages())
    assert order.index("cell_7/calibration") == 0
    Scheduler(tmp_path, list(stages(factors=True, seeds=(7, 8)).values()), 2)  # each stage stands behind its needs


def test_single_factors_add_eight_sets_and_their_policies():
    made = stages(factors=True)
    singles = [each for each in simulated_sets(True) if len(each.factors) == 1]
    assert len(singles) == 2 * len(FACTORS) and all(f"cell_7/policies/{each.name}" in made for each in singles)
    assert SimulatedSet("arm_grounded_behavior", ("arm",), True) in singles
    assert made["cell_7/sets/arm_grounded_behavior"].command[-14:] != made["cell_7/sets/fully_grounded"].command[-14:]
    assert "arm" in made["cell_7/sets/arm_grounded_behavior"].command


def chosen_stages(names: tuple[str, ...], scale: str = "small") -> dict[str, Stage]:
    (plan,) = plan_study(SCALES[scale], simulated_sets(False, names), [7], 2)
    return {stage.name: stage for stage in plan.stages()}


@pytest.mark.parametrize(
    "names", [("fully_grounded",), ("ungrounded",), ("behavior_grounded",), ("ungrounded", "world_grounded")]
)
def test_chosen_sets_are_made_as_in_the_whole_study_so_that_others_can_be_added(tmp_path, names):
    whole, some = stages(), chosen_stages(names)
    for name in some.keys() - {"cell_7/evaluation", "cell_7/analysis"}:
        made, made_whole = some[name], whole[name]
        assert (made.command, made.needs, made.limit) == (made_whole.command, made_whole.needs, made_whole.limit)
    Scheduler(tmp_path, list(some.values()), 2)  # what each stage needs is among them
    grounded_worlds = any(each.factors for each in simulated_sets(False, names))
    assert ("cell_7/calibration" in some) == grounded_worlds
    policies = [text.partition("=")[0] for text in parsed(some["cell_7/evaluation"].command[2:]).policies]
    assert policies == ["real_100", *names]
    assert all(some[f"cell_7/sets/{name}"].cores == 2 // len(names) for name in names)  # both cores are at work
    for stage in some.values():
        for command in verb_commands(stage):
            parsed(command)


def test_policies_are_compared_from_the_same_starts_which_validation_never_sees():
    made = stages()
    evaluation = parsed(made["cell_7/evaluation"].command[2:])
    assert evaluation.trials == tuple(SPLIT.values()) and sum(evaluation.trials) == 50
    assert [text.partition("=")[0] for text in evaluation.policies] == [
        "real_100",
        "ungrounded",
        "behavior_grounded",
        "world_grounded",
        "fully_grounded",
    ]
    for name, stage in made.items():
        if "/policies/" in name:
            assert json.loads(stage.command[-1])["trial_seed"] != evaluation.trial_seed


def test_half_the_samples_of_a_co_trained_policy_are_real():
    made = stages()
    weights = {}
    for name in ("real_100", "fully_grounded", "fully_grounded_sim_only"):
        train = parsed(verb_commands(made[f"cell_7/policies/{name}"])[0])
        weights[name] = train.weights
    assert weights == {"real_100": (1.0,), "fully_grounded": (0.5, 0.5), "fully_grounded_sim_only": (0.0, 1.0)}


def test_number_of_cores_changes_no_command():
    few, many = stages(cores=2), stages(cores=32)
    assert {name: stage.command for name, stage in few.items()} == {name: stage.command for name, stage in many.items()}
    assert few["cell_7/sets/ungrounded"].cores == 1 and many["cell_7/sets/ungrounded"].cores == 8


def test_seeds_of_purposes_and_studies_differ_and_stay_in_range():
    seeds = [stage_seed(seed, purpose) for seed in range(50) for purpose in ("sets", "policies", "validation")]
    assert len(set(seeds)) == len(seeds) and min(seeds) >= 0 and max(seeds) < 2**31 - 1
    assert stage_seed(7, "sets") == stage_seed(7, "sets")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"demos": 1}, "demos"),
        ({"episodes": 0}, "episodes"),
        ({"policy": "huge"}, "tiny, small, base, paper"),
        ({"trials": (1, 2, 3)}, "received"),
        ({"trials": (0,) * 5}, "received"),
        ({"trials": (1, 1, 1, 1, -1)}, "received"),
        ({"round_steps": 0}, "round_steps"),
        ({"patience": 0}, "patience"),
    ],
)
def test_a_scale_that_is_not_allowed_is_refused(change, told):
    with pytest.raises(ConfigError, match=told):
        replace(SCALES["tiny"], **change)
