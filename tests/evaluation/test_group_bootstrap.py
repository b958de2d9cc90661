"""Bootstrap over groups: closed forms of ratios, and intervals that know who depends on whom."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.group_bootstrap import group_sums, percentile_interval, ratio_intervals, redrawn


def test_ratio_is_of_the_sums_and_equal_groups_leave_no_doubt():
    (one,) = ratio_intervals(np.full((7, 1), 2.0), np.full((7, 1), 5.0))
    assert (one.value, one.low, one.high) == pytest.approx((0.4, 0.4, 0.4))


def test_column_without_anything_has_no_value():
    nothing, seen = ratio_intervals(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 2.0], [0.0, 2.0]]))
    assert np.isnan(nothing.value) and nothing.to_dict() == {"value": None, "low": None, "high": None}
    assert str(nothing) == "n/a"
    assert seen.value == pytest.approx(0.25)


def test_interval_holds_the_truth_as_often_as_it_says(rng):
    """Groups of 20 with beta-distributed shares: 95 % intervals hold the mean in 190 of 200 trials, +- 3 x 3.1, less
    the up to 2 % by which the percentile bootstrap of 40 groups is short."""
    held = 0
    for k in range(200):
        shares = rng.beta(2.0, 3.0, size=40)
        good = rng.binomial(20, shares)[:, None]
        (one,) = ratio_intervals(good, np.full((40, 1), 20.0), rounds=400, seed=k)
        held += one.low <= 0.4 <= one.high
    assert 176 <= held <= 200


def test_rows_of_a_group_are_summed_into_their_columns():
    sums = group_sums(np.array([1.0, 2.0, 4.0]), np.array([5, 3, 5]), np.array([0, 1, 0]), 2)
    assert sums.tolist() == [[0.0, 2.0], [5.0, 0.0]]


def test_groups_are_drawn_whole(rng):
    groups = np.array(["a", "b", "a", "c", "c", "c"])
    for rows in redrawn(groups, 20, rng):
        drawn = groups[rows]
        assert all((drawn == name).sum() % (groups == name).sum() == 0 for name in "abc")


def test_no_group_and_two_shapes_are_refused():
    with pytest.raises(ConfigError, match=r"\(0, 2\)"):
        ratio_intervals(np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(ConfigError, match=r"\(2, 1\) over \(2, 2\)"):
        ratio_intervals(np.zeros((2, 1)), np.zeros((2, 2)))


def test_rounds_without_a_value_are_left_out():
    assert percentile_interval(1.0, [np.nan, 1.0, 1.0]).high == 1.0
