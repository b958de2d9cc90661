"""`r2s2r inspect`: what a data set or a cell log holds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError
from r2s2r.dataset.summary import describe, summarize
from r2s2r.recording.cell_log_file import is_cell_log, recover_cell_log, write_cell_log
from r2s2r.recording.log_summary import describe_log, summarize_log


@dataclass(frozen=True)
class Inspect(Verb):
    """Print what is in a robomimic HDF5 file (episodes, arrays, action ranges) or in a cell log (streams, segments)."""

    file: Annotated[Path, tyro.conf.Positional]
    """The data set, another program's robomimic file will do; or the cell log, interrupted or cut off as it may be."""

    recover: Path | None = None
    """Write what is whole of an interrupted or cut-off cell log to this new file."""

    def run(self) -> dict[str, Any]:
        """Print the figures and return them; a cell log that is incomplete or unfit exits with 2."""
        if is_cell_log(self.file):
            return self._inspect_log()
        if self.recover is not None:
            raise ConfigError(f"{self.file}: no cell log; a data set is recovered by r2s2r validate FILE --recover OUT")
        summary = summarize(self.file)
        print(describe(summary))
        return summary

    def _inspect_log(self) -> dict[str, Any]:
        summary = summarize_log(self.file)
        print(describe_log(summary))
        if self.recover is not None:
            write_cell_log(self.recover, recover_cell_log(self.file).log)
            print(f"saved what is whole to {self.recover}")
        if summary["incomplete"] or summary["problem"]:
            summary["exit_code"] = 2
        return summary
