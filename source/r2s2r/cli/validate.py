"""`r2s2r validate`: is a data set whole and fit for training, and what can be saved of a damaged one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.dataset.recover import Recovery, recover
from r2s2r.dataset.validate import validate
from r2s2r.recording.lerobot import describe, open_lerobot
from r2s2r.recording.lerobot_layout import is_lerobot_set
from r2s2r.recording.lerobot_repair import repair_lerobot


@dataclass(frozen=True)
class Validate(Verb):
    """Print everything that would stop a trainer; exit with 2 if there is anything."""

    file: Annotated[Path, tyro.conf.Positional]
    """The data set, or the folder of a LeRobot one; it is only read."""

    verify: bool = False
    """Also compare every episode's content with its checksum, which reads the whole file."""

    recover: Path | None = None
    """Write the intact episodes of a cut-off or unfinished data set to this new file."""

    def run(self) -> dict[str, Any]:
        """Print the problems and what was saved, and return both."""
        if is_lerobot_set(self.file):
            return _lerobot(self.file, self.recover)
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


def _lerobot(root: Path, out: Path | None) -> dict[str, Any]:
    """Print what is whole of a LeRobot data set, or write that to `out`; return it."""
    if out is None:
        data_set = open_lerobot(root)
        print(*describe(data_set), sep="\n")
        summary = {"episodes": sorted(data_set.episodes), "lost": data_set.lost, "notes": list(data_set.notes)}
        return summary | ({"exit_code": 2} if data_set.lost else {})
    repaired = repair_lerobot(root, out)
    for index, reason in sorted(repaired.lost.items()):
        print(f"lost  episode {index}: {reason}")
    print(f"saved {len(repaired.renumbered)} episodes to {repaired.root}, lost {len(repaired.lost)}")
    return {"renumbered": repaired.renumbered, "lost": repaired.lost}
