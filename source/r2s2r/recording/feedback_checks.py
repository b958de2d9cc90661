"""Is a stream of joint readings a measurement? Some drivers echo the command, or repeat an old value at a high rate."""

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.cell_log import Stream
from r2s2r.recording.stream_kinds import STREAM_KINDS

ECHO_TOLERANCE = 1e-6
"""A reading this close to an earlier command [rad] is that command: noise and friction of a real joint are larger."""

ECHO_SHARE = 0.9
"""Share of the readings of a moving joint that must equal commands at one shift to be called an echo."""

LONGEST_SHIFT = 100
"""Largest shift that is tried [commands]: half a second at 200 Hz."""

MIN_RATE_HZ = {"arm_joint_pos": 50.0, "hand_joint_pos": 25.0}
"""Slowest true rate that a fit is made from [Hz]: six samples in a period of the arm's fastest excitation (8 Hz), two
within the hand's usual lag (80 ms)."""

_MOVING = 1e-5
"""Change between two readings of a joint that moves [rad]."""

_FEWEST_ROWS, _MOST_ROWS = 20, 2000
"""Readings that must move before an echo can be told, and how many of them are compared."""

_WINDOW_S, _WINDOW_MOTION = 1.0, 0.1
"""The rate is told in windows of this length [s] in which a joint moves this far [rad], so that an encoder's steps are
much finer than the motion."""


def echoed_joints(state: Stream, command: Stream) -> dict[int, int]:
    """Return {column: shift in commands} of the joints whose readings are commands sent before."""
    if len(state.time_s) < 2 or not len(command.time_s):
        return {}
    newest = np.searchsorted(command.time_s, state.time_s, side="right") - 1
    moving = np.abs(np.diff(state.values, axis=0, prepend=state.values[:1])) > _MOVING
    echoed = {}
    for j in range(state.values.shape[1]):
        rows = np.flatnonzero(moving[:, j] & (newest >= LONGEST_SHIFT // 4))
        if len(rows) < _FEWEST_ROWS:
            continue
        rows = rows[:: -(-len(rows) // _MOST_ROWS)]
        sources = newest[rows, None] - np.arange(LONGEST_SHIFT + 1)
        difference = state.values[rows, None, j] - command.values[np.maximum(sources, 0), j]
        equal = (np.abs(difference) <= ECHO_TOLERANCE) & (sources >= 0)
        # Stamps jitter, so that the newest command is now one sample earlier and now one later.
        share = np.mean(equal[:, :-1] | equal[:, 1:], axis=0)
        if share.max() >= ECHO_SHARE:
            echoed[j] = int(np.argmax(np.mean(equal, axis=0)))
    return echoed


def check_no_echo(name: str, state: Stream, command: Stream) -> None:
    """Refuse readings that repeat the commands.

    Args:
        name: `arm_joint_pos` or `hand_joint_pos`.
        state: its stream.
        command: commands of the same joints.

    Raises:
        RecordingError: at least one joint's readings are its commands.
    """
    echoed = echoed_joints(state, command)
    if echoed:
        joints = [STREAM_KINDS[name].names[j] for j in echoed]
        raise RecordingError(
            f"{name}: command echo: {', '.join(joints)} equal the commands sent {min(echoed.values())} samples before "
            f"within {ECHO_TOLERANCE:g} rad; have the driver report measured positions"
        )


def effective_rate_hz(stream: Stream) -> float | None:
    """Return how often the readings truly change while joints move [Hz]; None where none moves.

    It is the rate of the best windows: an encoder's steps can lower the rate of a slow stretch, nothing can raise it.
    """
    if len(stream.time_s) < 2:
        return None
    changed = np.flatnonzero(np.any(np.diff(stream.values, axis=0) != 0.0, axis=1)) + 1
    window = np.floor((stream.time_s - stream.time_s[0]) / _WINDOW_S).astype(np.int64)
    rates = []
    for number in np.unique(window):
        rows = np.flatnonzero(window == number)
        if np.ptp(stream.values[rows], axis=0).max() < _WINDOW_MOTION:
            continue
        times = stream.time_s[changed[np.isin(changed, rows)]]
        rates.append(1.0 / float(np.median(np.diff(times))) if len(times) > 2 else len(times) / _WINDOW_S)
    return float(np.quantile(rates, 0.9)) if rates else None


def check_rate(name: str, stream: Stream) -> tuple[str, ...]:
    """Return a warning where values are repeated (sample and hold).

    Raises:
        RecordingError: the true rate lies below MIN_RATE_HZ.
    """
    effective = effective_rate_hz(stream)
    if effective is None:
        return ()
    stamped = 1.0 / float(np.median(np.diff(stream.time_s)))
    repeats = round(stamped / effective)
    text = f"{name}: effective rate {effective:.3g} Hz"
    if repeats > 1:
        text += f", each value is repeated {repeats} times at {stamped:.3g} Hz (sample and hold)"
    # A nominal 25 Hz stream whose clock runs 1 % slow is still one.
    if effective < 0.95 * MIN_RATE_HZ[name]:
        raise RecordingError(f"{text}; allowed are {MIN_RATE_HZ[name]:g} Hz and more")
    return (text,) if repeats > 1 else ()
