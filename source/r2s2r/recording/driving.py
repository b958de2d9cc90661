"""Drives a cell along paths and writes down all that arrives: smooth whatever happens, and nothing lost."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from r2s2r.contracts.cell import Cell, Message, Picture
from r2s2r.contracts.errors import RecordingError

ARM_RATE_HZ = 200.0
"""Commands to the arm a second while it moves."""

ARM_TO_HAND = 2
"""Commands to the arm for each one to the hand: 100 a second."""

LARGEST_STEP = 2
"""Steps of a path that a late command may make up for: an arm that waited goes on where it was and does not jump."""

BRAKE_S = 0.4
"""Time in which an interrupted motion comes to rest on its path [s]."""

_FIRST_READING_S, _PICTURE_S = 2.0, 1.0
"""How long the first readings and a requested picture are waited for [s]."""

Path = Callable[[float], np.ndarray]
"""Joint targets [rad] at a time [s] from a path's begin."""


class Log(Protocol):
    """What takes down a recording, such as :class:`r2s2r.recording.cell_log_file.CellLogWriter`."""

    def append(self, messages: list[Message]) -> None:
        """Take messages."""
        ...

    def append_picture(self, picture: Picture) -> None:
        """Take a picture."""
        ...

    def begin_segment(self, name: str, time_s: float) -> None:
        """Note that something begins."""
        ...

    def end_segment(self, time_s: float) -> None:
        """Note that it has ended."""
        ...


class Driver:
    """Sends commands to a cell at a steady rate and hands everything that comes from it to a log."""

    def __init__(self, cell: Cell, log: Log):
        self._cell, self._log = cell, log

    def postures(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what encoders of arm (7) and hand (16) read first [rad].

        Raises:
            RecordingError: nothing arrives.
        """
        found: dict[str, np.ndarray] = {}
        until = self._cell.now() + _FIRST_READING_S
        while len(found) < 2:
            if self._cell.now() >= until:
                missing = ", ".join(name for name in ("arm_joint_pos", "hand_joint_pos") if name not in found)
                raise RecordingError(f"cell: no reading of {missing} within {_FIRST_READING_S} s; is it switched on?")
            self._cell.wait(0.02)
            messages = self._cell.read()
            self._log.append(messages)
            found |= {m.stream: m.value for m in messages if m.stream in ("arm_joint_pos", "hand_joint_pos")}
        return found["arm_joint_pos"], found["hand_joint_pos"]

    def follow(
        self,
        duration_s: float,
        arm: Path | None = None,
        hand: Path | None = None,
        pictures: dict[str, float] | None = None,
    ) -> None:
        """Follow paths from their begin, where arm and hand are, to their end, with pictures on the way.

        Args:
            duration_s: length of the paths [s].
            arm: targets (7) over time; None: none are sent.
            hand: targets (16) over time; None: none are sent.
            pictures: for each camera the time between its pictures [s], the first at the begin.

        Raises:
            RecordingError: a camera gives no pictures.
        """
        clock = _PathClock(self._cell, duration_s)
        requests = _Requests(self._cell, self._log, pictures or {})
        try:
            requests.ask(0.0)
            while clock.path_s < duration_s:
                clock.wait()
                self._send(
                    clock.path_s, arm, hand if clock.ticks % ARM_TO_HAND == 0 or clock.path_s >= duration_s else None
                )
                self.write()
                requests.write()
                requests.ask(clock.path_s)
        except KeyboardInterrupt:
            self._brake(clock, arm, hand)
            raise
        requests.finish()

    def still(self, duration_s: float) -> None:
        """Let time pass; the last commands hold."""
        self._cell.wait(duration_s)
        self.write()

    def picture(self, camera: str) -> None:
        """Take a picture while nothing moves."""
        self._log.append_picture(self._cell.picture(camera))
        self.write()

    def belt(self, speed: float) -> None:
        """Set the belt's speed [m/s]."""
        self._cell.command_belt(speed)

    @contextmanager
    def segment(self, name: str) -> Iterator[None]:
        """Mark what happens inside as a segment; one that fails has no end."""
        self.write()
        self._log.begin_segment(name, self._cell.now())
        yield
        self.write()
        self._log.end_segment(self._cell.now())

    def write(self) -> None:
        """Hand to the log what has arrived."""
        messages = self._cell.read()
        if messages:
            self._log.append(messages)

    def _send(self, path_s: float, arm: Path | None, hand: Path | None) -> None:
        if arm is not None:
            self._cell.command_arm(arm(path_s))
        if hand is not None:
            self._cell.command_hand(hand(path_s))

    def _brake(self, clock: "_PathClock", arm: Path | None, hand: Path | None) -> None:
        """Come to rest on the path, from the speed at which it was followed."""
        steps = round(BRAKE_S * ARM_RATE_HZ)
        path_s = clock.path_s
        for k in range(steps):
            path_s = min(path_s + (1.0 - (k + 1) / steps) / ARM_RATE_HZ, clock.duration_s)
            self._send(path_s, arm, hand if k % ARM_TO_HAND == 0 else None)
            self._cell.wait(1.0 / ARM_RATE_HZ)
        self.write()


class _PathClock:
    """Time along a path: the host's, except that it goes on from where it was after a stall."""

    def __init__(self, cell: Cell, duration_s: float):
        self._cell, self.duration_s = cell, duration_s
        self._last_s = self._next_s = cell.now()
        self.path_s, self.ticks = 0.0, 0

    def wait(self) -> None:
        """Wait for the next tick and move on."""
        self._next_s = max(self._next_s + 1.0 / ARM_RATE_HZ, self._cell.now())
        self._cell.wait(max(0.0, self._next_s - self._cell.now()))
        now = self._cell.now()
        step = min(now - self._last_s, LARGEST_STEP / ARM_RATE_HZ)
        # A rounding error short of the end would cost one more tick.
        self.path_s = self.duration_s if self.path_s + step > self.duration_s - 1e-9 else self.path_s + step
        self._last_s = now
        self.ticks += 1


class _Requests:
    """Pictures at steady times along a path."""

    def __init__(self, cell: Cell, log: Log, periods: dict[str, float]):
        self._cell, self._log, self._periods = cell, log, periods
        self._due = dict.fromkeys(periods, 0.0)
        self._open = dict.fromkeys(periods, 0)

    def ask(self, path_s: float) -> None:
        """Request what is due."""
        for camera, period_s in self._periods.items():
            if path_s >= self._due[camera] - 1e-9:
                self._due[camera] += period_s
                self._cell.request_picture(camera)
                self._open[camera] = 1  # asked twice before it arrives, it comes once

    def write(self) -> None:
        """Hand to the log what has arrived."""
        for picture in self._cell.requested_pictures() if self._periods else ():
            self._open[picture.camera] = 0
            self._log.append_picture(picture)

    def finish(self) -> None:
        """Wait for what is still to come.

        Raises:
            RecordingError: it does not come.
        """
        until = self._cell.now() + _PICTURE_S
        while any(self._open.values()):
            if self._cell.now() >= until:
                missing = ", ".join(camera for camera, count in self._open.items() if count)
                raise RecordingError(f"camera {missing}: no picture within {_PICTURE_S} s of asking; is it connected?")
            self._cell.wait(0.02)
            self.write()
