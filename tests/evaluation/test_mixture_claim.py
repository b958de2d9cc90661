"""Mixture claim: known mixtures come out, the claim holds where it was built in and nowhere else."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.mixture_claim import EDGES, action_scale, mixture_claim, nearest_chunks

ROLLOUTS, DECISIONS, CHUNK = 20, 30, 4


def chunks(rng: np.random.Generator, count: int = ROLLOUTS * DECISIONS) -> np.ndarray:
    return rng.normal(size=(count, CHUNK, 25))


@pytest.fixture
def scale(rng):
    return action_scale(chunks(rng, 400))


@pytest.fixture
def rollouts() -> np.ndarray:
    return np.repeat(np.arange(ROLLOUTS), DECISIONS)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.8, 1.0])
def test_mixture_in_every_action_gives_its_weight_exactly(rng, scale, rollouts, share):
    real, simulated = chunks(rng), chunks(rng)
    ratio = rng.uniform(0.0, 3.0, len(real))
    claim = mixture_claim(share * real + (1 - share) * simulated, real, simulated, ratio, rollouts, scale)
    assert [one.value for one in claim.weight] == pytest.approx([share] * (len(EDGES) - 1))
    assert [one.value for one in claim.nearer_real] == pytest.approx([float(share > 0.5)] * (len(EDGES) - 1))
    assert claim.difference.value == pytest.approx(0.0)


def test_mixture_of_decisions_gives_its_share(rng, scale, rollouts):
    """Each decision follows the one or the other: 90 % real where covered, 20 % beyond; all ends in their intervals."""
    real, simulated = chunks(rng), chunks(rng)
    ratio = rng.uniform(0.0, 2.0, len(real))
    follows = rng.random(len(real)) < np.where(ratio <= 1.0, 0.9, 0.2)
    deployed = np.where(follows[:, None, None], real, simulated) + rng.normal(scale=0.1, size=real.shape)
    claim = mixture_claim(deployed, real, simulated, ratio, rollouts, scale)
    assert claim.inside.low <= 0.9 <= claim.inside.high
    assert claim.outside.low <= 0.2 <= claim.outside.high
    assert claim.difference.low > 0.5
    assert claim.inside.value == pytest.approx(follows[ratio <= 1.0].mean())


def test_policy_that_follows_neither_is_undecided(rng, scale, rollouts):
    """Chunks drawn independently: a half on both sides, the difference's interval holds 0."""
    claim = mixture_claim(chunks(rng), chunks(rng), chunks(rng), rng.uniform(0.0, 2.0, len(rollouts)), rollouts, scale)
    assert claim.inside.low <= 0.5 <= claim.inside.high
    assert claim.difference.low <= 0.0 <= claim.difference.high


def test_swapping_real_and_simulated_swaps_the_shares(rng, scale, rollouts):
    deployed, real, simulated = chunks(rng), chunks(rng), chunks(rng)
    ratio = rng.uniform(0.0, 2.0, len(rollouts))
    one = mixture_claim(deployed, real, simulated, ratio, rollouts, scale)
    other = mixture_claim(deployed, simulated, real, ratio, rollouts, scale)
    for first, second in zip(one.weight[:4], other.weight[:4], strict=True):
        assert first.value == pytest.approx(1.0 - second.value)


def test_decisions_where_both_say_the_same_are_left_out(rng, scale, rollouts):
    real = chunks(rng)
    claim = mixture_claim(chunks(rng), real, real + 1e-6, np.ones(len(real)), rollouts, scale)
    assert claim.alike == len(real) and claim.decisions.sum() == 0 and np.isnan(claim.inside.value)
    assert claim.to_dict()["difference"]["value"] is None


def test_state_on_the_border_counts_as_covered(rng, scale):
    real, simulated = chunks(rng, 2), chunks(rng, 2)
    claim = mixture_claim(real, real, simulated, np.array([1.0, 1.0]), np.arange(2), scale)
    assert claim.inside.value == 1.0 and np.isnan(claim.outside.value)
    assert claim.decisions[EDGES.index(1.0) - 1] == 2


def test_chunks_of_the_nearest_state_are_taken(rng):
    states, recorded = rng.normal(size=(50, 3)), chunks(rng, 50)
    order = rng.permutation(50)
    found = nearest_chunks(states[order] + 1e-6, states, recorded)
    assert np.array_equal(found, recorded[order])


def test_other_lengths_of_chunks_are_refused(rng, scale, rollouts):
    real = chunks(rng)
    with pytest.raises(ConfigError, match=r"\(600, 3, 25\)"):
        mixture_claim(real[:, :3], real, real, np.ones(600), rollouts, scale)
