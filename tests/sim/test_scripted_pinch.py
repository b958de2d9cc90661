"""The scripted pinch in the simulator: it sorts boxes and tins, on straight ways, and is no human."""

import numpy as np
import pytest

from r2s2r.behavior.motion_features import FEATURES, Motion, measure_motion, path_deviation
from r2s2r.behavior.phases import FoundPick, find_pick
from r2s2r.behavior.scripted_pinch import PINCH, ScriptedPinch
from r2s2r.contracts.episode import Episode
from r2s2r.contracts.world import World
from r2s2r.dataset.demonstrations import pick_record
from r2s2r.evaluation.judging import Outcome
from r2s2r.replay.batch import BatchReplay
from r2s2r_tasks.belt_sort.attempts import Attempt, AttemptRunner, attributes
from r2s2r_tasks.belt_sort.demonstrate import UNVARIED, plan_demonstrations
from r2s2r_tasks.belt_sort.episode_recorder import STATE_NAMES, EpisodeRecorder
from r2s2r_tasks.belt_sort.replay_driver import ReplayDriver
from r2s2r_tasks.belt_sort.session import belt_sort_env

pytestmark = [pytest.mark.sim, pytest.mark.slow]

N, SEED = 8, 5
NAMES = [feature.name for feature in FEATURES]


@pytest.fixture(scope="module")
def trials() -> list[tuple[Attempt, Episode]]:
    """The first attempt of each of 8 environments, each with its own plan."""
    with belt_sort_env(N, seed=SEED) as env:
        obs, _ = env.reset()
        planned = plan_demonstrations(env, ScriptedPinch(), SEED)
        replay = BatchReplay([[demo for _, demo in group] for group in planned], N, env.device, UNVARIED)
        driver, recorder = ReplayDriver(env, replay), EpisodeRecorder(env)
        driver.begin_all(demo=np.argsort([env_id for group in planned for env_id, _ in group]))
        ended: dict[int, tuple[Attempt, Episode]] = {}
        for attempts in AttemptRunner(env, driver, recorder).each_step(obs):
            for attempt in attempts:
                if attempt.env_id not in ended:
                    good = attempt.outcome is Outcome.SUCCESS
                    kept = recorder.take(attempt.env_id, good, attempt.demo, attributes(attempt, "nominal"))
                    ended[attempt.env_id] = (attempt, kept)
            if len(ended) == N:
                break
    return [ended[env_id] for env_id in sorted(ended)]


@pytest.fixture(scope="module")
def sorted_ones(trials) -> list[Episode]:
    return [kept for attempt, kept in trials if attempt.outcome is Outcome.SUCCESS]


def test_at_least_half_is_sorted_of_both_classes(trials, sorted_ones):
    """61 of 64 were when it was tuned; at that rate, fewer than half of 8 happen once in 90 000 times."""
    assert len(sorted_ones) >= N // 2, [attempt.outcome.label for attempt, _ in trials]
    assert {kept.attributes["object_class"] for kept in sorted_ones} == {"box", "round"}


def found(kept: Episode) -> FoundPick:
    pick = find_pick(pick_record(kept, "pinch", 30.0, World.nominal().poses)[1], grasp=PINCH)
    assert isinstance(pick, FoundPick), str(pick)
    return pick


def test_wrist_goes_straight_in_the_simulator_too(sorted_ones):
    """The measured way from above the belt to above the bin; the human's is off its chord by a fifth."""
    columns = [STATE_NAMES.index(f"wrist_pos_b.{axis}") for axis in "xyz"]
    for kept in sorted_ones:
        events = found(kept).events
        way = slice(events.transport + 12, events.release)  # its first steps may still be the lift's
        assert path_deviation(kept.states[way, columns]) < 0.05


def test_its_motion_has_the_numbers_of_a_script(sorted_ones):
    for kept in sorted_ones:
        motion = measure_motion(pick_record(kept, "pinch", 30.0, World.nominal().poses)[1])
        assert isinstance(motion, Motion)
        numbers = dict(zip(NAMES, motion.features, strict=True))
        assert numbers["transport peak speed"] == pytest.approx(ScriptedPinch().speed, abs=0.01)
        for finger in ("middle", "ring"):
            assert numbers[f"{finger}'s share of closing"] == pytest.approx(0.0, abs=1e-3)
        assert numbers["coordination (first component)"] > 0.999
