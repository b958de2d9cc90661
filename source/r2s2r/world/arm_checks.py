"""Whether a joint fit may be believed: bounds, frequency response, held-out score, combinations that stay free."""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.signal import csd, welch

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError
from r2s2r.world.joint_excerpt import JointExcerpt, without_spikes
from r2s2r.world.joint_fit import JointFit

BAND_EDGES_HZ = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Edges of the frequency bands in which gain and phase are compared [Hz]; the excitation reaches 8 Hz."""

_RATE_HZ = 200.0
"""Rate at which spectra are taken: the encoders' [Hz]."""

_WINDOW_S = 5.0
"""Length of a spectrum's windows: 0.2 Hz apart [s]."""

_SPEED_NOISE = 3e-3
"""Amplitude of speed [rad/s] below which a joint was not excited in a band."""

_SPOKEN = {
    "armature": "armature",
    "viscous_friction": "viscous friction",
    "coulomb_friction": "dry friction",
    "encoder_bias": "encoder bias",
    "command_delay_s": "command delay",
    "stiffness_scale": "Kp",
}


@dataclass(frozen=True)
class VerdictCfg:
    """When a fit is accepted.

    Raises:
        ConfigError: a value is not allowed.
    """

    largest_gain_error_db: float = 2.0
    """In every band that was excited [dB]."""
    largest_phase_error_deg: float = 15.0
    """In every band that was excited [deg]."""
    largest_held_out_ratio: float = 3.0
    """Held-out over training residual (rms)."""

    def __post_init__(self):
        for name in ("largest_gain_error_db", "largest_phase_error_deg", "largest_held_out_ratio"):
            set_number(self, name, 1e-3, 1e3)


@dataclass(frozen=True)
class BandErrors:
    """Simulated against measured response to the commands."""

    edges_hz: np.ndarray
    """(B + 1,) [Hz]."""
    gain_db: np.ndarray
    """(B, J) simulated over measured gain [dB]; nan where a joint was not excited."""
    phase_deg: np.ndarray
    """(B, J) simulated minus measured phase [deg]; nan where a joint was not excited."""


@dataclass(frozen=True)
class Verdict:
    """Whether a fit is accepted, and if not, why."""

    reasons: tuple[str, ...]
    """One line each; none when accepted."""

    @property
    def accepted(self) -> bool:
        """True when there is nothing against it."""
        return not self.reasons


def judge(
    fit: JointFit, bands: BandErrors, held_out_ratio: float, cfg: VerdictCfg | None = None, unit: str = "joint"
) -> Verdict:
    """Return the verdict from bounds, bands and the held-out over the training residual."""
    cfg = cfg or VerdictCfg()
    reasons = [f"{spoken(name, unit)} stopped at its bound {value:.4g}" for name, value in at_bounds(fit)]
    for what, errors, limit, dimension in (
        ("gain", bands.gain_db, cfg.largest_gain_error_db, "dB"),
        ("phase", bands.phase_deg, cfg.largest_phase_error_deg, "deg"),
    ):
        for b, j in np.argwhere(np.nan_to_num(np.abs(errors)) > limit):
            low, high = bands.edges_hz[b : b + 2]
            reasons.append(
                f"{unit}{j + 1}: {what} error {errors[b, j]:+.1f} {dimension} at {low:g} to {high:g} Hz, "
                f"allowed are {limit:g}"
            )
    if held_out_ratio > cfg.largest_held_out_ratio:
        reasons.append(
            f"held-out residual is {held_out_ratio:.1f} times the training one, allowed are "
            f"{cfg.largest_held_out_ratio:g}"
        )
    return Verdict(tuple(reasons))


def at_bounds(fit: JointFit) -> tuple[tuple[str, float], ...]:
    """Return names and values of what stopped at a bound."""
    return tuple((fit.names[k], float(fit.values[k])) for k in np.flatnonzero(fit.at_bound))


def band_errors(
    excerpt: JointExcerpt, simulated: np.ndarray, edges_hz: tuple[float, ...] = BAND_EDGES_HZ
) -> BandErrors:
    """Compare simulated readings (T, J) with an excerpt's: cross spectra with the commands, summed over each band."""
    grid = np.arange(0.0, excerpt.duration_s, 1.0 / _RATE_HZ)
    command = excerpt.command.at(grid)
    speeds = [
        np.gradient(np.stack([np.interp(grid, excerpt.time_s, column) for column in values.T], axis=1), grid, axis=0)
        for values in (without_spikes(excerpt.readings), simulated)
    ]
    window = {"fs": _RATE_HZ, "nperseg": min(int(_WINDOW_S * _RATE_HZ), len(grid)), "axis": 0}
    frequency, measured = csd(command, speeds[0], **window)
    _, fitted = csd(command, speeds[1], **window)
    _, power = welch(speeds[0], **window)
    edges = np.array(edges_hz)
    gain, phase = (np.full((len(edges) - 1, excerpt.readings.shape[1]), np.nan) for _ in range(2))
    for b in range(len(edges) - 1):
        inside = (frequency >= edges[b]) & (frequency < edges[b + 1])
        excited = np.sqrt(2.0 * power[inside].sum(axis=0) * (frequency[1] - frequency[0])) > _SPEED_NOISE
        # Weighted by the measured response, bins that carry no motion do not count.
        ratio = (fitted[inside] * measured[inside].conj()).sum(axis=0)
        ratio = ratio / np.maximum((np.abs(measured[inside]) ** 2).sum(axis=0), 1e-300)
        gain[b, excited] = 20.0 * np.log10(np.maximum(np.abs(ratio[excited]), 1e-6))
        phase[b, excited] = np.degrees(np.angle(ratio[excited]))
    return BandErrors(edges, gain, phase)


def not_separable(groups: tuple[tuple[str, ...], ...], unit: str = "joint") -> tuple[str, ...]:
    """Return one line for each group of :attr:`r2s2r.world.joint_intervals.Intervals.flat`."""
    order = list(_SPOKEN)
    order.insert(0, order.pop(order.index("stiffness_scale")))
    lines = []
    for group in groups:
        names = sorted(group, key=lambda name: order.index(name.partition(".")[0]))
        joints = sorted({name.partition(".")[2] for name in names} - {""})
        fields = list(dict.fromkeys(_SPOKEN[name.partition(".")[0]] for name in names))
        where = " and ".join(f"{unit}{joint}" for joint in joints) or "all"
        if len(fields) == 1:
            lines.append(f"{where}: {fields[0]} not determined")
            continue
        more = f" (nor {', '.join(fields[2:])})" if fields[2:] else ""
        lines.append(f"{where}: {fields[0]} and {fields[1]} not separable{more}")
    return tuple(lines)


def spoken(name: str, unit: str = "joint") -> str:
    """Return a fitted number's name as a person says it."""
    field, _, joint = name.partition(".")
    return f"{unit}{joint}: {_SPOKEN[field]}" if joint else _SPOKEN[field]


def single_friction(static: float, kinetic: float, allow_merge: bool = False) -> float:
    """Return the dry friction for a simulator that has one value: the kinetic one, which acts while a joint moves.

    Args:
        static: friction at rest [N m].
        kinetic: friction in motion [N m].
        allow_merge: whether the static value may be lost where it differs by more than a tenth; that is logged.

    Raises:
        ConfigError: they differ by more than a tenth and merging was not allowed, or one is negative.
    """
    if not 0.0 <= kinetic < np.inf or not 0.0 <= static < np.inf:
        raise ConfigError(f"dry friction: static {static} and kinetic {kinetic} N m, allowed are finite numbers from 0")
    if abs(static - kinetic) > 0.1 * max(static, kinetic):
        if not allow_merge:
            raise ConfigError(
                f"dry friction: static {static:g} and kinetic {kinetic:g} N m differ and the simulator has one value; "
                f"allow_merge=True writes the kinetic one"
            )
        logging.getLogger(__name__).warning(
            "dry friction: static %g N m is lost, kinetic %g N m is written", static, kinetic
        )
    return kinetic
