"""What a loader knows about a hand recording beside its numbers, and what was wrong with the tracking."""

from dataclasses import dataclass
from pathlib import Path

from r2s2r.contracts.errors import RecordingError

HANDEDNESS = ("right", "left")


@dataclass(frozen=True)
class SourceFacts:
    """How a file was read. Every entry is a phrase for people, printed as it stands."""

    kind: str
    """Type of the source."""

    unit: str
    """Unit of lengths in the file and what was done to it."""

    axes: str
    """Axes of the file and how they became ours."""

    handedness: str
    """Who says which hand it is."""

    wrist: str
    """Where position and orientation of the wrist come from."""

    notes: tuple[str, ...] = ()
    """Whatever else was found or assumed."""


@dataclass(frozen=True)
class TrackingSpan:
    """Neighbouring frames in which the hand was not tracked as it should be."""

    begin_s: float
    """Time of the first frame, on the source's clock [s]."""

    end_s: float
    """Time of the last frame [s]."""

    frames: int
    """Number of frames, as recorded."""

    reason: str
    """`frozen` (the same numbers again), `jump` (faster than a wrist can be), or `wrist lost` or `fingers lost` (the
    source says so)."""

    filled: bool
    """Interpolated between its neighbours; else untracked."""

    def __str__(self) -> str:
        outcome = "interpolated" if self.filled else "untracked"
        return f"{self.begin_s:.2f} s to {self.end_s:.2f} s ({self.frames} frames): {self.reason}, {outcome}"


def other_hand(handedness: str) -> str:
    """Return `left` for `right`, and `right` for `left`."""
    return HANDEDNESS[1 - HANDEDNESS.index(handedness)]


def which_hand(path: Path, in_file: str | None, stated: str | None) -> tuple[str, str]:
    """Return the handedness, and in words who says so.

    Args:
        path: the recording, for the message.
        in_file: what the file says; None if nothing.
        stated: what the user says; None if nothing.

    Raises:
        RecordingError: neither `right` nor `left`, or file and user contradict each other.
    """
    for value in (in_file, stated):
        if value is not None and value not in HANDEDNESS:
            raise RecordingError(f"{path}: handedness is {value!r}, allowed are {', '.join(HANDEDNESS)}")
    if in_file is not None and stated is not None and in_file != stated:
        raise RecordingError(f"{path}: holds a {in_file} hand, a {stated} hand was asked for")
    if in_file is not None:
        return in_file, "declared by the file"
    if stated is not None:
        return stated, "stated by the user"
    return HANDEDNESS[0], "assumed, the file does not say"
