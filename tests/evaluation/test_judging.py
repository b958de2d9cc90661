"""Verdicts on scripted worlds; every case in NumPy and in torch, in single and in double precision."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.judging import (
    RULES,
    JudgingCfg,
    Outcome,
    advance_hold,
    count_reasons,
    in_bin,
    rate,
    verdict,
)

DT = 1.0 / 30.0
BOX_BIN, ROUND_BIN = (0.12, 0.5, 0.0), (0.12, -0.5, 0.0)
CFG = JudgingCfg(bin_pos_b=(BOX_BIN, ROUND_BIN))
ON_BELT, IN_AIR, ON_TABLE = (0.52, 0.0, 0.135), (0.3, 0.3, 0.4), (0.35, 0.5, 0.03)
LANDED = np.array([0.0, 0.0, 0.03])
"""Where an object lies, seen from the middle of the bin's floor [m]."""

ARRAYS = {
    "numpy64": lambda values: np.asarray(values, dtype=np.float64),
    "numpy32": lambda values: np.asarray(values, dtype=np.float32),
    "torch32": lambda values: torch.as_tensor(np.asarray(values), dtype=torch.float32),
    "torch64": lambda values: torch.as_tensor(np.asarray(values), dtype=torch.float64),
}


@pytest.fixture(params=list(ARRAYS))
def array(request):
    """Makes arrays of one kind out of nested lists."""
    return ARRAYS[request.param]


def judge(array, pos, speed, target_class, cfg: JudgingCfg = CFG) -> np.ndarray:
    """Return the outcome of every step (T, N) of positions (T, N, 3), speeds (T, N) and classes (N,)."""
    pos, speed = np.asarray(pos, dtype=float), np.asarray(speed, dtype=float)
    classes = array(target_class)
    classes = classes.astype(np.int64) if isinstance(classes, np.ndarray) else classes.long()
    held = array(np.zeros((pos.shape[1], 2)))
    outcomes = []
    for step in range(len(pos)):
        place, moving = array(pos[step]), array(speed[step])
        own, other = advance_hold(CFG if cfg is None else cfg, held, place, moving, classes, DT)
        held = np.stack([own, other], -1) if isinstance(own, np.ndarray) else torch.stack([own, other], -1)
        outcomes.append(np.asarray(verdict(cfg, held, place, moving)))
    assert np.issubdtype(outcomes[0].dtype, np.integer)
    return np.stack(outcomes)


def once(array, pos, speed=0.0, held=(0.0, 0.0), cfg: JudgingCfg = CFG) -> Outcome:
    """Return the outcome of one object at `pos` (3,)."""
    return Outcome(int(verdict(cfg, array([held]), array([pos]), array([speed]))[0]))


def first_outcome(outcomes: np.ndarray) -> list[Outcome]:
    """Return what each world (T, N) came to first, as the task ends it there; RUNNING where nothing happened."""
    ended = outcomes != Outcome.RUNNING
    return [Outcome(int(outcomes[np.argmax(ended[:, n]), n])) for n in range(outcomes.shape[1])]


def test_b45_ten_scripted_worlds_give_four_successes_and_six_reasons(array):
    """Four settle in the right bin, two pass through it for 0.1 s, two settle in the wrong bin, two drop."""
    steps, own, wrong = 60, np.add(BOX_BIN, LANDED), np.add(ROUND_BIN, LANDED)
    pos = np.tile(np.array(IN_AIR), (steps, 10, 1))
    speed = np.full((steps, 10), 0.6)
    pos[20:, 0:4], speed[20:, 0:4] = own, 0.01
    pos[20:23, 4:6], speed[20:23, 4:6] = own, 0.01
    pos[20:, 6:8], speed[20:, 6:8] = wrong, 0.01
    pos[20:, 8:10], speed[20:, 8:10] = ON_TABLE, 0.01
    outcomes = first_outcome(judge(array, pos, speed, np.zeros(10)))
    # Those that only passed through end with the time, which whoever runs the attempt observes.
    final = [Outcome.TIMEOUT if o == Outcome.RUNNING else o for o in outcomes]
    assert final == [Outcome.SUCCESS] * 4 + [Outcome.TIMEOUT] * 2 + [Outcome.WRONG_BIN] * 2 + [Outcome.DROPPED] * 2
    assert count_reasons(np.array(final)) == {"dropped": 2, "timeout": 2, "wrong_bin": 2}
    assert rate(final.count(Outcome.SUCCESS), len(final)) == "4/10 (40.0 %)"


@pytest.mark.parametrize("target_class", [0, 1])
def test_the_right_bin_is_that_of_the_targets_class(array, target_class):
    pos = np.tile(np.add(BOX_BIN, LANDED), (20, 1, 1))
    outcome = first_outcome(judge(array, pos, np.zeros((20, 1)), [target_class]))[0]
    assert outcome == (Outcome.SUCCESS if target_class == 0 else Outcome.WRONG_BIN)


@pytest.mark.parametrize("hold_s", [0.1, 0.3, 0.5, 0.7, 2.0])
def test_every_kind_of_array_succeeds_in_the_same_step(array, hold_s):
    cfg, steps = replace(CFG, hold_s=hold_s), round(hold_s / DT)
    pos = np.tile(np.add(BOX_BIN, LANDED), (steps + 5, 1, 1))
    outcomes = judge(array, pos, np.zeros((steps + 5, 1)), [0], cfg)[:, 0]
    np.testing.assert_array_equal(outcomes, [Outcome.RUNNING] * (steps - 1) + [Outcome.SUCCESS] * 6)


def test_the_hold_starts_anew_when_the_target_moves_or_leaves(array):
    own = np.add(BOX_BIN, LANDED)
    pos, speed = np.tile(own, (60, 3, 1)), np.zeros((60, 3))
    speed[14, 0] = CFG.settled_speed  # as fast as the limit is not still
    pos[14, 1] = np.add(BOX_BIN, (0.0, 0.0, 0.13))
    speed[::14, 2] = 1.0
    outcomes = judge(array, pos, speed, [0, 0, 0])
    np.testing.assert_array_equal((outcomes == Outcome.SUCCESS).argmax(axis=0)[:2], [14 + 15, 14 + 15])
    assert (outcomes[:, 2] == Outcome.RUNNING).all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("where", ["x", "y", "z", "speed"])
def test_b39_a_state_that_is_not_finite_is_unstable(array, bad, where):
    state = dict(zip("xyz", ON_BELT, strict=True), speed=0.1) | {where: bad}
    outcome = once(array, [state[axis] for axis in "xyz"], state["speed"])
    assert outcome == (Outcome.UNSTABLE if not (where == "speed" and bad < 0) else Outcome.RUNNING)


@pytest.mark.parametrize("pos", [ON_BELT, IN_AIR, ON_TABLE, tuple(np.add(BOX_BIN, LANDED))])
def test_b39_a_run_away_target_is_unstable_wherever_it_is(array, pos):
    assert once(array, pos, 5.1, held=(1.0, 0.0)) == Outcome.UNSTABLE
    assert once(array, pos, 5.0, held=(1.0, 0.0)) == Outcome.UNSTABLE
    assert once(array, pos, 4.9, held=(1.0, 0.0)) == Outcome.SUCCESS


def test_b39_a_broken_world_leaves_the_others_as_they_are(array):
    pos = np.tile(np.add(BOX_BIN, LANDED), (20, 8, 1))
    healthy = judge(array, pos, np.zeros((20, 8)), np.zeros(8))
    pos[10:, 3] = np.nan
    broken = judge(array, pos, np.zeros((20, 8)), np.zeros(8))
    others = np.arange(8) != 3
    np.testing.assert_array_equal(broken[:, others], healthy[:, others])
    assert (broken[10:, 3] == Outcome.UNSTABLE).all()


@pytest.mark.parametrize(
    ("offset", "inside"),
    [
        ((0.0, 0.0, 0.03), True),
        ((0.119, -0.119, 0.001), True),
        ((0.121, 0.0, 0.03), False),
        ((-0.121, 0.0, 0.03), False),
        ((0.0, 0.121, 0.03), False),
        ((0.0, -0.121, 0.03), False),
        ((0.0, 0.0, 0.119), True),
        ((0.0, 0.0, 0.121), False),
        ((0.0, 0.0, -0.001), False),
    ],
)
def test_a_bin_ends_at_its_walls_rim_and_floor(array, offset, inside):
    assert bool(in_bin(CFG, array([np.add(ROUND_BIN, offset)]), 1)[0]) == inside


@pytest.mark.parametrize("offset", [(0.12, 0.0, 0.03), (0.0, -0.12, 0.03), (0.0, 0.0, 0.12), (0.0, 0.0, 0.0)])
def test_an_object_exactly_on_a_wall_is_outside(offset):
    cfg = JudgingCfg(bin_pos_b=((0.0, 0.0, 0.0), ROUND_BIN))  # at the origin these sums are exact
    assert not in_bin(cfg, np.array([offset]), 0)[0]


def test_an_object_that_fell_through_the_bins_floor_has_not_succeeded(array):
    pos = np.tile(np.add(BOX_BIN, (0.0, 0.0, -0.7)), (40, 1, 1))
    assert first_outcome(judge(array, pos, np.zeros((40, 1)), [0])) == [Outcome.DROPPED]


@pytest.mark.parametrize(
    ("pos", "outcome"),
    [
        ((0.52, 0.44, 0.135), Outcome.RUNNING),
        ((0.52, 0.46, 0.135), Outcome.LEFT_BELT),
        ((0.40, 0.46, 0.135), Outcome.LEFT_BELT),
        ((0.64, 0.46, 0.135), Outcome.LEFT_BELT),
        ((0.39, 0.46, 0.135), Outcome.RUNNING),  # beside the belt: carried over its edge
        ((0.65, 0.46, 0.135), Outcome.RUNNING),
        ((0.52, 0.46, 0.19), Outcome.RUNNING),  # carried above it
        ((0.52, 0.46, 0.07), Outcome.DROPPED),
        ((0.52, -2.0, 0.135), Outcome.RUNNING),
    ],
)
def test_only_what_rides_past_the_end_of_the_belt_has_left_it(array, pos, outcome):
    assert once(array, pos, 0.1) == outcome


def test_low_means_dropped_only_outside_the_bins(array):
    assert once(array, (0.35, 0.5, 0.079)) == Outcome.DROPPED
    assert once(array, (0.35, 0.5, 0.081)) == Outcome.RUNNING
    for place in (BOX_BIN, ROUND_BIN):
        assert once(array, np.add(place, LANDED), 1.0) == Outcome.RUNNING


def test_what_is_settled_in_its_bin_outranks_every_other_reason(array):
    assert once(array, ON_TABLE, held=(0.5, 0.5)) == Outcome.SUCCESS
    assert once(array, ON_TABLE, held=(0.0, 0.5)) == Outcome.WRONG_BIN


def test_no_world_is_no_error(array):
    empty = verdict(CFG, array(np.zeros((0, 2))), array(np.zeros((0, 3))), array(np.zeros(0)))
    assert len(empty) == 0


def test_numpy_and_torch_agree_on_random_states():
    rng = np.random.default_rng(8)
    n = 5000
    # Multiples of 2^-10 are the same number in both precisions; in_bin's own sums may still round differently.
    pos = np.round(rng.uniform((-0.1, -0.7, -0.1), (0.7, 0.7, 0.4), (n, 3)) * 1024) / 1024
    speed = rng.choice([0.0, 0.03125, 0.5, 6.0, np.nan], n)
    held = rng.choice([0.0, 0.25, 0.5, 1.0], (n, 2))
    answers = [np.asarray(verdict(CFG, make(held), make(pos), make(speed))) for make in ARRAYS.values()]
    for other in answers[1:]:
        np.testing.assert_array_equal(other, answers[0])
    assert set(answers[0]) == {0, 1, 2, 3, 4, 6}, "every verdict should occur"


def test_b48_reasons_are_counted_by_frequency_and_success_is_none():
    outcomes = [Outcome.SUCCESS] * 5 + [Outcome.TIMEOUT] * 2 + [Outcome.LATE_CLOSE] * 3 + [Outcome.DROPPED] * 2
    counts = count_reasons(np.array(outcomes))
    assert list(counts.items()) == [("late_close", 3), ("dropped", 2), ("timeout", 2)]


@pytest.mark.parametrize("outcomes", [[], [1, 1]])
def test_b48_nothing_failed_gives_no_reason(outcomes):
    assert count_reasons(np.array(outcomes, dtype=np.int64)) == {}


def test_b48_zero_attempts_have_no_rate():
    assert rate(0, 0) == "0/0 (n/a)"
    assert rate(0, 119) == "0/119 (0.0 %)"
    assert rate(2, 119) == "2/119 (1.7 %)"


def test_b48_every_failure_has_its_rule_in_words():
    assert set(RULES) == set(Outcome) - {Outcome.RUNNING, Outcome.SUCCESS}
    assert Outcome.WRONG_BIN.label == "wrong_bin"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hold_s": 0.0}, r"hold_s: received 0.0, allowed are numbers from 1e-06 to 100"),
        ({"settled_speed": -0.1}, r"settled_speed: received -0.1"),
        ({"runaway_speed": float("nan")}, r"runaway_speed: received nan"),
        ({"bin_height": "high"}, r"bin_height: received 'high'"),
        ({"bin_inner_size": (0.24, -0.24)}, r"bin_inner_size: received \(0.24, -0.24\)"),
        ({"bin_inner_size": (0.24,)}, r"bin_inner_size: received \(0.24,\), allowed are 2 numbers"),
        ({"belt_end_y": float("inf")}, r"belt_end_y: received inf, allowed are finite numbers"),
        ({"belt_x": (0.6, 0.4)}, r"belt_x: received \(0.6, 0.4\), allowed is low < high"),
        ({"bin_pos_b": ()}, r"bin_pos_b: received \(\), allowed are 3 finite numbers for each of box, round"),
        ({"bin_pos_b": (BOX_BIN,)}, r"bin_pos_b: received \(\(0.12, 0.5, 0.0\),\)"),
        ({"bin_pos_b": (BOX_BIN, (0.1, 0.2))}, r"bin_pos_b: received"),
        ({"bin_pos_b": (BOX_BIN, (0.1, 0.2, float("nan")))}, r"bin_pos_b: received"),
    ],
)
def test_settings_out_of_range(changes, message):
    with pytest.raises(ConfigError, match=rf"^JudgingCfg\.{message}"):
        replace(CFG, **changes)
