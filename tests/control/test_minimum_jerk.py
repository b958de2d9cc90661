"""Minimum-jerk laws against their closed forms."""

import numpy as np
import pytest

from r2s2r.control.minimum_jerk import PEAK_SPEED_RATIO, bump, coasting, progress, skewed_progress

S = np.linspace(0.0, 1.0, 10001)


def ends_at_rest(curve, speeds=(0.0, 0.0)):
    """First and second derivatives at both ends, by one-sided differences of step h: errors O(h)."""
    h = S[1]
    first = np.array([curve[1] - curve[0], curve[-1] - curve[-2]]) / h
    second = np.array([curve[2] - 2 * curve[1] + curve[0], curve[-1] - 2 * curve[-2] + curve[-3]]) / h**2
    assert np.abs(first - speeds).max() < 100 * h and np.abs(second).max() < 1000 * h


def test_progress_is_the_minimum_jerk_polynomial():
    """The sixth derivative of the optimal path vanishes and its peak speed is 1.875 at the middle."""
    curve = progress(S)
    ends_at_rest(curve)
    speed = np.gradient(curve, S)
    assert speed.max() == pytest.approx(PEAK_SPEED_RATIO, abs=1e-6) and S[speed.argmax()] == pytest.approx(
        0.5, abs=1e-3
    )
    assert progress(-1.0) == 0.0 and progress(2.0) == 1.0


@pytest.mark.parametrize("fraction", [0.3, 0.38, 0.5, 0.6, 0.7])
def test_skew_puts_the_peak_where_asked(fraction):
    curve = skewed_progress(S, fraction)
    ends_at_rest(curve)
    assert (np.diff(curve) >= 0.0).all()
    assert S[np.gradient(curve, S).argmax()] == pytest.approx(fraction, abs=0.007)
    assert np.abs(skewed_progress(1.0 - S, 1.0 - fraction) - (1.0 - curve)).max() < 1e-12, "mirror image in time"


def test_coasting_brakes_from_unit_speed_to_rest():
    curve = coasting(S)
    ends_at_rest(curve, speeds=(1.0, 0.0))
    assert curve[-1] == 0.5 and coasting(3.0) == 0.5


def test_bump_vanishes_with_its_slope_at_both_ends():
    curve = bump(S)
    assert curve[0] == curve[-1] == 0.0 and curve.max() == pytest.approx(1.0)
    assert np.abs(np.gradient(curve, S)[[0, -1]]).max() < 0.01
