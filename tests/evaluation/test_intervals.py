import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.intervals import interval_text, wilson_interval

COUNTS = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("successes", "attempts", "text"),
    [
        (4, 5, "37.6-96.4 %"),
        (2, 5, "11.8-76.9 %"),
        (0, 20, "0.0-16.1 %"),
        (20, 20, "83.9-100.0 %"),
        (42, 50, "71.5-91.7 %"),  # B81
        (47, 50, "83.8-97.9 %"),
        (0, 0, "n/a"),
    ],
)
def test_b80_every_rate_has_its_wilson_interval(successes, attempts, text):
    assert interval_text(successes, attempts) == text


def test_nothing_tried_has_no_interval():
    assert wilson_interval(0, 0) is None


@given(COUNTS)
def test_ends_solve_the_score_equation(counts):
    """The ends are the rates p whose distance to the observed share is z standard errors of p itself."""
    successes, attempts = counts
    share = successes / attempts
    z = 1.959963984540054
    for p in wilson_interval(successes, attempts):
        assert math.isclose((share - p) ** 2, z * z * p * (1 - p) / attempts, rel_tol=1e-9, abs_tol=1e-12)


@given(COUNTS)
def test_interval_holds_the_rate_and_mirrors_with_it(counts):
    successes, attempts = counts
    low, high = wilson_interval(successes, attempts)
    assert 0.0 <= low <= successes / attempts <= high <= 1.0
    mirrored = wilson_interval(attempts - successes, attempts)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_more_confidence_is_wider():
    low, high = wilson_interval(30, 40, confidence=0.9)
    wider_low, wider_high = wilson_interval(30, 40, confidence=0.99)
    assert wider_low < low < high < wider_high


@pytest.mark.parametrize(("successes", "attempts"), [(-1, 5), (6, 5), (0, -1)])
def test_contradicting_counts_are_refused(successes, attempts):
    with pytest.raises(ConfigError, match=rf"interval: {successes} successes of {attempts} attempts, allowed are 0 <="):
        wilson_interval(successes, attempts)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, math.nan])
def test_confidence_outside_its_range_is_refused(confidence):
    with pytest.raises(ConfigError, match="confidence is .*, allowed is a number between 0 and 1"):
        wilson_interval(1, 2, confidence)
