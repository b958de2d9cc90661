"""Rounds of training: when to stop, and which round's policy to take."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.study.convergence import LOSS_GAIN, Round, best_round, converged


def rounds(losses, successes=None, trials: int = 8) -> list[Round]:
    if successes is None:
        return [Round(100 * (k + 1), loss) for k, loss in enumerate(losses)]
    return [Round(100 * (k + 1), loss, s, trials) for k, (loss, s) in enumerate(zip(losses, successes, strict=True))]


def test_it_goes_on_while_the_loss_falls():
    losses = 0.5 ** np.arange(10)
    assert not any(converged(rounds(losses[:k]), 1) for k in range(11))


def test_it_stops_after_as_many_rounds_without_gain_as_patience_says():
    losses = [1.0, 0.5, 0.5, 0.6, 0.7]
    assert [converged(rounds(losses[:k]), 2) for k in range(6)] == [False, False, False, False, True, True]
    assert [converged(rounds(losses[:k]), 3) for k in range(6)] == [False] * 5 + [True]


def test_a_gain_within_the_noise_is_none():
    assert converged(rounds([1.0, 1.0 - 0.9 * LOSS_GAIN]), 1)
    assert not converged(rounds([1.0, 1.0 - 1.1 * LOSS_GAIN]), 1)


def test_success_alone_keeps_it_going():
    assert converged(rounds([0.5, 0.6, 0.7], [2, 2, 2]), 2)
    assert not converged(rounds([0.5, 0.6, 0.7], [2, 2, 3]), 2)
    assert not converged(rounds([0.5, 0.4, 0.3], [2, 1, 1]), 2)


def test_creeping_losses_count_against_the_best_one_not_the_last():
    """A loss that rises and falls back has not got better."""
    assert converged(rounds([0.5, 0.9, 0.6]), 2)


def test_the_best_round_has_most_success_then_the_lowest_loss():
    assert best_round(rounds([0.3, 0.2, 0.4], [5, 5, 6])) == 2
    assert best_round(rounds([0.3, 0.2, 0.4], [5, 5, 5])) == 1
    assert best_round(rounds([0.3, 0.2, 0.2])) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Round(0, 1.0),
        lambda: Round(1, float("nan")),
        lambda: Round(1, 1.0, 3, 2),
        lambda: best_round([]),
        lambda: converged([], 0),
    ],
)
def test_nonsense_is_refused(make):
    with pytest.raises(ConfigError):
        make()
