"""Coverage: the threshold is calibrated as it says, distances have closed forms, singular cases are one line."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.balanced_scale import BalancedScale, Group
from r2s2r.evaluation.coverage import Coverage, CoverageCfg, coverage_curve


def paths(rng: np.random.Generator, count: int, steps: int = 30, spread: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Return states (N, 2) of parallel paths along x, each at its own y, and the path of each state."""
    offsets = rng.normal(0.0, spread, count)
    states = np.stack(np.meshgrid(np.linspace(0, 1, steps), offsets, indexing="xy"), axis=-1).reshape(-1, 2)
    return states, np.repeat(np.arange(count), steps)


def test_distance_is_to_the_kth_nearest_demonstration_not_step():
    """Demonstrations at y = 0, 1, 3 with steps close together: from y = 0 the second nearest is 1 away."""
    states = np.array([[x, y] for y in (0.0, 1.0, 3.0) for x in np.linspace(0, 1, 11)])
    episodes = np.repeat([0, 1, 2], 11)
    query = np.array([[0.5, 0.0], [0.5, 2.5]])
    for neighbours, expected in ((1, [0.0, 0.5]), (2, [1.0, 1.5])):
        region = Coverage.fit(states, episodes, CoverageCfg(neighbours=neighbours))
        assert region.distance(query) == pytest.approx(expected)


def test_threshold_leaves_each_demonstration_out():
    """One state a demonstration at 0, 1, 3, 7: the others are 1, 1, 2 and 4 away, the median is 1.5."""
    region = Coverage.fit(np.array([[0.0], [1.0], [3.0], [7.0]]), np.arange(4), CoverageCfg(1, 0.5))
    assert region.threshold == pytest.approx(1.5)


def test_further_demonstrations_are_covered_as_often_as_calibrated(rng):
    """200 held-out paths against 100: a share of 0.95, +- 3 standard errors of 200 independent offsets (0.046)."""
    region = Coverage.fit(*paths(rng, 100), CoverageCfg(3, 0.95))
    covered = region.ratio(paths(rng, 200)[0]) <= 1.0
    assert covered.mean() == pytest.approx(0.95, abs=0.05)


def test_what_lies_far_off_is_not_covered_and_order_of_rows_does_not_matter(rng):
    states, episodes = paths(rng, 12)
    region = Coverage.fit(states, episodes)
    assert (region.ratio(states + np.array([0.0, 5.0])) > 1.0).all()
    mixed = rng.permutation(len(states))
    assert Coverage.fit(states[mixed], episodes[mixed]).threshold == pytest.approx(region.threshold)


def test_scale_of_everything_does_not_matter(rng):
    states, episodes = paths(rng, 12)
    query = rng.normal(size=(50, 2))
    ratio = Coverage.fit(states, episodes).ratio(query)
    assert Coverage.fit(10 * states, episodes).ratio(10 * query) == pytest.approx(ratio)


def test_demonstrations_that_are_all_the_same_cover_themselves():
    region = Coverage.fit(np.zeros((8, 3)), np.arange(8) // 2)
    assert region.ratio(np.zeros((1, 3))) == pytest.approx(0.0)
    assert region.ratio(np.full((1, 3), 1e-3)) > 1.0


def test_too_few_demonstrations_and_bad_numbers_are_refused():
    with pytest.raises(ConfigError, match="3 demonstrations for 3 neighbours"):
        Coverage.fit(np.zeros((3, 1)), np.arange(3))
    with pytest.raises(ConfigError, match="not finite"):
        Coverage.fit(np.full((9, 1), np.nan), np.arange(9))
    with pytest.raises(ConfigError, match="quantile"):
        CoverageCfg(quantile=1.0)


def test_curve_counts_rollouts_that_still_run():
    covered = np.array([True, True, True, False, False])
    curve = coverage_curve(covered, np.array([0.0, 0.6, 0.1, 0.7, 1.2]), np.array([0, 0, 1, 1, 1]))
    assert [one.value for one in curve.share] == pytest.approx([1.0, 0.5, 0.0])
    assert curve.rollouts.tolist() == [2, 2, 1]
    assert curve.time_s == pytest.approx([0.0, 0.5, 1.0, 1.5])


def test_groups_of_numbers_count_alike(rng):
    """Mean squared distance from the mean is 1 for each group, whatever size and unit; still numbers do not blow up."""
    groups = (Group("many", 16, 1e-6), Group("few", 3, 1e-6), Group("still", 2, 0.1))
    moving = rng.normal(size=(500, 19)) * np.repeat([5.0, 0.01], [16, 3])
    reference = np.concatenate([moving, np.full((500, 2), 0.3) + rng.normal(scale=1e-7, size=(500, 2))], axis=1)
    scaled = BalancedScale.fit(reference, groups)(reference)
    squared = [np.square(scaled[:, part]).sum(axis=1).mean() for part in (slice(0, 16), slice(16, 19), slice(19, 21))]
    assert squared[:2] == pytest.approx([1.0, 1.0])
    assert squared[2] < 1e-10
    with pytest.raises(ConfigError, match=r"\(500, 20\)"):
        BalancedScale.fit(reference[:, :-1], groups)
