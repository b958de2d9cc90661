"""`r2s2r export`: a data set in the layout that other training code reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import choose


@dataclass(frozen=True)
class Export(Verb):
    """Write a data set as a LeRobot one of version 2.1, for LeRobot's tools or for GR00T's post-training.

    Widths and frames are checked before anything is written; the folder appears whole or not at all.
    """

    file: Annotated[Path, tyro.conf.Positional]
    """The data set; it is only read."""

    out: Annotated[Path, tyro.conf.Positional]
    """Folder to make."""

    target: str = "lerobot"
    """lerobot, or groot, which also gets meta/modality.json and has limits on widths."""

    actions: str = "joints"
    """joints: the 23 joint targets that were sent; wrist: wrist pose and 16 hand joint targets, 25 numbers."""

    def run(self) -> dict[str, Any]:
        """Export, and return what was written."""
        from r2s2r.dataset.export_target import ACTIONS, export_target

        choose("--actions", self.actions, tuple(ACTIONS))
        target = export_target(self.target)
        # Loaded here, so that `--help` does not wait.
        from r2s2r.control.kinematics import serial_chain
        from r2s2r.dataset.lerobot_export import LeRobotExport
        from r2s2r.dataset.reader import DatasetReader
        from r2s2r.evaluation.clips import write_clip
        from r2s2r.robot.description import compose

        robot = compose()
        export = LeRobotExport(target, self.actions, serial_chain(robot.urdf_path, robot.wrist_link), write_clip)
        with DatasetReader(self.file) as reader:
            summary = export.write(reader, self.out)
        print(f"{self.out}: {summary['episodes']} episodes, {summary['frames']} frames for {target.name}")
        return summary | {"target": target.name, "version": target.version}
