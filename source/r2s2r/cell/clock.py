"""Sources that give something at a steady rate, with stamps that jitter and samples that get lost."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.checks import set_number


@dataclass(frozen=True)
class SourceCfg:
    """One source.

    Raises:
        ConfigError: a value is not allowed.
    """

    rate_hz: float
    """Samples a second."""
    delay_s: float = 0.0
    """Stamp minus instant [s]."""
    jitter_s: float = 0.0
    """Standard deviation of the stamp [s]; it is cut at a quarter of the period, so that stamps never go back."""
    drop_share: float = 0.0
    """Share of the samples that never arrive."""

    def __post_init__(self):
        set_number(self, "rate_hz", 1e-3, 1e5)
        set_number(self, "delay_s", 0.0, 10.0)
        set_number(self, "jitter_s", 0.0, 1.0)
        set_number(self, "drop_share", 0.0, 0.99)


@dataclass(frozen=True)
class Sample:
    """One thing that a source gives."""

    instant_s: float
    """When the world was as the sample shows it [s]."""
    arrival_s: float
    """Instant plus delay [s]: the stamp without jitter."""
    stamp_s: float
    """The stamp [s]."""
    lost: bool
    """It never arrives."""


class SteadySource:
    """Samples of one source in the order of time; the first one comes within the first period."""

    def __init__(self, cfg: SourceCfg, start_s: float, rng: np.random.Generator):
        """Begin at `start_s` [s]; phase, jitter and losses come from `rng`."""
        self._cfg, self._rng = cfg, rng
        self._first_s = start_s + rng.uniform() / cfg.rate_hz
        self._count = 0

    def next(self) -> Sample:
        """Return the next sample."""
        cfg, period = self._cfg, 1.0 / self._cfg.rate_hz
        instant_s = self._first_s + self._count * period
        jitter = float(np.clip(self._rng.normal(0.0, cfg.jitter_s), -0.25 * period, 0.25 * period))
        lost = bool(self._rng.random() < cfg.drop_share)
        self._count += 1
        return Sample(instant_s, instant_s + cfg.delay_s, instant_s + cfg.delay_s + jitter, lost)
