"""`r2s2r inspect`: what a data set holds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.dataset.summary import describe, summarize


@dataclass(frozen=True)
class Inspect(Verb):
    """Print episodes, length, arrays, attributes and action ranges of a robomimic HDF5 file."""

    file: Annotated[Path, tyro.conf.Positional]
    """The data set; another program's robomimic file will do."""

    def run(self) -> dict[str, Any]:
        """Print the figures and return them."""
        summary = summarize(self.file)
        print(describe(summary))
        return summary
