"""`r2s2r validate`: is a data set fit for training, and what can be saved of a damaged one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.dataset.recover import Recovery, recover
from r2s2r.dataset.validate import validate


@dataclass(frozen=True)
class Validate(Verb):
    """Print everything that would stop a trainer; exit with 2 if there is anything."""

    file: Annotated[Path, tyro.conf.Positional]
    """The data set; it is only read."""

    verify: bool = False
    """Also compare every episode's content with its checksum, which reads the whole file."""

    recover: Path | None = None
    """Write the intact episodes of a cut-off or unfinished data set to this new file."""

    def run(self) -> dict[str, Any]:
        """Print the problems and what was saved, and return both."""
        problems = validate(self.file, contents=self.verify)
        for problem in problems:
            print(problem)
        print(f"{self.file}: " + (f"{len(problems)} problems" if problems else "fit for training"))
        summary: dict[str, Any] = {"problems": [vars(problem) for problem in problems]}
        if self.recover is not None:
            summary["recovery"] = _recovered(recover(self.file, self.recover))
        if problems:
            summary["exit_code"] = 2
        return summary


def _recovered(recovery: Recovery) -> dict[str, Any]:
    for name, reason in recovery.lost.items():
        print(f"lost  {name}: {reason}")
    kept = recovery.kept
    print(f"saved {len(kept)} episodes ({kept[0]} to {kept[-1]}) to {recovery.written.path}, lost {len(recovery.lost)}")
    return {"kept": kept, "lost": recovery.lost, "sha256": recovery.written.sha256}
