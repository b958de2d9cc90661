"""`r2s2r ground`: a recording of a cell becomes world.yaml and a report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.files import file_sha256, writable_folder

SHORT = {"wrist": ("wrist_cameras",), "poses": ("poses",), "arm": ("arm",), "hand": ("hand",)}
"""Factors by their names on the command line."""

WHICH = (*SHORT, "all")
"""What can be asked for."""


@dataclass(frozen=True)
class Ground(Verb):
    """Fit the simulator to a recorded cell: world.yaml with values and 95 % intervals, report.html with pictures.

    Factors that are not asked for stay as in --base, or nominal.
    """

    which: Annotated[str, tyro.conf.Positional]
    """wrist, poses, arm, hand or all."""

    recording: Annotated[Path, tyro.conf.Positional]
    """Calibration recording, as `r2s2r record calibration` writes it."""

    out: Path
    """Folder for world.yaml and report.html."""

    base: Path | None = None
    """A world.yaml whose other factors are kept."""

    overlays: int = 3
    """Recorded pictures that the report compares with Isaac Lab's, for each camera; 0 for none."""

    def run(self) -> dict[str, Any]:
        """Fit, write world and report, and return figures of merit."""
        choose("which", self.which, WHICH)
        if not 0 <= self.overlays <= 16:
            raise ConfigError(f"--overlays: received {self.overlays}, allowed are 0 to 16")
        out = writable_folder(self.out)
        # Loaded here, so that `--help` waits neither for MuJoCo nor for OpenCV.
        import warp as wp

        from r2s2r.contracts.world import FACTORS
        from r2s2r.recording.cell_log_file import read_cell_log
        from r2s2r.world.grounding import ground
        from r2s2r.world.world_file import read_world, write_world

        wp.config.log_level = wp.LOG_WARNING
        base = None if self.base is None else read_world(self.base)
        log = read_cell_log(self.recording)
        factors = SHORT.get(self.which, FACTORS)
        grounding = ground(log, factors, lambda what: print(f"  fitting {what} ...", flush=True))
        world = grounding.world if base is None else base.combine(grounding.world, factors)
        write_world(out / "world.yaml", world, grounding.estimates)
        summary = {
            "world": str(out / "world.yaml"),
            "recording_sha256": file_sha256(self.recording),
            "residuals": {name: fit.residuals for name, fit in grounding.fits.items()},
            "warnings": list(grounding.warnings),
            "report": str(self._report(log, grounding, world, out)),
        }
        _print(summary)
        return summary

    def _report(self, log: Any, grounding: Any, world: Any, out: Path) -> Path:
        from r2s2r.contracts.provenance import provenance
        from r2s2r.evaluation.grounding_report import GroundingReport

        overlays = []
        if self.overlays:
            from r2s2r.cli.ground_overlays import overlays_of

            overlays = overlays_of(log, world, self.overlays)
        source = provenance({"which": self.which}, inputs=[self.recording])
        return GroundingReport(log.info.name, grounding, overlays, provenance=source).write(out / "report.html")


def _print(summary: dict[str, Any]) -> None:
    for factor, figures in summary["residuals"].items():
        print(f"  {factor}: " + ", ".join(f"{name} {value:.3g}" for name, value in figures.items()))
    for text in summary["warnings"]:
        print(f"  warning: {text}")
    for name in ("world", "report"):
        print(f"  {name}: {summary[name]}")
