import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.paired import NOT_SEPARABLE, Paired

COUNTS = st.tuples(*[st.integers(0, 60)] * 4).filter(lambda counts: sum(counts) > 0)


def test_b81_eight_against_three_wins_are_not_separable():
    pair = Paired("A", "B", both=39, only_first=3, only_second=8, neither=0)
    assert (pair.both + pair.only_first, pair.both + pair.only_second, pair.trials) == (42, 47, 50)
    assert pair.p_value() > 0.2
    assert pair.verdict() == NOT_SEPARABLE
    low, high = pair.interval()
    assert low < 0.0 < pair.difference < high


def test_b81_different_starts_are_refused():
    starts = {("nominal", number, 0): True for number in range(4)}
    other = {("nominal", number, 1): True for number in range(4)}
    with pytest.raises(ConfigError, match=r"A and B were not tried from the same starts: 8 are of one alone"):
        Paired.of("A", "B", starts, other)
    with pytest.raises(ConfigError, match="1 are of one alone"):
        Paired.of("A", "B", starts, starts | {("combined", 0, 0): False})


def test_starts_are_paired_by_what_they_are_not_by_their_order():
    ones = {1: True, 2: True, 3: False, 4: False, 5: True}
    others = {5: False, 4: True, 3: False, 2: True, 1: False}
    pair = Paired.of("A", "B", ones, others)
    assert (pair.both, pair.only_first, pair.only_second, pair.neither) == (1, 2, 1, 1)
    assert pair.difference == pytest.approx(-1 / 5)


def test_interval_is_the_one_newcombe_printed():
    """Table II of the paper, method 10: 36 both, 12 and 2 of one alone, none neither."""
    assert Paired("A", "B", 36, 2, 12, 0).interval() == pytest.approx((0.0569, 0.3404), abs=5e-5)


@given(COUNTS)
def test_p_value_is_the_tail_of_a_fair_coin(counts):
    pair = Paired("A", "B", *counts)
    wins, n = min(pair.only_first, pair.only_second), pair.only_first + pair.only_second
    tail = sum(math.comb(n, k) for k in range(wins + 1)) / 2**n
    assert pair.p_value() == pytest.approx(min(1.0, 2.0 * tail), rel=1e-9)


@given(COUNTS)
def test_interval_holds_the_difference_and_mirrors(counts):
    pair = Paired("A", "B", *counts)
    low, high = pair.interval()
    assert -1.0 <= low <= pair.difference <= high <= 1.0
    both, only_first, only_second, neither = counts
    mirrored = Paired("B", "A", both, only_second, only_first, neither)
    assert mirrored.interval() == pytest.approx((-high, -low), abs=1e-12)
    assert mirrored.p_value() == pytest.approx(pair.p_value())


def test_interval_covers_the_true_difference(rng: np.random.Generator):
    """95 % intervals hold the truth in at least 92 % of studies of 50 starts: Newcombe reports a mean of 95 %."""
    shares = np.array([0.45, 0.10, 0.30, 0.15])  # both, first alone, second alone, neither
    studies = rng.multinomial(50, shares, size=1000)
    intervals = np.array([Paired("A", "B", *map(int, counts)).interval() for counts in studies])
    held = (intervals[:, 0] <= 0.2) & (intervals[:, 1] >= 0.2)
    assert held.mean() > 0.92


def test_a_clear_difference_names_the_better():
    assert Paired("A", "B", 20, 2, 20, 8).verdict() == "B is better than A"
    assert Paired("A", "B", 20, 20, 2, 8).verdict() == "A is better than B"


def test_without_a_difference_nothing_is_certain():
    pair = Paired("A", "B", 25, 0, 0, 25)
    assert (pair.p_value(), pair.difference, pair.verdict()) == (1.0, 0.0, NOT_SEPARABLE)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (-1, 2, 3, 4)])
def test_no_trials_are_refused(counts):
    with pytest.raises(ConfigError, match="paired trials: counts are"):
        Paired("A", "B", *counts)
