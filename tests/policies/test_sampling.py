"""Weights are shares of samples, kept exactly; a batch depends on seed and number alone."""

import numpy as np
import pytest

from r2s2r_policies.sampling import MixtureSampler

REAL, SIMULATED = 100 * 300, 1500 * 200


def sources(sampler: MixtureSampler, batches: int, size: int) -> np.ndarray:
    return np.concatenate([sampler.batch(number, size)[0] for number in range(batches)])


def test_b77_the_ratio_is_per_sample():
    natural = REAL / (REAL + SIMULATED)  # what counting frames would give
    assert natural == pytest.approx(0.091, abs=5e-4)
    drawn = sources(MixtureSampler((REAL, SIMULATED), (0.5, 0.5), seed=0), 100, 100)
    assert np.mean(drawn == 0) == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize("weights", [(0.0, 1.0), (1.0, 0.0), (0.1, 0.2, 0.7, 0.0), (0.3, 0.0, 0.0, 0.7)])
def test_b77_a_source_without_weight_is_never_drawn(weights):
    drawn = sources(MixtureSampler([REAL] * len(weights), weights, seed=1), 300, 7)
    shares = np.bincount(drawn, minlength=len(weights)) / len(drawn)
    np.testing.assert_array_less(np.abs(shares - weights), 1.0 / len(drawn) + 1e-12)
    assert not set(drawn) & {source for source, weight in enumerate(weights) if weight == 0.0}


def test_each_pass_shows_every_sample_once_and_in_a_new_order():
    sampler, counts = MixtureSampler((10, 23), (0.5, 0.5), seed=2), (10, 23)
    source, index = (np.concatenate(part) for part in zip(*(sampler.batch(k, 6) for k in range(46)), strict=True))
    for number, count in enumerate(counts):
        drawn = index[source == number]
        # Within a batch the order is shuffled, so passes are told apart by how often each sample was drawn.
        often = np.bincount(drawn, minlength=count)
        assert often.max() - often.min() <= 1 and len(drawn) == sampler.drawn(276)[number]
    first, second = (sampler._order(0, number) for number in (0, 1))
    assert sorted(first) == sorted(second) == list(range(10)) and list(first) != list(second)


def test_a_batch_is_the_same_whatever_was_drawn_before_it():
    straight, jumping = (MixtureSampler((50, 7), (0.7, 0.3), seed=3) for _ in range(2))
    batches = [straight.batch(number, 16) for number in range(40)]
    for number in (39, 0, 17, 16, 39, 5):
        for received, expected in zip(jumping.batch(number, 16), batches[number], strict=True):
            np.testing.assert_array_equal(received, expected)
    other = MixtureSampler((50, 7), (0.7, 0.3), seed=4).batch(0, 16)
    assert not all(np.array_equal(a, b) for a, b in zip(other, batches[0], strict=True))


def test_what_was_drawn_is_counted_in_closed_form():
    sampler = MixtureSampler((30, 40, 50), (0.2, 0.3, 0.5), seed=5)
    np.testing.assert_array_equal(sampler.drawn(9 * 11), np.bincount(sources(sampler, 9, 11), minlength=3))
