"""A recorded run of a cell: numeric streams, pictures and named segments, in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from r2s2r.contracts.cell import CellInfo
from r2s2r.contracts.errors import RecordingError


@dataclass(frozen=True)
class Stream:
    """Stamped numbers of one source.

    Raises:
        RecordingError: shapes that do not fit together.
    """

    time_s: np.ndarray
    """(T,) stamps on the source's clock [s]."""
    values: np.ndarray
    """(T, n)."""
    logged_s: np.ndarray | None = None
    """(T,) when each was logged, where a recorder tells, in seconds since the zero of `time_s`; None elsewhere."""

    def __post_init__(self):
        if self.time_s.ndim != 1 or self.values.ndim != 2 or len(self.time_s) != len(self.values):
            raise RecordingError(f"stream: {self.time_s.shape} stamps and {self.values.shape} values do not fit")
        if self.logged_s is not None and self.logged_s.shape != self.time_s.shape:
            raise RecordingError(f"stream: {self.time_s.shape} stamps and {self.logged_s.shape} times of logging")

    def between(self, start_s: float, end_s: float) -> "Stream":
        """Return what was stamped within `start_s..end_s`."""
        chosen = (self.time_s >= start_s) & (self.time_s <= end_s)
        logged = None if self.logged_s is None else self.logged_s[chosen]
        return Stream(self.time_s[chosen], self.values[chosen], logged)


@dataclass(frozen=True)
class PictureStream:
    """Stamped pictures of one camera, compressed without loss; decoded one by one."""

    time_s: np.ndarray
    """(T,) stamps [s]."""
    png: Sequence[bytes]
    """T encoded pictures."""
    logged_s: np.ndarray | None = None
    """(T,) as for :class:`Stream`."""


@dataclass(frozen=True)
class Segment:
    """A named stretch of a recording, such as one routine."""

    name: str
    """What was done."""
    start_s: float
    """Host time at which it began [s]."""
    end_s: float
    """Host time at which it ended [s]."""


@dataclass(frozen=True)
class CellLog:
    """All that a recording holds."""

    info: CellInfo
    """Data sheets and settings of the cell."""
    streams: dict[str, Stream]
    """By name, see :data:`r2s2r.contracts.cell.STREAMS`."""
    pictures: dict[str, PictureStream]
    """By camera."""
    segments: tuple[Segment, ...]
    """In the order of time."""
    provenance: dict = field(default_factory=dict)
    """Where it comes from; plain JSON."""

    @property
    def duration_s(self) -> float:
        """Time from the first stamp to the last [s]."""
        stamps = [track.time_s for track in (*self.streams.values(), *self.pictures.values()) if len(track.time_s)]
        return float(max(t.max() for t in stamps) - min(t.min() for t in stamps)) if stamps else 0.0

    def segment(self, name: str) -> tuple[Segment, ...]:
        """Return the segments of that name.

        Raises:
            RecordingError: there is none.
        """
        found = tuple(segment for segment in self.segments if segment.name == name)
        if not found:
            there = ", ".join(dict.fromkeys(s.name for s in self.segments)) or "none"
            raise RecordingError(f"recording: no segment {name!r}; there are {there}")
        return found
