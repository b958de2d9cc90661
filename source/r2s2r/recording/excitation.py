"""Motions that show what a drive is like, as pure functions of time: chirps and triangles for the arm, steps and
triangles for the hand.

A fast motion shows inertia and delay, a slow one through many reversals shows dry friction and play.
"""

import math
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import ARM_JOINTS, HAND_JOINTS
from r2s2r.control.minimum_jerk import progress
from r2s2r.robot.limits import ARM_LIMITS, HAND_LIMITS

AIR_ARM = (0.0, -0.55, 0.0, 1.35, 0.0, 1.25, 1.60)
"""Arm joints [rad] from which every excitation stays in free air (a test follows it): the wrist is in front of the
base, half a metre above the table."""

SPREAD_HAND = (
    *(0.12, 0.55, 0.55, 0.55),
    *(0.0, 0.55, 0.55, 0.55),
    *(-0.12, 0.55, 0.55, 0.55),
    *(1.26, 0.35, 0.35, 0.35),
)
"""Hand joints [rad], half closed with the fingers fanned out and the thumb aside, from where no excitation lets fingers
touch (a test looks)."""

SPREADING_JOINTS = (0, 4, 8, 12)
"""Hand joints that spread the fingers or turn the thumb across the palm."""

_ROUNDING = 0.99
"""How sharp the corners of the arm's triangles are: 1 would be an infinite acceleration."""


@dataclass(frozen=True)
class ArmExcitationCfg:
    """All joints at once: a logarithmic sweep up and down, no two joints at the same frequency, on a slow triangle.

    Raises:
        ConfigError: a value is out of range, or the motion leaves the vendor's joint limits.
    """

    duration_s: float = 35.0
    """Length [s], for one sweep up and down."""
    low_hz: float = 0.1
    """Lowest frequency of the sweep [Hz]."""
    high_hz: float = 8.0
    """Highest frequency of the sweep [Hz]: just above the calculated gains' natural frequency (42 rad/s, 6.7 Hz)."""
    sweep_amplitude: tuple[float, ...] = (0.10, 0.10, 0.12, 0.12, 0.20, 0.20, 0.25)
    """Amplitude of the sweep where it is slow (7) [rad]."""
    sweep_velocity: tuple[float, ...] = (0.6, 0.6, 0.8, 0.8, 1.5, 1.5, 1.8)
    """Bound of the sweep's speed (7) [rad/s]."""
    sweep_acceleration: tuple[float, ...] = (9.0, 9.0, 11.0, 11.0, 14.0, 14.0, 14.0)
    """Bound of the sweep's acceleration (7) [rad/s2]; the vendor allows 20."""
    triangle_amplitude: tuple[float, ...] = (0.25, 0.15, 0.25, 0.20, 0.30, 0.25, 0.35)
    """Amplitude of the triangle (7) [rad]."""
    triangle_period_s: tuple[float, ...] = (9.7, 7.3, 5.3, 8.3, 4.3, 6.1, 3.7)
    """Period of the triangle (7) [s]; no two equal, and joint j begins j/7 later."""
    first_shift: float = 0.0
    """Where joint 1 starts in its sweep, in sweeps from low to high; joint j starts j * 2/7 later."""
    fade_s: float = 1.5
    """Time in which the motion comes up from rest, and returns to it [s]."""

    def __post_init__(self):
        set_number(self, "fade_s", 0.1, 10.0)
        set_number(self, "duration_s", 2.0 * self.fade_s, 600.0)
        set_number(self, "low_hz", 0.01, 10.0)
        set_number(self, "high_hz", 1.01 * self.low_hz, 40.0)
        set_number(self, "first_shift", 0.0, 2.0)
        count = len(ARM_JOINTS)
        set_vector(self, "sweep_velocity", count, 1e-3, float(ARM_LIMITS.velocity.min()))
        set_vector(self, "sweep_acceleration", count, 1e-3, 20.0)
        set_vector(self, "triangle_period_s", count, 0.5, 600.0)
        for name in ("sweep_amplitude", "triangle_amplitude"):
            set_vector(self, name, count, 0.0, math.pi)
        reach = np.add(self.sweep_amplitude, self.triangle_amplitude)
        _check_inside("arm excitation", np.array(AIR_ARM), reach, ARM_LIMITS.lower, ARM_LIMITS.upper, ARM_JOINTS)


def arm_excitation(time_s: np.ndarray | float, cfg: ArmExcitationCfg) -> np.ndarray:
    """Return arm joint targets (..., 7) [rad] at times (...) [s] from the start; at rest at AIR_ARM at both ends."""
    time_s = np.asarray(time_s, dtype=float)[..., None]
    shift = cfg.first_shift + np.arange(len(ARM_JOINTS)) * 2.0 / len(ARM_JOINTS)
    phase, rate = sweep(time_s, 0.5 * cfg.duration_s, cfg.low_hz, cfg.high_hz, shift)
    amplitude = 1.0 / (
        1.0 / np.maximum(cfg.sweep_amplitude, 1e-9)
        + rate / np.array(cfg.sweep_velocity)
        + rate**2 / np.array(cfg.sweep_acceleration)
    )
    turns = time_s / np.array(cfg.triangle_period_s) + 0.5 * shift
    triangle = np.array(cfg.triangle_amplitude) * _rounded_triangle(turns)
    fade = progress(time_s / cfg.fade_s) * progress((cfg.duration_s - time_s) / cfg.fade_s)
    return np.array(AIR_ARM) + fade * (amplitude * np.sin(phase) + triangle)


def sweep(
    time_s: np.ndarray, sweep_s: float, low_hz: float, high_hz: float, shift: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return phase [rad] and rate [rad/s] of a sweep that goes from low to high and back without end.

    The logarithm of the frequency is linear in time, so that every octave has the same time. The rate is the phase's
    with rounded corners: what is made of it has a speed without jumps.

    Args:
        time_s: times (...) [s].
        sweep_s: time from low to high [s].
        low_hz: lowest frequency [Hz].
        high_hz: highest frequency [Hz].
        shift: where it starts, in sweeps; the phase is 0 there.
    """
    ratio = high_hz / low_hz

    def turns(sweeps: np.ndarray) -> np.ndarray:
        whole = np.floor(sweeps)
        part, down = sweeps - whole, whole % 2.0 == 1.0
        frequency = ratio ** np.where(down, 1.0 - part, part)
        within = np.where(down, ratio - frequency, frequency - 1.0)
        return (whole * (ratio - 1.0) + within) / math.log(ratio)

    sweeps = np.asarray(time_s, dtype=float) / sweep_s + shift
    phase = turns(sweeps) - turns(np.asarray(shift, dtype=float))
    height = 0.5 + 0.5 * _rounded_triangle(0.5 * sweeps - 0.25)
    return 2.0 * math.pi * low_hz * sweep_s * phase, 2.0 * math.pi * low_hz * ratio**height


def _rounded_triangle(turns: np.ndarray) -> np.ndarray:
    """Return a triangle between -1 and 1 that starts upwards from 0 and has period 1."""
    return np.arcsin(_ROUNDING * np.sin(2.0 * math.pi * turns)) / math.asin(_ROUNDING)


@dataclass(frozen=True)
class HandExcitationCfg:
    """Steps of several sizes, then slow triangles of several amplitudes; every joint the same, one after the other.

    Raises:
        ConfigError: a value is out of range, or the motion leaves the vendor's joint limits.
    """

    levels: tuple[float, ...] = (0.05, -0.05, 0.10, -0.10, 0.20, 0.0, 0.30, 0.0, -0.30, -0.15, 0.10, 0.0)
    """Levels of the steps [rad], relative to SPREAD_HAND; a step of more than 0.3 rad might saturate the drive."""
    hold_s: float = 1.0
    """How long each level is held [s]: several of the slowest time constants that a hand has."""
    triangle_amplitude: tuple[float, ...] = (0.02, 0.05, 0.10, 0.20, 0.30)
    """Amplitudes of the triangles [rad]: below, about and above the play."""
    triangle_speed: tuple[float, ...] = (0.05, 0.06, 0.12, 0.16, 0.20)
    """Speed of each triangle [rad/s]."""
    triangle_cycles: tuple[int, ...] = (2, 2, 2, 1, 1)
    """How often each triangle is run through."""
    spreading: float = 0.4
    """Share of the amplitudes at joints that spread the fingers, which have neighbours, and that turn the thumb."""

    def __post_init__(self):
        set_number(self, "hold_s", 0.05, 60.0)
        set_number(self, "spreading", 0.0, 1.0)
        count = len(self.triangle_amplitude)
        set_vector(self, "levels", len(self.levels), -1.0, 1.0)
        set_vector(self, "triangle_amplitude", count, 1e-4, 1.0)
        set_vector(self, "triangle_speed", count, 1e-3, float(HAND_LIMITS.velocity.min()))
        if len(self.triangle_cycles) != count or min(self.triangle_cycles, default=1) < 1:
            raise ConfigError(
                f"HandExcitationCfg.triangle_cycles: received {self.triangle_cycles}, "
                f"allowed are {count} whole numbers from 1"
            )
        largest = max((abs(x) for x in (*self.levels, *self.triangle_amplitude)), default=0.0)
        _check_inside(
            "hand excitation",
            np.array(SPREAD_HAND),
            largest * _shares(self),
            HAND_LIMITS.lower,
            HAND_LIMITS.upper,
            HAND_JOINTS,
        )

    @property
    def duration_s(self) -> float:
        """Length [s]."""
        return sum(length for length, _, _ in _pieces(self))


def hand_excitation(time_s: np.ndarray | float, cfg: HandExcitationCfg) -> np.ndarray:
    """Return hand joint targets (..., 16) [rad] at times (...) [s] from the start.

    Joint j runs j/16 of the whole duration ahead, round in a circle, so that no two do the same at the same time.
    """
    time_s = np.asarray(time_s, dtype=float)[..., None]
    ahead = np.arange(len(HAND_JOINTS)) / len(HAND_JOINTS)
    within = np.mod(time_s + ahead * cfg.duration_s, cfg.duration_s)
    lengths, starts, slopes = np.array(_pieces(cfg)).T
    begins = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    piece = np.searchsorted(begins, within, side="right") - 1
    return np.array(SPREAD_HAND) + _shares(cfg) * (starts[piece] + slopes[piece] * (within - begins[piece]))


def _pieces(cfg: HandExcitationCfg) -> list[tuple[float, float, float]]:
    """Return duration [s], first value [rad] and slope [rad/s] of the pieces of the motion of one joint."""
    pieces = [(cfg.hold_s, level, 0.0) for level in cfg.levels]
    for height, speed, cycles in zip(cfg.triangle_amplitude, cfg.triangle_speed, cfg.triangle_cycles, strict=True):
        quarter = height / speed
        cycle = [(quarter, 0.0, speed), (2.0 * quarter, height, -speed), (quarter, -height, speed)]
        pieces += cycle * cycles
    return pieces


def _shares(cfg: HandExcitationCfg) -> np.ndarray:
    shares = np.ones(len(HAND_JOINTS))
    shares[list(SPREADING_JOINTS)] = cfg.spreading
    return shares


def _check_inside(
    what: str, middle: np.ndarray, reach: np.ndarray, lower: np.ndarray, upper: np.ndarray, names: tuple[str, ...]
) -> None:
    """Refuse a motion by `reach` (J) about `middle` (J) that leaves `lower..upper`."""
    outside = np.flatnonzero((middle - reach < lower) | (middle + reach > upper))
    if len(outside):
        j = int(outside[0])
        raise ConfigError(
            f"{what}: {names[j]} moves by {reach[j]:.3f} rad about {middle[j]:.3f} rad, "
            f"allowed are {lower[j]:.3f} to {upper[j]:.3f} rad"
        )


HELD_OUT_ARM = ArmExcitationCfg(
    duration_s=12.0,
    low_hz=0.2,
    high_hz=6.0,
    triangle_period_s=(6.1, 4.7, 3.7, 5.3, 3.1, 4.3, 2.7),
    first_shift=1.5,
)
"""What the arm's fit is judged by: other frequencies at other times."""

HELD_OUT_HAND = HandExcitationCfg(
    levels=(0.12, -0.08, 0.20, -0.05, -0.25, 0.0),
    hold_s=0.6,
    triangle_amplitude=(0.15, 0.25),
    triangle_speed=(0.22, 0.30),
    triangle_cycles=(1, 1),
)
"""What the hand's fit is judged by: other sizes, other speeds."""
