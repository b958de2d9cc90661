"""A teleoperated robot's recording, whatever the robot: joints commanded and measured over time, and its video."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.joints import JointSet
from r2s2r.recording.frame_rate import check_increasing, mean_rate_hz

UNITS = ("rad", "share")
"""Units of columns: radians, or the share 0..1 of a motor's way as its maker counts it."""

SIDES = ("left", "right", "both")
"""Which arm and hand the columns belong to."""


@dataclass(frozen=True)
class Video:
    """Pictures of one camera in a file that may hold other recordings before and behind them."""

    path: Path
    """The file."""

    camera: str
    """Name of the camera in the data set."""

    rate_hz: float
    """Pictures a second."""

    begin_s: float = 0.0
    """Where in the file the first row's picture is shown [s]."""


@dataclass(frozen=True)
class TeleopRecording:
    """One episode of T rows and J columns.

    Raises:
        RecordingError: too few rows, times that do not increase, a wrong shape, a joint named twice, an unknown unit or
            side, or nothing tracked.
    """

    source: str
    """Data set and episode, for messages."""

    robot: str
    """What the data set calls the robot."""

    time_s: np.ndarray
    """(T,) at the declared rate, from 0 [s]."""

    joint_names: tuple[str, ...]
    """What each column belongs to (J)."""

    units: tuple[str, ...]
    """Of each column (J), one of :data:`UNITS`."""

    commanded: np.ndarray
    """(T, J) what the operator asked for; NaN where it was not recorded."""

    measured: np.ndarray
    """(T, J) what the encoders read; NaN where they were not recorded."""

    tracked: np.ndarray
    """(T,) bool: every column was recorded in this row."""

    side: str = "both"
    """One of :data:`SIDES`."""

    hw_time_s: np.ndarray | None = None
    """(T,) the recorder's own stamps where they are not the declared grid [s]; None where they are."""

    video: Video | None = None
    """Pictures, one for each row; None where there are none."""

    task: str = ""
    """What the operator was asked to do."""

    statements: tuple[str, ...] = ()
    """What is a fact of the recording and what is assumed, one line each."""

    def __post_init__(self):
        rows, columns = len(self.time_s), len(self.joint_names)
        if rows < 2:
            raise RecordingError(f"{self.source}: {rows} rows, at least 2 are needed")
        JointSet(self.joint_names)
        shapes = {"time_s": (rows,), "commanded": (rows, columns), "measured": (rows, columns), "tracked": (rows,)}
        shapes |= {} if self.hw_time_s is None else {"hw_time_s": (rows,)}
        for name, shape in shapes.items():
            array = np.asarray(getattr(self, name), dtype=bool if name == "tracked" else float)
            if array.shape != shape:
                raise RecordingError(f"{self.source}: {name} has shape {array.shape}, expected {shape}")
            object.__setattr__(self, name, array)
        check_increasing(self.time_s, self.source)
        wrong = sorted(set(self.units) - set(UNITS))
        if wrong or len(self.units) != columns:
            raise RecordingError(f"{self.source}: {len(self.units)} units {wrong}, allowed are {columns} of {UNITS}")
        if self.side not in SIDES:
            raise RecordingError(f"{self.source}: side is {self.side!r}, allowed are {', '.join(SIDES)}")
        if not self.tracked.any():
            raise RecordingError(f"{self.source}: no row has all its numbers")

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def rate_hz(self) -> float:
        """Rows a second."""
        return mean_rate_hz(self.time_s)

    def columns(self, names: tuple[str, ...], signal: str = "measured") -> np.ndarray:
        """Return the columns called `names` (T, N) of `measured` or `commanded`.

        Raises:
            RecordingError: one of them is not there, or `signal` is another word.
        """
        if signal not in ("measured", "commanded"):
            raise RecordingError(f"{self.source}: signal {signal!r}, allowed are measured, commanded")
        missing = [name for name in names if name not in self.joint_names]
        if missing:
            there = ", ".join(self.joint_names)
            raise RecordingError(f"{self.source}: columns missing: {', '.join(missing)}; there are {there}")
        return getattr(self, signal)[:, [self.joint_names.index(name) for name in names]]
