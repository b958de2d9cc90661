"""`r2s2r record demos`: a teleoperator demonstrates the task on a cell."""

import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r.contracts.files import write_json

CELLS = ("virtual",)
"""Names of the cells that can be driven."""

FILE_NAME = "demos.hdf5"
"""The data set in the folder for the results."""


@dataclass(frozen=True)
class RecordDemos(Verb):
    """Record successful demonstrations of the task on a cell: OUT/demos.hdf5, summary.json, film.mp4, report.html.

    The operator model teleoperates: its fingers are tracked with noise and retargeted, its wrist is followed by the
    cell's own controller. Failed attempts are counted with their reason and made again with the next number.
    """

    out: Path
    """Folder for the results."""

    cell: str = "virtual"
    """Which cell: virtual."""

    seed: int = 0
    """Seed of the virtual cell's hidden world and of the trials."""

    episodes: int = 100
    """Demonstrations to record, as many of each object class."""

    picture_size: int = 64
    """Width and height of the pictures [px]."""

    workers: int = 1
    """Processes, each with a cell of its own; the demonstrations do not depend on their number."""

    resume: bool = False
    """Go on with an interrupted recording."""

    overwrite: bool = False
    """Replace a recording that is there, finished or interrupted."""

    def run(self) -> dict[str, Any]:
        """Record, and return what the attempts came to."""
        choose("--cell", self.cell, CELLS)
        self.check_seed(self.seed)
        self.check_counts("episodes", "picture_size", "workers")
        if self.resume and self.overwrite:
            raise ConfigError("--resume and --overwrite: received both, allowed is one of them")
        begin_s, path = time.monotonic(), self.out / FILE_NAME
        # Loaded here, so that `--help` waits neither for MuJoCo nor for Warp.
        import warp as wp

        from r2s2r.cell.virtual_cell import VirtualCell
        from r2s2r.deployment.demonstrations import DemonstrationSettings, record_demonstrations
        from r2s2r.deployment.demonstrations_report import demonstration_figures, write_demonstrations_report

        wp.config.log_level = wp.LOG_WARNING
        settings = DemonstrationSettings(f"{self.cell} cell {self.seed}", self.episodes, self.seed, self.picture_size)
        written, attempts = record_demonstrations(
            partial(VirtualCell, self.seed, picture_size=self.picture_size),
            path,
            settings,
            workers=self.workers,
            resume=self.resume,
            overwrite=self.overwrite,
            on_attempt=_Progress(self.episodes),
        )
        summary = demonstration_figures(attempts) | {
            "cell": settings.cell,
            "seed": self.seed,
            "dataset": str(path),
            "dataset_sha256": written.sha256,
        }
        write_json(self.out / "summary.json", summary)
        summary["report"] = str(write_demonstrations_report(self.out / "report.html", path, summary))
        summary["wall_s"] = time.monotonic() - begin_s
        _print(summary)
        return summary


class _Progress:
    """Shows attempts as they end: one line that is written over on a terminal, a line for every tenth elsewhere."""

    def __init__(self, episodes: int):
        self._episodes, self._begin_s, self._attempts = episodes, time.monotonic(), 0

    def __call__(self, attempt: Any, kept: int) -> None:
        """Show one."""
        self._attempts += 1
        line = (
            f"{kept} of {self._episodes} demonstrations, {self._attempts} attempts, "
            f"{time.monotonic() - self._begin_s:.0f} s; the last: {attempt.object_class}, {attempt.outcome}"
        )
        if sys.stdout.isatty():
            print(f"\r{line:<100}", end="\n" if kept == self._episodes else "", flush=True)
        elif kept == self._episodes or self._attempts % 10 == 0:
            print(line, flush=True)


def _print(summary: dict[str, Any]) -> None:
    durations = summary["duration_s"]
    failures = ", ".join(f"{name} {count}" for name, count in summary["failures"].items()) or "none"
    print(f"{summary['dataset']}: {summary['successes']} demonstrations in {summary['wall_s']:.0f} s")
    print(f"  attempts: {summary['attempts']}, {100 * summary['yield']:.0f} % succeeded; failures: {failures}")
    print(f"  duration: {durations['min']:.1f} to {durations['max']:.1f} s, median {durations['median']:.1f} s")
    print(f"  report: {summary['report']}")
