"""`r2s2r record calibration`: a cell goes through everything that grounding needs; `record demos` beside it."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from r2s2r.cli.record_demos import CELLS, RecordDemos
from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import choose
from r2s2r.contracts.provenance import provenance

if TYPE_CHECKING:
    from r2s2r.recording.calibration import Progress

FILE_NAME = "calibration.hdf5"
"""The recording in the folder for the results."""


@dataclass(frozen=True)
class RecordCalibration(Verb):
    """Drive a cell through its calibration and record it: calibration.hdf5.

    Chirps of the arm, steps of the hand, stops before tags, a sweep over the board, a block on the belt.
    It takes four minutes of cell time. After Ctrl-C what was recorded stays in calibration.hdf5.partial.
    """

    out: Path
    """Folder for the results."""

    cell: str = "virtual"
    """Which cell: virtual."""

    seed: int = 0
    """Seed of the virtual cell's hidden world and of its noise."""

    overwrite: bool = False
    """Replace a recording that is there, finished or interrupted."""

    def run(self) -> dict[str, Any]:
        """Record, and return what is in the file."""
        choose("--cell", self.cell, CELLS)
        self.check_seed(self.seed)
        from r2s2r.recording.cell_log_file import read_cell_log

        begin_s, path = time.monotonic(), self.out / FILE_NAME
        cell_s = record_virtual_cell(self.seed, path, _Progress(), self.overwrite)
        summary = _summary(read_cell_log(path)) | {"recording": str(path), "seed": self.seed, "cell_s": cell_s}
        summary["wall_s"] = time.monotonic() - begin_s
        _print(summary)
        return summary


def record_virtual_cell(seed: int, path: Path, progress: "Progress | None" = None, overwrite: bool = False) -> float:
    """Record the calibration of a virtual cell and return the cell time that it took [s].

    Args:
        seed: of its hidden world and its noise.
        path: file that the recording becomes.
        progress: is told what begins.
        overwrite: replace a recording that is there.

    Raises:
        RecordingError: there is a recording already, or the file cannot be written.
    """
    # Loaded here, so that `--help` waits neither for MuJoCo nor for Warp.
    import warp as wp

    from r2s2r.cell.virtual_cell import VirtualCell
    from r2s2r.recording.calibration import plan_calibration, record_calibration
    from r2s2r.recording.cell_log_file import CellLogWriter
    from r2s2r.robot.description import compose

    wp.config.log_level = wp.LOG_WARNING
    cell = VirtualCell(seed)
    source = provenance({"routine": "calibration", "cell": "virtual"}, seed=seed)
    with CellLogWriter(path, cell.info, source, overwrite=overwrite) as log:
        plan = plan_calibration(compose(), cell.info.targets)
        return record_calibration(cell, log, plan, cell.place_item, progress)


class _Progress:
    """Shows what begins: one line that is written over on a terminal, one line for each kind of segment elsewhere."""

    def __init__(self):
        self._kind = ""

    def __call__(self, what: str, cell_s: float, total_s: float) -> None:
        """Show it."""
        line = f"{cell_s:4.0f} of {total_s:.0f} s  {what}"
        kind = what.partition(" ")[0]
        if sys.stdout.isatty():
            print(f"\r{line:<60}", end="", flush=True)
        elif kind != self._kind:
            print(line, flush=True)
        self._kind = kind


def _summary(log: Any) -> dict[str, Any]:
    names = [segment.name for segment in log.segments]
    return {
        "segments": {name: names.count(name) for name in dict.fromkeys(names)},
        "pictures": {camera: len(stream.png) for camera, stream in log.pictures.items()},
        "samples": {name: len(stream.time_s) for name, stream in log.streams.items()},
    }


def _print(summary: dict[str, Any]) -> None:
    if sys.stdout.isatty():
        print()
    counts = ", ".join(f"{count} {camera}" for camera, count in summary["pictures"].items())
    print(f"{summary['recording']}: {summary['cell_s']:.0f} s of the cell in {summary['wall_s']:.0f} s")
    print("  segments: " + ", ".join(f"{name} {count}" for name, count in summary["segments"].items()))
    print(f"  pictures: {counts}")


Record = (
    Annotated[RecordCalibration, tyro.conf.subcommand("calibration", prefix_name=False)]
    | Annotated[RecordDemos, tyro.conf.subcommand("demos", prefix_name=False)]
)
"""What can be recorded, by its name on the command line."""
