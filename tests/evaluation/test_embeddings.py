"""Embeddings: thumbnails of known pictures, principal components and distances against their closed forms."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.embeddings import Projection, domain_distance, frechet_distance, halves, thumbnails


def test_thumbnail_is_the_mean_of_its_block(rng):
    picture = rng.integers(0, 256, size=(2, 64, 64, 3), dtype=np.uint8)
    embedded = thumbnails(picture, np.zeros_like(picture))
    assert embedded.shape == (2, 2 * 8 * 8 * 3)
    assert embedded[1, 3 * (8 * 2 + 5)] == pytest.approx(picture[1, 16:24, 40:48, 0].mean() / 255, abs=1e-6)
    assert not embedded[:, 192:].any()


def test_grey_level_moves_a_thumbnail_by_itself():
    dark, light = (np.full((1, 16, 16, 3), level, dtype=np.uint8) for level in (51, 102))
    assert thumbnails(light, light) - thumbnails(dark, dark) == pytest.approx(np.full((1, 384), 0.2))


def test_pictures_that_do_not_divide_are_refused():
    with pytest.raises(ConfigError, match="20 x 20 px, allowed are multiples of 8"):
        thumbnails(np.zeros((1, 20, 20, 3), np.uint8), np.zeros((1, 20, 20, 3), np.uint8))


def test_components_of_known_axes(rng):
    """Deviations 5, 2, 1 along turned axes: shares 25/30, 4/30, 1/30; coordinates keep distances."""
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    sample = rng.normal(size=(20_000, 3)) * [5.0, 2.0, 1.0] @ turn.T + 7.0
    found = Projection.fit(sample)
    assert found.explained == pytest.approx(np.array([25, 4, 1]) / 30, abs=0.01)
    assert np.abs(np.sum(found.axes * turn.T, axis=1)) == pytest.approx(1.0, abs=1e-3)
    at = found(sample[:50])
    assert np.linalg.norm(at[0] - at[1:], axis=1) == pytest.approx(np.linalg.norm(sample[0] - sample[1:50], axis=1))


def test_sample_smaller_than_its_space_has_fewer_components(rng):
    assert Projection.fit(rng.normal(size=(4, 100))).axes.shape == (4, 100)
    flat = Projection.fit(np.ones((5, 3)))
    assert flat(np.ones((2, 3))) == pytest.approx(0.0) and not flat.explained.any()
    with pytest.raises(ConfigError, match=r"\(1, 3\)"):
        Projection.fit(np.ones((1, 3)))


def test_frechet_distance_of_normal_samples(rng):
    """Means 3 apart, deviations 1 and 2 along 4 axes: 9 + 4 (1 - 2)^2 = 13, +- 3 % at 20,000 rows."""
    first, second = rng.normal(size=(20_000, 4)), 2.0 * rng.normal(size=(20_000, 4)) + [3.0, 0.0, 0.0, 0.0]
    assert frechet_distance(first, second) == pytest.approx(13.0, rel=0.03)
    assert frechet_distance(second, first) == pytest.approx(frechet_distance(first, second))


def test_frechet_distance_of_a_sample_and_itself_or_moved(rng):
    sample = rng.normal(size=(50, 3))
    assert frechet_distance(sample, sample) == pytest.approx(0.0, abs=1e-6)
    assert frechet_distance(sample, sample + [2.0, 0.0, 0.0]) == pytest.approx(4.0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    other = rng.normal(size=(40, 3)) + 1.0
    assert frechet_distance(sample @ turn, other @ turn) == pytest.approx(frechet_distance(sample, other))


def test_frechet_distance_where_nothing_varies():
    assert frechet_distance(np.zeros((5, 2)), np.full((5, 2), 3.0)) == pytest.approx(18.0)


def test_distances_of_a_domain_that_moved_and_of_one_that_did_not(rng):
    sources = np.repeat(np.arange(20), 10)
    first, second = rng.normal(size=(2, 200, 4))
    near = domain_distance(first, second, sources, sources, rounds=50)
    far = domain_distance(first, second + 5.0, sources, sources, rounds=50)
    assert near.energy.low < 0.1 and near.frechet.value < 0.5
    assert far.energy.low > near.energy.high and far.frechet.low > near.frechet.high
    assert near.frechet.low <= near.frechet.value <= near.frechet.high
    assert domain_distance(first, second, sources, sources, rounds=50) == near


def test_halves_keep_sources_whole(rng):
    sources = rng.integers(0, 9, size=100)
    first, second = halves(sources)
    assert (first ^ second).all()
    assert not set(sources[first]) & set(sources[second])
    assert len(set(sources[first])) == 4
