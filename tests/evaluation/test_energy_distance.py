"""Energy distance: closed forms, a peer, invariances, dependent rows, coverage of the interval."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import energy_distance as peer
from scipy.stats import norm

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation import energy_distance as module
from r2s2r.evaluation.energy_distance import energy_distance


def folded_mean(mean: float, deviation: float) -> float:
    """Return E|Z| of a normal Z."""
    return deviation * np.sqrt(2 / np.pi) * np.exp(-0.5 * (mean / deviation) ** 2) + mean * (
        1 - 2 * norm.cdf(-mean / deviation)
    )


def of_normals(shift: float, first: float, second: float) -> float:
    """Return the energy distance of N(0, first^2) and N(shift, second^2)."""
    across = folded_mean(shift, np.hypot(first, second))
    return 2 * across - folded_mean(0.0, np.sqrt(2) * first) - folded_mean(0.0, np.sqrt(2) * second)


def test_point_sets_by_hand():
    """E|X - Y| = 3 on a line, both spreads 1; in the plane 5 and again 1."""
    assert energy_distance([[0.0], [1.0]], [[3.0], [4.0]], rounds=1).value == pytest.approx(2 * 3 - 1 - 1)
    square = energy_distance([[0.0, 0.0], [0.0, 1.0]], [[3.0, 4.0], [3.0, 4.0]], rounds=1)
    assert square.value == pytest.approx(2 * (5 + np.hypot(3, 3)) / 2 - 1 - 0)


@pytest.mark.parametrize("shift, first, second", [(0.0, 1.0, 1.0), (1.0, 1.0, 1.0), (0.5, 1.0, 2.0), (3.0, 0.5, 0.7)])
def test_normals_have_their_closed_form(rng, shift, first, second):
    """The estimate is unbiased: the mean of 60 samples lies within four standard errors of the truth."""
    values = [
        energy_distance(rng.normal(0.0, first, (60, 1)), rng.normal(shift, second, (40, 1)), rounds=1).value
        for _ in range(60)
    ]
    assert np.mean(values) == pytest.approx(of_normals(shift, first, second), abs=4 * np.std(values) / np.sqrt(60))


def test_agrees_with_scipy_on_a_line(rng):
    """SciPy's is the root of the biased estimate, which counts each row's distance to itself."""
    first, second = rng.normal(0.0, 1.0, 30), rng.normal(0.7, 1.5, 20)
    ours = energy_distance(first[:, None], second[:, None], rounds=1).value
    itself = [
        np.abs(np.subtract.outer(s, s)).sum() * (1 / (n * (n - 1)) - 1 / n**2) for s, n in ((first, 30), (second, 20))
    ]
    assert peer(first, second) ** 2 == pytest.approx(ours + sum(itself))


@settings(deadline=None)
@given(st.integers(0, 2**31), st.floats(0.1, 10.0), st.integers(1, 5))
def test_moving_turning_and_shuffling_change_nothing_and_size_scales(seed, size, width):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.0, 1.0, (12, width)), rng.normal(0.5, 1.0, (9, width))
    plain = energy_distance(first, second, rounds=1).value
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    moved = [sample @ turn + 3.0 for sample in (first, second)]
    assert energy_distance(*moved, rounds=1).value == pytest.approx(plain, abs=1e-9)
    assert energy_distance(rng.permutation(first), second, rounds=1).value == pytest.approx(plain, abs=1e-9)
    assert energy_distance(second, first, rounds=1).value == pytest.approx(plain, abs=1e-9)
    assert energy_distance(size * first, size * second, rounds=1).value == pytest.approx(size * plain, abs=1e-8)


def test_copies_of_a_source_change_neither_value_nor_interval(rng):
    """Seven adapted copies of each demonstration are no seven demonstrations."""
    first, second = rng.normal(0.0, 1.0, (10, 3)), rng.normal(1.0, 1.0, (8, 3))
    plain = energy_distance(first, second, np.arange(10), np.arange(8))
    copied = energy_distance(np.repeat(first, 7, axis=0), second, np.repeat(np.arange(10), 7), np.arange(8))
    assert (copied.value, copied.low, copied.high) == pytest.approx((plain.value, plain.low, plain.high))
    blind = energy_distance(np.repeat(first, 7, axis=0), second)
    assert blind.high - blind.low < 0.9 * (plain.high - plain.low), "taken for independent, they look too sure"


def test_interval_covers_the_truth(rng):
    """200 intervals of 95 %: fewer than 88 % would be six standard errors off, above 99.5 % it would be too wide."""
    truth = of_normals(1.0, 1.0, 1.5)
    inside = 0
    for trial in range(200):
        found = energy_distance(rng.normal(0.0, 1.0, (40, 1)), rng.normal(1.0, 1.5, (30, 1)), rounds=300, seed=trial)
        inside += found.low <= truth <= found.high
    assert 0.88 <= inside / 200 <= 0.995


def test_interval_of_equal_distributions_holds_zero(rng):
    """At zero the estimate's spread is not normal; the interval must not promise a difference more often than 5 %."""
    inside = 0
    for trial in range(100):
        found = energy_distance(rng.normal(size=(30, 4)), rng.normal(size=(30, 4)), rounds=200, seed=trial)
        inside += found.low <= 0.0 <= found.high
    assert inside >= 90


def test_same_seed_same_interval_and_chunks_change_nothing(rng, monkeypatch):
    first, second = rng.normal(size=(50, 2)), rng.normal(size=(40, 2))
    plain = energy_distance(first, second, seed=3)
    assert plain == energy_distance(first, second, seed=3) != energy_distance(first, second, seed=4)
    monkeypatch.setattr(module, "CHUNK", 7)
    chunked = energy_distance(first, second, seed=3)
    assert (chunked.value, chunked.low) == pytest.approx((plain.value, plain.low))


@pytest.mark.parametrize(
    "first, second, message",
    [
        (np.zeros((3, 2)), np.zeros((3, 1)), r"received shapes \(3, 2\) and \(3, 1\)"),
        (np.zeros((1, 2)), np.zeros((3, 2)), "a sample has 1 sources, at least 2"),
        (np.full((3, 1), np.nan), np.zeros((3, 1)), "not finite"),
    ],
)
def test_bad_samples_are_named(first, second, message):
    with pytest.raises(ConfigError, match=message):
        energy_distance(first, second)


def test_sources_must_fit():
    with pytest.raises(ConfigError, match="2 sources for 3 rows"):
        energy_distance(np.zeros((3, 1)), np.zeros((3, 1)), np.arange(2))
