"""The report of retargeted recordings: human beside robot, how each file was read, what was refused and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.report import Report


@dataclass(frozen=True)
class RetargetingEntry:
    """What the report shows of one recording, or of one tracked part of it, whatever kind of source it is.

    Raises:
        ConfigError: the name or the statement is empty.
    """

    name: str
    """Heading: file, and part of it where it was split."""

    statement: tuple[str, ...]
    """How the file was read, a line each as `what: how`: source, unit, axes, hand, rate, gaps, what was left out."""

    clip: Path | None = None
    """MP4 of human beside robot, made of frames (T, H, W, 3) by `clips.write_clip`; None if none was asked for."""

    figures: Mapping[str, Any] = field(default_factory=dict)
    """Its row in the table of residuals: {column with unit: value}."""

    charts: Mapping[str, str] = field(default_factory=dict)
    """{caption: SVG of `charts.svg`} shown beside the clip."""

    def __post_init__(self):
        if not self.name or not self.statement:
            raise ConfigError(f"retargeting entry {self.name!r}: name and statement must not be empty")


@dataclass(frozen=True)
class Refusal:
    """A recording that could not be used."""

    name: str
    """File, and part of it where it was split."""

    reason: str
    """One line."""

    @staticmethod
    def of(name: str, path: Path, error: Exception) -> "Refusal":
        """Return the refusal that an error is, with the file's name in place of where it lies."""
        return Refusal(name, " ".join(str(error).split()).replace(str(path), path.name))


def write_retargeting_report(
    path: Path,
    entries: Sequence[RetargetingEntry],
    refusals: Sequence[Refusal] = (),
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write the report of all recordings to `path` and return it."""
    report = Report("Retargeting", "Human recordings on the robot: xArm7 with Allegro hand")
    report.section("In short")
    report.key_figures({"retargeted": len(entries), "refused": len(refusals)})
    if entries:
        report.table([{"recording": entry.name, **entry.figures} for entry in entries])
    if refusals:
        report.section("Refused")
        report.table([{"recording": refusal.name, "reason": refusal.reason} for refusal in refusals])
    for entry in entries:
        report.section(entry.name)
        if entry.clip is not None:
            report.clip(entry.clip, "The hand as recorded and, right of it, the robot, seen from the same place")
        for caption, chart in entry.charts.items():
            report.chart(chart, caption)
        said = [line.partition(": ") for line in entry.statement]
        report.table([{"what": what, "how": how} for what, _, how in said])
    report.section("Where it comes from")
    report.data("provenance", dict(provenance or {}))
    return report.write(path)
