"""Getting out and getting back: events counted by hand, rates and survival against their closed forms."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.getting_back import (
    LEFT_FOR_GOOD,
    NEVER_LEFT,
    RETURNED,
    Rate,
    course,
    getting_back,
    survival,
)


def sides(text: str) -> np.ndarray:
    """Return `i` as inside and `o` as outside."""
    return np.array([letter == "i" for letter in text])


def seconds(text: str) -> np.ndarray:
    return np.arange(len(text), dtype=float)


@pytest.mark.parametrize(
    ("text", "fate", "excursions"),
    [
        ("iiiiii", NEVER_LEFT, []),
        ("iioooii", RETURNED, [(2.0, 3.0, True, True)]),
        ("iioooo", LEFT_FOR_GOOD, [(2.0, 3.0, False, True)]),
        ("ooiiii", RETURNED, [(0.0, 2.0, True, False)]),
        ("iioiii", NEVER_LEFT, []),  # one decision alone is no excursion
        ("iiooioo", LEFT_FOR_GOOD, [(2.0, 4.0, False, True)]),  # nor is one alone a return
        ("iiooiiooii", RETURNED, [(2.0, 2.0, True, True), (6.0, 2.0, True, True)]),
        ("oiii", NEVER_LEFT, []),  # the first run takes the side of what lasts
        ("o", LEFT_FOR_GOOD, [(0.0, 0.0, False, False)]),
        ("i", NEVER_LEFT, []),
    ],
)
def test_excursions_are_those_counted_by_hand(text, fate, excursions):
    one = course(sides(text), seconds(text), success=True)
    assert one.fate == fate
    assert [(e.begin_s, e.duration_s, e.returned, e.left) for e in one.excursions] == excursions


def test_time_inside_and_outside_is_the_whole():
    one = course(sides("iiooooii"), seconds("iiooooii"), success=False)
    assert (one.inside_s, one.outside_s) == (3.0, 4.0)


def test_every_decision_counts_with_runs_of_one():
    one = course(sides("ioioi"), seconds("ioioi"), success=True, min_run=1)
    assert len(one.excursions) == 2 and one.outside_s == 2.0


def test_time_that_does_not_increase_is_refused():
    with pytest.raises(ConfigError, match="increasing"):
        course(sides("ii"), np.array([1.0, 1.0]), success=True)
    with pytest.raises(ConfigError):
        course(sides(""), np.empty(0), success=True)


def test_rate_has_garwood_s_interval():
    """Published for 0, 1 and 10 events: 0 to 3.689, 0.0253 to 5.572, 4.795 to 18.39."""
    for events, low, high in ((0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.39)):
        assert Rate(events, 1.0).interval == pytest.approx((low, high), abs=2e-3)
    assert Rate(10, 2.0).interval == pytest.approx((4.795 / 2, 18.39 / 2), abs=2e-3)
    assert Rate(0, 0.0).to_dict()["per_minute"] is None and str(Rate(0, 0.0)) == "n/a"


def test_survival_without_censoring_is_the_share_left(rng):
    durations = rng.exponential(size=30)
    found = survival(durations, np.ones(30, dtype=bool))
    assert found.share == pytest.approx(1.0 - np.arange(1, 31) / 30)
    assert found.median_s == pytest.approx(np.sort(durations)[14])
    assert found.censored == 0


def test_survival_with_censoring_is_kaplan_and_meier_s():
    """Worked by hand: 6 at risk at 1, 4 at 3 (one censored at 2), 2 at 5 (one censored at 4)."""
    found = survival(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 5.0]), np.array([True, False, True, False, True, False]))
    assert found.time_s.tolist() == [1.0, 3.0, 5.0]
    assert found.share == pytest.approx([5 / 6, 5 / 6 * 3 / 4, 5 / 6 * 3 / 4 * 1 / 2])
    assert found.median_s == 5.0 and found.censored == 3


def test_nobody_who_returned_has_no_median():
    assert survival(np.array([1.0]), np.array([False])).median_s is None
    assert survival(np.empty(0), np.empty(0, dtype=bool)).to_dict()["share"] == []


def test_success_is_counted_by_fate():
    texts = ["iiii", "iiii", "iiooii", "iioo"]
    found = getting_back([sides(t) for t in texts], [seconds(t) for t in texts], [True, False, True, False])
    assert found.by_fate == {NEVER_LEFT: (1, 2), RETURNED: (1, 1), LEFT_FOR_GOOD: (0, 1)}
    told = found.to_dict()
    assert told["leaves_per_rollout"] == 0.5 and told["returns_per_rollout"] == 0.25
    assert told["leaving"]["events"] == 2 and told["returning"]["events"] == 1


def test_memoryless_border_gives_its_rates(rng):
    """A two-state chain at 5 decisions a second that leaves 0.3 and returns 0.8 times a second: both rates in their
    intervals, which hold a rate in 95 of 100 runs; with 20 rollouts of 60 s both do for this seed."""
    courses = []
    for _ in range(20):
        side, path = True, []
        for _ in range(300):
            path.append(side)
            side = side ^ (rng.random() < (0.3 if side else 0.8) / 5)
        courses.append(np.array(path))
    found = getting_back(courses, [np.arange(300) / 5] * 20, [True] * 20, min_run=1)
    for rate, truth in ((found.leaving, 0.3 * 60), (found.returning, 0.8 * 60)):
        told = rate.to_dict()
        assert told["low"] <= truth <= told["high"]
    assert found.time_outside.median_s == pytest.approx(np.log(2) / 0.8, abs=0.25)
