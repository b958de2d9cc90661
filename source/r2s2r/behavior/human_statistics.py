"""How much human reaches vary: measured in optical motion capture, drawn from by the operator model."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.reaches import find_reaches
from r2s2r.contracts.errors import ConfigError, RecordingError
from r2s2r.recording.hand_recording import HandRecording


@dataclass(frozen=True)
class Spread:
    """One quantity over all reaches.

    Raises:
        ConfigError: a number is not finite, the standard deviation is negative or the quantiles are out of order.
    """

    mean: float
    """Arithmetic mean."""

    std: float
    """Sample standard deviation."""

    low: float
    """5 % quantile."""

    median: float
    """50 % quantile."""

    high: float
    """95 % quantile."""

    def __post_init__(self):
        if not np.isfinite(dataclasses.astuple(self)).all():
            raise ConfigError(f"spread: received {self}; every number must be finite")
        if self.std < 0.0 or not self.low <= self.median <= self.high:
            raise ConfigError(f"spread: received {self}; std must be >= 0 and low <= median <= high")

    @staticmethod
    def of(values: Sequence[float]) -> "Spread":
        """Return the spread of measured `values`; fewer than two have none.

        Raises:
            RecordingError: fewer than two values.
        """
        if len(values) < 2:
            raise RecordingError(f"spread: received {len(values)} values, at least 2 are needed")
        low, median, high = np.quantile(values, (0.05, 0.5, 0.95))
        return Spread(float(np.mean(values)), float(np.std(values, ddof=1)), float(low), float(median), float(high))

    def draw(self, rng: np.random.Generator) -> float:
        """Return a normal number with this mean and deviation, clipped to the 5 % to 95 % range that was seen."""
        return float(np.clip(rng.normal(self.mean, self.std), self.low, self.high))


@dataclass(frozen=True)
class HumanStatistics:
    """Spread of every quantity of :class:`~r2s2r.behavior.reaches.Reach`; the same names, units and signs."""

    source: str
    """Recording that was measured."""

    reach_count: int
    """Number of reaches."""

    duration_s: Spread
    length_m: Spread
    peak_speed: Spread
    peak_speed_fraction: Spread
    speed_ratio: Spread
    path_deviation: Spread
    path_rise: Spread
    closing_onset_s: Spread
    closing_duration_s: Spread
    hold_s: Spread

    @staticmethod
    def measure(recording: HandRecording, source: str) -> "HumanStatistics":
        """Return the statistics of the reaches in a recording.

        Args:
            recording: evenly sampled, with wrist and object motion.
            source: what to call it.

        Raises:
            RecordingError: fewer than two reaches, or see :func:`~r2s2r.behavior.reaches.find_reaches`.
        """
        reaches = find_reaches(recording)
        spreads = {
            field.name: Spread.of([getattr(reach, field.name) for reach in reaches])
            for field in dataclasses.fields(HumanStatistics)
            if field.name not in ("source", "reach_count")
        }
        return HumanStatistics(source=source, reach_count=len(reaches), **spreads)

    @staticmethod
    def builtin() -> "HumanStatistics":
        """Return the statistics of the recording `qualisys_reach_grasp`, for machines without the recording.

        Source: github.com/dfki-ric/hand_embodiment, test/data/recording.tsv, commit 8417bb3 (BSD-3-Clause, Copyright
        2021-2022 Alexander Fabisch, DFKI GmbH): one person, 19 whole reaches in 60 s. The wrist is the centre of the
        three markers on the back of the hand, the aperture the distance between the middle markers of thumb and
        index finger (the tip markers are lost now and then). Measured with :meth:`measure`; a test compares.
        """
        return _BUILTIN


_BUILTIN = HumanStatistics(
    source="qualisys_reach_grasp (built in)",
    reach_count=19,
    duration_s=Spread(1.2426, 0.1513, 1.0890, 1.2000, 1.6210),
    length_m=Spread(0.2117, 0.0187, 0.1840, 0.2111, 0.2385),
    peak_speed=Spread(0.2983, 0.0477, 0.2327, 0.2915, 0.3677),
    peak_speed_fraction=Spread(0.4992, 0.0832, 0.3826, 0.4915, 0.6554),
    speed_ratio=Spread(1.6764, 0.1406, 1.4893, 1.6550, 1.9173),
    path_deviation=Spread(0.0878, 0.0297, 0.0293, 0.0952, 0.1242),
    path_rise=Spread(0.0655, 0.0309, 0.0157, 0.0751, 0.0995),
    closing_onset_s=Spread(-0.1921, 0.0835, -0.3240, -0.1800, -0.0750),
    closing_duration_s=Spread(0.3453, 0.0654, 0.2450, 0.3600, 0.4330),
    hold_s=Spread(0.1879, 0.0469, 0.1200, 0.1900, 0.2500),
)
