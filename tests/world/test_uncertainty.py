"""Intervals of least-squares fits: coverage with errors shared within groups, priors, what is not seen."""

import numpy as np
import pytest
from scipy.stats import binom

from r2s2r.contracts.errors import ConfigError
from r2s2r.world.uncertainty import sandwich


def _fit(jacobian, values, prior_rows):
    hessian = jacobian.T @ jacobian + prior_rows.T @ prior_rows
    return np.linalg.solve(hessian, jacobian.T @ values)


@pytest.mark.parametrize("group_count", [12, 60])
def test_half_widths_cover_the_truth_although_errors_are_shared_within_groups(rng, group_count):
    trials, size, width = 150, 20, 6
    groups = np.repeat(np.arange(group_count), size)
    prior_sd = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.05])
    rows = np.diag(1.0 / prior_sd)
    hits = 0
    for _ in range(trials):
        truth = rng.normal(size=width) * prior_sd
        shared = np.repeat(rng.normal(size=(group_count, width)), size, axis=0)
        jacobian = shared + 0.3 * rng.normal(size=shared.shape)
        noise = 0.7 * rng.normal(size=len(groups)) + np.repeat(0.7 * rng.normal(size=group_count), size)
        found = _fit(jacobian, jacobian @ truth + noise, rows)
        residuals = jacobian @ (truth - found) + noise
        hits += np.sum(np.abs(found - truth) <= sandwich(jacobian, residuals, groups, rows).half_width)
    low = binom.ppf(1e-3, trials * width, 0.92)
    assert low <= hits <= binom.ppf(1 - 1e-3, trials * width, 0.97)


def test_independent_errors_give_the_textbook_interval(rng):
    jacobian = rng.normal(size=(4000, 3))
    residuals = rng.normal(size=4000) * 0.2
    half_width = sandwich(jacobian, residuals, np.arange(4000)).half_width
    # White's estimate of a variance from 4000 residuals is uncertain by sqrt(2 / 4000) = 2 %; five times that.
    np.testing.assert_allclose(
        half_width, 1.96 * 0.2 * np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian))), rtol=0.1
    )


def test_half_widths_do_not_depend_on_units(rng):
    jacobian, residuals, groups = rng.normal(size=(200, 3)), rng.normal(size=200), np.repeat(np.arange(20), 10)
    rows = np.array([[0.0, 1.0, 0.0]])
    scale = np.array([1e-4, 1.0, 1e5])
    plain, scaled = sandwich(jacobian, residuals, groups, rows), sandwich(jacobian * scale, residuals, groups, rows)
    np.testing.assert_allclose(scaled.half_width * scale, plain.half_width, rtol=1e-6)


def test_a_parameter_that_only_the_prior_knows_is_not_determined(rng):
    jacobian = rng.normal(size=(100, 3))
    jacobian[:, 1] = 0.0
    rows = np.array([[0.0, 1.0 / 0.02, 0.0]])
    found = sandwich(jacobian, rng.normal(size=100), np.repeat(np.arange(10), 10), rows)
    assert found.determined.tolist() == [True, False, True]
    np.testing.assert_allclose(found.half_width[1], 1.96 * 0.02, rtol=1e-3)


def test_a_parameter_that_nothing_knows_is_infinitely_wide_and_so_is_one_that_hides_behind_it(rng):
    jacobian = rng.normal(size=(100, 4))
    jacobian[:, 1] = 0.0
    jacobian[:, 3] = -2.0 * jacobian[:, 2]
    found = sandwich(jacobian, rng.normal(size=100), np.repeat(np.arange(10), 10))
    assert found.determined.tolist() == [True, False, False, False]
    assert np.isinf(found.half_width[1:]).all() and np.isfinite(found.half_width[0])
    assert np.isinf(found.of(np.array([0.0, 1.0, 0.0, 0.0]))).all()


def test_combinations_follow_the_covariance(rng):
    jacobian = rng.normal(size=(500, 3))
    found = sandwich(jacobian, rng.normal(size=500), np.repeat(np.arange(50), 10))
    np.testing.assert_allclose(found.of(np.eye(3)), found.half_width)
    assert found.of(np.array([[2.0, 0.0, 0.0]]))[0] == pytest.approx(2.0 * found.half_width[0])


def test_of_two_ways_to_group_the_wider_interval_holds(rng):
    jacobian = np.zeros((400, 3))
    jacobian[:, :2] = rng.normal(size=(400, 2))
    stop, tag = np.repeat(np.arange(20), 20), np.tile(np.arange(20), 20)
    # Errors shared by a tag's corners reach the first parameter only: its column is alike within a tag.
    jacobian[:, 0] = rng.normal(size=20)[tag]
    residuals = 0.1 * rng.normal(size=400) + rng.normal(size=20)[tag]
    by_stop, by_tag = sandwich(jacobian, residuals, stop), sandwich(jacobian, residuals, tag)
    both = by_stop.widened(by_tag)
    np.testing.assert_allclose(both.half_width, np.maximum(by_stop.half_width, by_tag.half_width))
    assert by_tag.half_width[0] > 2.0 * by_stop.half_width[0]
    assert both.determined.tolist() == [True, True, False]


def test_bad_input_is_named():
    with pytest.raises(ConfigError, match=r"residuals \(3,\)"):
        sandwich(np.ones((4, 2)), np.ones(3), np.arange(4))
    with pytest.raises(ConfigError, match="jacobian hold 1 numbers that are not finite"):
        sandwich(np.array([[1.0], [np.nan]]), np.ones(2), np.arange(2))
    with pytest.raises(ConfigError, match="one group"):
        sandwich(np.ones((4, 2)), np.ones(4), np.zeros(4))
