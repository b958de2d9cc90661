"""How measurements follow commands, without a model of what is between: one shift in time, or dead time and lag.

Meant for what no simulator is fitted to: an arm or hand over a network, a motor on the bench. Streams need neither the
same rate nor the same stamps.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import fminbound, least_squares
from scipy.signal import lfilter

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log import Stream
from r2s2r.world.held_command import HeldCommand
from r2s2r.world.uncertainty import sandwich

_ROUNDS = 5
"""Fits between which outliers are told anew."""


@dataclass(frozen=True)
class ResponseCfg:
    """How responses are fitted.

    Raises:
        ConfigError: a value is not allowed.
    """

    largest_delay_s: float = 1.0
    """Shifts and dead times are searched from 0 to this [s]."""
    largest_lag_s: float = 2.0
    """Largest time constant [s]."""
    block_s: float = 1.0
    """Residuals within this time may be correlated [s]."""
    outlier: float = 5.0
    """Samples beyond this many robust standard deviations are left out."""
    still: float = 0.02
    """A column whose command or measurement changes by less in the whole recording did not move [its unit]."""

    def __post_init__(self):
        set_number(self, "largest_delay_s", 1e-3, 60.0)
        set_number(self, "largest_lag_s", 1e-3, 600.0)
        set_number(self, "block_s", 1e-3, 600.0)
        set_number(self, "outlier", 1.0, 1e3)
        set_number(self, "still", 0.0)


@dataclass(frozen=True)
class Shift:
    """By how much measurements trail their commands as a whole: dead time and lag together."""

    delay_s: float
    """Shift between stamps [s]."""
    half_width_s: float
    """Half of the 95 % interval [s]; infinite where nothing moved or the best shift is at an end of the search."""
    gain: np.ndarray
    """(K,) measured over commanded."""
    unexplained: np.ndarray
    """(K,) share of the measurements' variance that the shifted commands leave."""


@dataclass(frozen=True)
class FirstOrder:
    """Dead time, then a first-order lag, of one number. Half widths are those of 95 % intervals."""

    gain: float
    """Measured over commanded, at rest."""
    gain_half_width: float
    offset: float
    """Measured at command zero."""
    dead_time_s: float
    """From a command's stamp to its first effect [s]."""
    dead_time_half_width: float
    lag_s: float
    """Time constant [s]."""
    lag_half_width: float
    rms: float
    """Of the residuals of the samples that count."""
    outliers: np.ndarray
    """Rows of the measurement that were left out."""


def moved_columns(command: Stream, measured: Stream, cfg: ResponseCfg | None = None) -> np.ndarray:
    """Return the columns (K,) in which both command and measurement changed."""
    cfg = cfg or ResponseCfg()
    ranges = [np.ptp(stream.values, axis=0) for stream in (command, measured)]
    return np.flatnonzero(np.minimum(*ranges) > cfg.still)


def shift(command: Stream, measured: Stream, columns: np.ndarray, cfg: ResponseCfg | None = None) -> Shift:
    """Return the one shift of `columns` (K,) that lets the commands explain the measurements best.

    Each column has a gain and an offset of its own. Commands are interpolated linearly between their stamps.

    Raises:
        RecordingError: the streams overlap in fewer than 10 samples.
    """
    cfg = cfg or ResponseCfg()
    columns = np.asarray(columns, dtype=int)
    time_s, values = _overlap(command, measured, cfg)
    values = values[:, columns] - values[:, columns].mean(axis=0)
    size = values.std(axis=0)
    if not len(columns) or size.min() == 0.0:
        return Shift(0.0, np.inf, np.full(len(columns), np.nan), np.ones(len(columns)))
    curves = [(command.time_s, command.values[:, j]) for j in columns]

    def shifted(delay_s: float) -> np.ndarray:
        one = np.stack([np.interp(time_s - delay_s, *curve) for curve in curves], axis=1)
        return one - one.mean(axis=0)

    def leftover(delay_s: float) -> tuple[np.ndarray, np.ndarray]:
        one = shifted(delay_s)
        gain = (one * values).sum(axis=0) / np.maximum((one**2).sum(axis=0), 1e-300)
        return (values - gain * one) / size, gain

    def cost(delay_s: float) -> float:
        return float(np.sum(leftover(delay_s)[0] ** 2))

    step = 0.5 * float(np.median(np.diff(time_s)))
    grid = np.arange(0.0, cfg.largest_delay_s + step, step)
    best = int(np.argmin([cost(delay) for delay in grid.tolist()]))
    low, high = max(0.0, grid[best] - step), min(cfg.largest_delay_s, grid[best] + step)
    delay_s = float(np.asarray(fminbound(cost, low, high, xtol=1e-5)))
    residuals, gain = leftover(delay_s)
    slope = -gain * (shifted(delay_s + step) - shifted(delay_s - step)) / (2.0 * step) / size
    at_end = best in (0, len(grid) - 1)
    width = np.inf if at_end else _shift_half_width(slope, shifted(delay_s) / size, residuals, time_s, cfg.block_s)
    return Shift(delay_s, width, gain, np.mean(residuals**2, axis=0))


def first_order(command: Stream, measured: Stream, column: int = 0, cfg: ResponseCfg | None = None) -> FirstOrder:
    """Return dead time and lag between a held command and a measurement; spikes are found and left out.

    Raises:
        RecordingError: the streams overlap in fewer than 10 samples, or the command never changes.
    """
    cfg = cfg or ResponseCfg()
    time_s, values = _overlap(command, measured, cfg)
    values = values[:, column]
    held = HeldCommand(Stream(command.time_s, command.values[:, [column]]))
    if np.ptp(command.values[:, column]) == 0.0:
        raise RecordingError(f"command response: column {column} of the command never changes; nothing to identify")
    model = _FirstOrderModel(held, command.time_s[0], time_s, cfg)
    used = np.ones(len(values), dtype=bool)
    start = model.grid_start(values)
    residuals = model.residuals(start, values)
    for _ in range(_ROUNDS):
        start = model.fit(values, used, start)
        residuals = model.residuals(start, values)
        # Half a step of a quantised sensor is no outlier, whatever the other samples say.
        spread = max(1.4826 * float(np.median(np.abs(residuals[used]))), 0.5 * _resolution(values))
        kept = np.abs(residuals) <= cfg.outlier * spread
        if np.array_equal(kept, used):
            break
        used = kept
    scale = float(np.sqrt(np.mean(residuals[used] ** 2))) or 1e-12
    block = np.floor(time_s / cfg.block_s).astype(int)[used]
    jacobian = model.jacobian(start)[used] / scale
    width = sandwich(jacobian, residuals[used] / scale, block).half_width
    if start[0] < 1e-6:  # dead time stopped at zero and cannot make up for the others
        width[1:] = sandwich(jacobian[:, 1:], residuals[used] / scale, block).half_width
    dead_time_s, lag_s, gain, offset = (float(x) for x in start)
    outliers = np.searchsorted(measured.time_s, time_s[~used])
    return FirstOrder(gain, width[2], offset, dead_time_s, width[0], lag_s, width[1], scale, outliers)


class _FirstOrderModel:
    """Parameters (4,): dead time, lag, gain, offset."""

    def __init__(self, held: HeldCommand, start_s: float, time_s: np.ndarray, cfg: ResponseCfg):
        self._held, self._time_s = held, time_s
        self._step = 0.1 * float(np.median(np.diff(time_s)))
        # From the first command on, before which everything rests: what is measured later may begin in full motion.
        self._edges = np.arange(start_s - 10.0 * self._step, time_s[-1] + self._step, self._step)
        self._low = np.array([0.0, 0.1 * self._step, -np.inf, -np.inf])
        self._high = np.array([cfg.largest_delay_s, cfg.largest_lag_s, np.inf, np.inf])

    def unit_response(self, dead_time_s: float, lag_s: float) -> np.ndarray:
        """Return the answer of gain one at the samples, at rest at the first command before."""
        mean = self._held.means(self._edges - dead_time_s)[:, 0]
        keep = np.exp(-self._step / lag_s)
        # Within a step the mean acts as if held: exact for the area, and 1/240 of a sample for the time.
        answer, _ = lfilter([1.0 - keep], [1.0, -keep], mean, zi=[keep * mean[0]])
        return np.interp(self._time_s, self._edges[1:], answer)

    def residuals(self, parameters: np.ndarray, values: np.ndarray) -> np.ndarray:
        return parameters[2] * self.unit_response(parameters[0], parameters[1]) + parameters[3] - values

    def grid_start(self, values: np.ndarray) -> np.ndarray:
        """Return the best of a grid of dead times and lags by the sum of absolute residuals: spikes bend it little."""
        best, best_cost = np.zeros(4), np.inf
        period = 10.0 * self._step
        for dead_time_s in np.arange(0.0, self._high[0], period).tolist():
            for lag_s in np.geomspace(0.3 * period, self._high[1], 12).tolist():
                columns = np.stack([self.unit_response(dead_time_s, lag_s), np.ones_like(values)], axis=1)
                line = np.linalg.lstsq(columns, values, rcond=None)[0]
                cost = float(np.abs(columns @ line - values).sum())
                if cost < best_cost:
                    best, best_cost = np.array([dead_time_s, lag_s, *line]), cost
        return best

    def fit(self, values: np.ndarray, used: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the least-squares solution over the samples `used`; a few bad ones count little."""
        scale = max(float(np.median(np.abs(self.residuals(start, values)[used]))), 0.1 * _resolution(values), 1e-12)
        inside = np.clip(start, self._low + 1e-9, self._high - 1e-9)
        return least_squares(
            lambda x: self.residuals(x, values)[used],
            inside,
            bounds=(self._low, self._high),
            loss="huber",
            f_scale=3.0 * scale,
            x_scale=np.array([10.0 * self._step, 10.0 * self._step, 1.0, 1.0]),
            diff_step=1e-4,
        ).x

    def jacobian(self, parameters: np.ndarray) -> np.ndarray:
        """Return the derivative (T, 4) of the residuals, by central differences of a tenth of a step."""
        columns = []
        for k in range(2):
            shift_ = np.zeros(2)
            shift_[k] = min(0.1 * self._step, 0.5 * parameters[1])
            ahead, behind = (self.unit_response(*(parameters[:2] + sign * shift_)) for sign in (1.0, -1.0))
            columns.append(parameters[2] * (ahead - behind) / (2.0 * shift_[k]))
        columns += [self.unit_response(*parameters[:2]), np.ones_like(self._time_s)]
        return np.stack(columns, axis=1)


def _overlap(command: Stream, measured: Stream, cfg: ResponseCfg) -> tuple[np.ndarray, np.ndarray]:
    """Return stamps and values of the measurements that commands can explain at every shift."""
    start = command.time_s[0] if len(command.time_s) else np.inf
    inside = measured.time_s >= start
    if inside.sum() < 10:
        raise RecordingError(
            f"command response: {int(inside.sum())} measurements after the first command, needed are 10"
        )
    return measured.time_s[inside], measured.values[inside]


def _shift_half_width(
    slope: np.ndarray, commands: np.ndarray, residuals: np.ndarray, time_s: np.ndarray, block_s: float
) -> float:
    """Return the half width of the shift's interval; gains and offsets (K each) are free beside it."""
    count, width = slope.shape
    jacobian = np.zeros((count, width, 1 + 2 * width))
    jacobian[:, :, 0] = slope
    for j in range(width):
        jacobian[:, j, 1 + j] = -commands[:, j]
        jacobian[:, j, 1 + width + j] = -1.0
    block = np.repeat(np.floor(time_s / block_s).astype(int), width)
    scale = float(np.sqrt(np.mean(residuals**2))) or 1e-12
    found = sandwich(jacobian.reshape(count * width, -1) / scale, residuals.ravel() / scale, block)
    return float(found.half_width[0])


def _resolution(values: np.ndarray) -> float:
    """Return the smallest step between different values: the quantisation of a coarse sensor."""
    steps = np.diff(np.unique(values))
    return float(np.median(steps)) if len(steps) else 0.0
