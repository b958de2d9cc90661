"""Sources with a steady rate."""

import numpy as np
import pytest

from r2s2r.cell.clock import SourceCfg, SteadySource
from r2s2r.contracts.errors import ConfigError


def _samples(cfg: SourceCfg, count: int, rng) -> list:
    source = SteadySource(cfg, 100.0, rng)
    return [source.next() for _ in range(count)]


def test_instants_are_even_and_stamps_late_by_the_delay(rng):
    samples = _samples(SourceCfg(30.0, delay_s=0.04), 50, rng)
    instants = np.array([s.instant_s for s in samples])
    assert 100.0 <= instants[0] < 100.0 + 1.0 / 30.0
    assert np.allclose(np.diff(instants), 1.0 / 30.0)
    assert np.allclose([s.stamp_s for s in samples], instants + 0.04)
    assert not any(s.lost for s in samples)


def test_jitter_has_its_size_and_no_mean(rng):
    samples = _samples(SourceCfg(200.0, jitter_s=2e-4), 4000, rng)
    jitter = np.array([s.stamp_s - s.arrival_s for s in samples])
    assert jitter.std() == pytest.approx(2e-4, rel=0.05)  # 1/sqrt(8000) = 1.1 %
    assert abs(jitter.mean()) < 4.0 * 2e-4 / np.sqrt(4000)


def test_stamps_never_go_back_however_large_the_jitter(rng):
    samples = _samples(SourceCfg(100.0, jitter_s=0.1), 2000, rng)
    assert (np.diff([s.stamp_s for s in samples]) > 0.0).all()


def test_the_share_of_losses_is_as_set(rng):
    lost = [s.lost for s in _samples(SourceCfg(100.0, drop_share=0.1), 5000, rng)]
    assert np.mean(lost) == pytest.approx(0.1, abs=4.0 * np.sqrt(0.1 * 0.9 / 5000))


def test_a_rate_of_zero_is_refused():
    with pytest.raises(ConfigError, match=r"SourceCfg.rate_hz: received 0.0, allowed are numbers from 0.001"):
        SourceCfg(0.0)
