"""How a recording was read, and how well the hand was tracked: said before anything is made of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from r2s2r.recording.hand_facts import SourceFacts, TrackingSpan
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.resampling import MAX_GAP_S, gaps
from r2s2r.recording.tracking import SLOW_GAP

MOST_SPANS = 12
"""Spans and gaps that are printed one by one; the summary has them all."""

_UNSTATED = SourceFacts("unknown source", "metres", "unknown", "given", "given")


@dataclass(frozen=True)
class RecordingStatement:
    """What is known about one recording."""

    facts: SourceFacts
    """How the file was read."""

    handedness: str
    """`right` or `left`."""

    measured_handedness: str
    """What the bend of the fingers says."""

    frames: int
    """Number of frames."""

    duration_s: float
    """From the first frame to the last [s]."""

    rate_hz: float
    """Median rate [Hz]."""

    jitter_s: float
    """Standard deviation of the time between frames [s]."""

    size_m: float
    """Wrist to middle knuckle, or the largest extent of the keypoints where these are not measured [m]."""

    size_is_palm: bool
    """Which of the two."""

    tracked_share: float
    """Share of frames with at least one keypoint, and the wrist where there is one."""

    keypoint_share: float
    """Share of keypoints and frames that were measured, of those keypoints that the source has."""

    gap_limit_s: float
    """What counts as a gap between tracked frames [s]; more for a source so slow that its frames lie further apart."""

    gaps_s: tuple[tuple[float, float], ...]
    """Begin and end of each gap [s]."""

    spans: tuple[TrackingSpan, ...]
    """Frozen, jumping and lost spans."""

    def lines(self) -> tuple[str, ...]:
        """Return the statement for people."""
        facts = self.facts
        measured = "the bend of the fingers agrees" if self.measured_handedness == self.handedness else "not measured"
        size = "wrist to middle knuckle" if self.size_is_palm else "extent of the keypoints"
        lines = [
            f"source: {facts.kind}",
            f"hand: {self.handedness}, {facts.handedness}; {measured}",
            f"lengths: {facts.unit}; {size} {self.size_m * 1e3:.0f} mm",
            f"axes: {facts.axes}",
            f"wrist: {facts.wrist}",
            f"time: {self.frames} frames in {self.duration_s:.2f} s, {self.rate_hz:.1f} Hz, "
            f"jitter {self.jitter_s * 1e3:.1f} ms, {len(self.gaps_s)} gap{'' if len(self.gaps_s) == 1 else 's'} "
            f"above {self.gap_limit_s:g} s" + _listed([f"{begin:.2f} s to {end:.2f} s" for begin, end in self.gaps_s]),
            f"tracked: {self.tracked_share:.1%} of the frames, {self.keypoint_share:.1%} of the keypoints"
            + _listed([str(span) for span in self.spans]),
        ]
        return (*lines, *(f"note: {note}" for note in facts.notes))

    def summary(self) -> dict[str, Any]:
        """Return the statement as JSON-able values."""
        return {
            "source": self.facts.kind,
            "handedness": {"is": self.handedness, "by": self.facts.handedness, "measured": self.measured_handedness},
            "unit": self.facts.unit,
            "axes": self.facts.axes,
            "wrist": self.facts.wrist,
            "notes": list(self.facts.notes),
            "size_m": {"wrist_to_middle_knuckle" if self.size_is_palm else "extent": self.size_m},
            "frames": self.frames,
            "duration_s": self.duration_s,
            "rate_hz": self.rate_hz,
            "jitter_s": self.jitter_s,
            "gap_limit_s": self.gap_limit_s,
            "gaps_s": [list(gap) for gap in self.gaps_s],
            "tracked_share": self.tracked_share,
            "keypoint_share": self.keypoint_share,
            "spans": [vars(span) for span in self.spans],
        }


def describe(recording: HandRecording) -> RecordingStatement:
    """Return the statement of a recording as it was loaded, before it is resampled or split."""
    valid, (size_m, is_palm) = recording.valid, recording.size
    limit_s = max(MAX_GAP_S, SLOW_GAP / recording.rate_hz)
    return RecordingStatement(
        facts=recording.facts or _UNSTATED,
        handedness=recording.handedness,
        measured_handedness=recording.measured_handedness,
        frames=len(recording),
        duration_s=float(recording.time_s[-1] - recording.time_s[0]),
        rate_hz=recording.rate_hz,
        jitter_s=float(np.diff(recording.time_s).std()),
        size_m=size_m,
        size_is_palm=is_palm,
        tracked_share=float(recording.tracked.mean()),
        keypoint_share=float(valid[:, valid.any(axis=0)].mean()),
        gap_limit_s=limit_s,
        gaps_s=gaps(recording, limit_s),
        spans=recording.spans,
    )


def _listed(items: list[str]) -> str:
    if not items:
        return ""
    more = f"; {len(items) - MOST_SPANS} more" if len(items) > MOST_SPANS else ""
    return ": " + "; ".join(items[:MOST_SPANS]) + more
