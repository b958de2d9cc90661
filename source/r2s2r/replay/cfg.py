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

    push_share: float = 0.0
    """Share of the attempts in which the wrist is pushed away once and has to come back: states that demonstrations
    do not show, and the way back from them."""

    push_m: tuple[float, float] = (0.02, 0.06)
    """How far it is pushed [m]: about what a policy errs by before it meets nothing familiar."""

    push_s: float = 0.8
    """Way out and back [s] at the demonstration's own speed."""

    lead_s: float = 0.058
    """How far ahead of the moving object the wrist aims [s]: how late the nominal arm is on a steady motion, measured
    in simulation. Another world has another one, which a generation measures before its first attempt."""

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
        nearest, farthest = self.push_m
        if not 0.0 <= nearest <= farthest <= 0.2:
            raise ConfigError(f"ReplayCfg.push_m: received {self.push_m}, allowed is 0 <= low <= high <= 0.2")
        set_number(self, "push_share", 0.0, 1.0)
        set_number(self, "push_s", 0.1, 10.0)
        set_number(self, "arrival_m", 1e-4, 1.0)
        set_number(self, "noise_time_s", 1e-3, 100.0)
        set_number(self, "rate_hz", 1.0, 1000.0)
