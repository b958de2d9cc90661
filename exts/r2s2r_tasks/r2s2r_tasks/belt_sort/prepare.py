"""The first step of a generation job: its behavior, and what world and behavior come to."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from isaaclab.envs import ManagerBasedRLEnv

from r2s2r.behavior.behavior import GROUNDED, Behavior, Planner
from r2s2r.behavior.demonstration import Demonstration
from r2s2r.behavior.recorded_operator import recorded_operator
from r2s2r.behavior.scripted_pinch import ScriptedPinch
from r2s2r.contracts.errors import SimulationError
from r2s2r.contracts.world import OBJECT_CLASSES
from r2s2r.evaluation.judging import Outcome
from r2s2r.generation.job import GenerationJob
from r2s2r.generation.prepared import Prepared
from r2s2r.replay.cfg import ReplayCfg
from r2s2r.world.world_file import read_world
from r2s2r_tasks.belt_sort.attempts import Attempt
from r2s2r_tasks.belt_sort.demonstrate import demonstrate
from r2s2r_tasks.belt_sort.lead import measure_lead
from r2s2r_tasks.belt_sort.session import belt_sort_env

LEAD_ENVS = 4
"""Environments in which the arm's delay is measured; they hardly differ."""

_TOLD = ("attempts", "successes")
"""What a behavior's provenance may tell, by class."""

LEAST_SHARE = 0.3
"""Of the attempts, for each class: a yield that was measured in a few attempts must not starve the other class."""


def prepare(folder: Path, job: GenerationJob, device: str) -> None:
    """Make the behavior where it is a built-in one, measure the arm's delay, and write `prepared.json`.

    Raises:
        SimulationError: the planner sorts nothing of a class, or the arm does not follow.
    """
    behavior, told = _behavior(folder / "behavior", job, device)
    with belt_sort_env(LEAD_ENVS, seed=job.seed, device=device, world=read_world(folder / "world.yaml")) as env:
        lead_s = measure_lead(env)
    replay = ReplayCfg(seed=job.seed, lead_s=round(lead_s, 5), push_share=job.push_share)
    share = balanced_share(told) if set(told) == set(_TOLD) else 0.5
    Prepared(replay, share, behavior.sha256(), told).save(folder)


def built_in_behavior(kind: str, seed: int, device: str, count: int) -> Behavior:
    """Return a built-in behavior: demonstrations that succeeded in the nominal world.

    Either one holds out the same human demonstrations, so that data sets of both can be compared with them.

    Args:
        kind: `grounded` for the operator with human motion, `ungrounded` for the script.
        seed: seed of all draws.
        device: `cpu` or a CUDA device.
        count: attempts.

    Raises:
        SimulationError: nothing of a class was sorted.
    """
    operator = recorded_operator()
    with belt_sort_env(count, seed=seed, device=device) as env:
        demos, record = _demonstrated(env, operator.model, operator.source, seed)
        human = Behavior.split(GROUNDED, demos, seed, provenance=record)
        if kind == GROUNDED:
            return human
        demos, record = _demonstrated(env, ScriptedPinch(), "the scripted pinch", seed)
        scripted = {name: tuple(found) for name, found in demos.items()}
        return Behavior(kind, scripted, human.held_out, record)


def balanced_share(told: dict) -> float:
    """Return the share of attempts for the first class with which both classes are sorted equally often."""
    yields = [told["successes"].get(name, 0) / max(told["attempts"].get(name, 0), 1) for name in OBJECT_CLASSES]
    if not all(yields):
        raise SimulationError(f"behavior: nothing of class {OBJECT_CLASSES[yields.index(0.0)]} was sorted")
    share = yields[1] / sum(yields)
    return round(min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE), 3)


def _behavior(folder: Path, job: GenerationJob, device: str) -> tuple[Behavior, dict]:
    """Return the behavior in `folder`, made if it is not there, and how it came about as far as it is known."""
    if not folder.exists():
        built_in_behavior(job.behavior, job.seed, device, job.demonstrations).save(folder)
    behavior = Behavior.load(folder)
    return behavior, {name: behavior.provenance[name] for name in _TOLD if name in behavior.provenance}


def _demonstrated(
    env: ManagerBasedRLEnv, planner: Planner, source: str, seed: int
) -> tuple[dict[str, list[Demonstration]], dict]:
    demos, attempts = demonstrate(env, planner, seed)
    good = [attempt for attempt in attempts if attempt.outcome is Outcome.SUCCESS]
    return demos, {"planner": source, "seed": seed, "attempts": _by_class(attempts), "successes": _by_class(good)}


def _by_class(attempts: Iterable[Attempt]) -> dict[str, int]:
    return dict(Counter(attempt.object_class for attempt in attempts))
