"""The schedule of the learning rate, and what settings allow."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r_policies.train_settings import TrainSettings, rate_factor


def factors(until: int, warmup: int = 10, decay: int = 0) -> np.ndarray:
    return np.array([rate_factor(step, warmup, until, decay) for step in range(until)])


def test_the_rate_rises_linearly_and_stays():
    rate = factors(50)
    np.testing.assert_allclose(np.diff(rate[:11]), 1 / 11)
    assert rate[0] > 0 and (rate[10:] == 1).all()


def test_a_run_that_is_extended_had_the_same_rates():
    np.testing.assert_array_equal(factors(50), factors(200)[:50])


def test_only_the_last_steps_fall():
    rate = factors(100, decay=20)
    np.testing.assert_array_equal(rate[:80], factors(100)[:80])
    assert (np.diff(rate[80:]) < 0).all() and 0 < rate[-1] < 0.01
    # A cosine is symmetric about the middle of the fall.
    np.testing.assert_allclose(rate[80:] + rate[80:][::-1], 1.0, atol=1e-12)


def test_without_warm_up_the_first_step_has_the_full_rate():
    assert factors(3, warmup=0)[0] == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 0),
        ("learning_rate", -1.0),
        ("gradient_clip", 0.0),
        ("threads", 0),
        ("device", "tpu"),
        ("seed", -1),
    ],
)
def test_what_is_not_allowed_names_the_field(name, value):
    with pytest.raises(ConfigError, match=name):
        TrainSettings(sources=(), algorithm={}, **{name: value})
