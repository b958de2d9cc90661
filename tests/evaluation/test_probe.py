"""Probe: chance where there is nothing to find, closed forms where there is, and no leak between folds."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.probe import area_under_curve, logistic_regression, probe


def episodes(
    rng: np.random.Generator, count: int, shift: float = 0.0, rows: int = 20, own: float = 0.0, width: int = 6
):
    """Return latents of episodes with offsets of their own, shifted along the first axis; and each row's episode."""
    offsets = rng.normal(scale=own, size=(count, 1, width))
    latents = rng.normal(size=(count, rows, width)) + offsets
    latents[..., 0] += shift
    return latents.reshape(-1, width), np.repeat(np.arange(count), rows)


def found(first, second, **options):
    names = [np.char.add(prefix, groups.astype(str)) for prefix, (_, groups) in zip("rs", (first, second), strict=True)]
    return probe(first[0], second[0], *names, rounds=100, **options)


def test_shift_of_normal_latents_gives_its_area(rng):
    """d standard deviations: area under the curve Phi(d / sqrt 2), accuracy Phi(d / 2)."""
    result = found(episodes(rng, 60), episodes(rng, 60, shift=1.5))
    assert result.auc.low <= norm.cdf(1.5 / np.sqrt(2)) <= result.auc.high
    assert result.accuracy.low <= norm.cdf(0.75) <= result.accuracy.high


def test_same_distribution_is_at_chance_though_episodes_are_their_own(rng):
    """Rows of an episode are nearly copies: folds that parted them would find the episodes, not the domain."""
    result = found(episodes(rng, 40, own=5.0), episodes(rng, 40, own=5.0))
    assert result.auc.value == pytest.approx(0.5, abs=0.2)


def test_separable_latents_are_told_apart_for_sure(rng):
    result = found(episodes(rng, 10), episodes(rng, 10, shift=100.0))
    assert result.auc.value == 1.0 and result.accuracy.low == 1.0


def test_sizes_of_the_classes_do_not_move_chance(rng):
    result = found(episodes(rng, 10), episodes(rng, 150))
    assert result.accuracy.value == pytest.approx(0.5, abs=0.15)


def test_set_against_itself_is_at_chance(rng):
    latents, names = episodes(rng, 20, own=3.0)
    result = probe(latents, latents, names, names, rounds=50)
    assert result.auc.value == pytest.approx(0.5, abs=0.02)


def test_constant_latents_say_nothing():
    result = probe(np.ones((8, 3)), np.ones((8, 3)), np.arange(8), np.arange(8) + 8, rounds=20)
    assert result.auc.value == 0.5


def test_same_seed_same_result(rng):
    first, second = episodes(rng, 8), episodes(rng, 8, shift=1.0)
    assert found(first, second, seed=3) == found(first, second, seed=3)


def test_newton_finds_what_a_peer_finds(rng):
    """SciPy's BFGS on the same loss, to its own gradient tolerance."""
    x = rng.normal(size=(200, 4)) * [1.0, 10.0, 0.1, 1.0]
    y = (x[:, 0] + rng.normal(size=200) > 0.3).astype(float)
    weight, ridge = np.full(200, 1 / 200), 0.01

    def loss(beta):
        margin = x @ beta[:-1] + beta[-1]
        return weight @ (np.logaddexp(0, margin) - y * margin) + 0.5 * ridge * beta[:-1] @ beta[:-1]

    peer = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-8}).x
    assert logistic_regression(x, y, weight, ridge) == pytest.approx(peer, abs=1e-4)


def test_area_is_the_share_of_pairs_and_ties_count_half(rng):
    negative, positive = rng.integers(0, 5, 30).astype(float), rng.integers(1, 6, 20).astype(float)
    pairs = positive[:, None] - negative[None, :]
    assert area_under_curve(negative, positive) == pytest.approx((pairs > 0).mean() + 0.5 * (pairs == 0).mean())


def test_one_episode_and_bad_numbers_are_refused(rng):
    with pytest.raises(ConfigError, match="1 and 2 episodes"):
        probe(np.zeros((4, 2)), np.zeros((4, 2)), np.zeros(4), np.array([1, 1, 2, 2]))
    with pytest.raises(ConfigError, match="not finite"):
        probe(np.full((4, 2), np.inf), np.zeros((4, 2)), np.arange(4), np.arange(4))
    with pytest.raises(ConfigError, match=r"\(4, 2\) and \(4, 3\)"):
        probe(np.zeros((4, 2)), np.zeros((4, 3)), np.arange(4), np.arange(4))
