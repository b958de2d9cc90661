"""`r2s2r demo`: the whole loop, small, with an HTML report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from r2s2r.cli.verb import Verb
from r2s2r.contracts.files import writable_folder


@dataclass(frozen=True)
class Demo(Verb):
    """Human motion, demonstrations, parallel replay, data set, report: report.html, dataset.hdf5, summary.json."""

    out: Path = Path("outputs/demo")
    """Folder for the results; files of an earlier demo there are replaced."""

    seed: int = 0
    """Seed of everything that is drawn; the same seed gives the same data set, byte for byte."""

    num_envs: int = 64
    """Environments that run at once."""

    attempts: int = 64
    """Attempts to make; the successful ones are written."""

    condition: str = "nominal"
    """nominal, red_light, fast_belt, novel_object or combined."""

    picture_size: int = 64
    """Width and height of the pictures in the data set [px]: 64, 128 or 256."""

    device: str = "cpu"
    """cpu, or a CUDA device such as cuda:0."""

    def run(self) -> dict[str, Any]:
        """Run the demo and return its summary."""
        self.check_counts("num_envs", "attempts")
        self.check_seed(self.seed)
        out = writable_folder(self.out)
        # Loaded here, so that `--help` does not wait for a simulator.
        from r2s2r_tasks.belt_sort.demo import DemoSettings, run_demo

        settings = DemoSettings(self.seed, self.num_envs, self.attempts, self.device, self.condition, self.picture_size)
        return run_demo(out, settings)
