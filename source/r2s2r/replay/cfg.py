"""Settings of the batch replay."""

from dataclasses import dataclass

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError


@dataclass(frozen=True)
class ReplayCfg:
    """How demonstrations are varied, and how long a hand may wait before it closes.

    Raises:
        ConfigError: a value is out of range.
    """

    seed: int = 0
    """Seed of choice, time warp and noise. What an attempt draws depends on it and on the attempt's number alone."""

    time_warp: tuple[float, float] = (0.9, 1.1)
    """Range of the speed at which a demonstration runs, relative to its own."""

    pos_noise: float = 0.001
    """Standard deviation of the slow disturbance of the wrist's position [m]."""

    rot_noise: float = 0.01
    """Standard deviation of the slow disturbance of the wrist's orientation [rad]."""

    hand_noise: float = 0.01
    """Standard deviation of the slow disturbance of each hand joint's target [rad]."""

    noise_time_s: float = 0.3
    """Correlation time of the disturbances [s]: a hand drifts, it does not shake."""

    lead_s: float = 1.0 / 30.0
    """How far ahead of the moving object the wrist aims [s]: the delay of the nominal arm on a steady motion, one
    control step (see :data:`r2s2r.contracts.world.NATURAL_FREQUENCY`)."""

    arrival_m: float = 0.006
    """The hand closes only once the wrist is this near to its place beside the object [m]."""

    max_wait_s: float = 0.5
    """The longest time that closing waits for that [s]; after it the attempt counts as late."""

    rate_hz: float = 30.0
    """Control steps a second."""

    def __post_init__(self):
        low, high = self.time_warp
        if not 0.1 <= low <= high <= 10.0:
            raise ConfigError(f"ReplayCfg.time_warp: received {self.time_warp}, allowed is 0.1 <= low <= high <= 10")
        for name in ("pos_noise", "rot_noise", "hand_noise", "lead_s", "max_wait_s"):
            set_number(self, name, 0.0, 10.0)
        set_number(self, "arrival_m", 1e-4, 1.0)
        set_number(self, "noise_time_s", 1e-3, 100.0)
        set_number(self, "rate_hz", 1.0, 1000.0)
