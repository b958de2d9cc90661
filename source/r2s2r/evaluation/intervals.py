"""How far a success rate can be trusted: counts are always shown with the interval they allow."""

from math import sqrt
from statistics import NormalDist

from r2s2r.contracts.errors import ConfigError


def wilson_interval(successes: int, attempts: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the Wilson score interval of a success rate, or None where nothing was tried.

    It stays within 0 and 1 and keeps its width at rates of 0 and 1, where the textbook interval has none (E. B. Wilson,
    "Probable inference, the law of succession, and statistical inference", JASA 22, 1927).

    Args:
        successes: 0 to `attempts`.
        attempts: independent trials.
        confidence: share of such intervals that hold the true rate.

    Returns:
        Lower and upper end, both 0..1.

    Raises:
        ConfigError: the counts are negative or contradict each other, or `confidence` is not between 0 and 1.
    """
    if not 0 <= successes <= attempts:
        raise ConfigError(
            f"interval: {successes} successes of {attempts} attempts, allowed are 0 <= successes <= attempts"
        )
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"interval: confidence is {confidence}, allowed is a number between 0 and 1")
    if attempts == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / attempts
    centre = share + z * z / (2 * attempts)
    half_width = z * sqrt(share * (1 - share) / attempts + (z / (2 * attempts)) ** 2)
    scale = 1 + z * z / attempts
    # At rates of 0 and 1 an end is exactly 0 or 1; rounding must not put it beyond.
    low = 0.0 if successes == 0 else (centre - half_width) / scale
    high = 1.0 if successes == attempts else (centre + half_width) / scale
    return low, high


def interval_text(successes: int, attempts: int, confidence: float = 0.95) -> str:
    """Return the interval in percent, `37.6-96.4 %`, or `n/a` where nothing was tried."""
    interval = wilson_interval(successes, attempts, confidence)
    return "n/a" if interval is None else f"{100 * interval[0]:.1f}-{100 * interval[1]:.1f} %"
