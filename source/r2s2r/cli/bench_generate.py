"""`r2s2r bench generate`: what is neither physics nor rendering, against these two, in the same run."""

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from r2s2r.cli.verb import Verb
from r2s2r.contracts.provenance import machine, versions


@dataclass(frozen=True)
class BenchGenerate(Verb):
    """The three shares of a generated episode's cost: physics, rendering, everything else.

    Target: everything else costs at most 0.15 of the other two.
    """

    num_envs: int = 64
    """Environments, which are also the attempts that are made."""

    filmed: int = 36
    """Episodes that are filmed; their time stands for all successes."""

    picture_size: int = 64
    """Width and height of the pictures [px]: 64, 128 or 256."""

    seed: int = 0
    """Seed of everything that is drawn."""

    device: str = "cpu"
    """cpu, or a CUDA device such as cuda:0."""

    def run(self) -> dict[str, Any]:
        """Measure, print the shares and return them with machine and versions."""
        self.check_counts("num_envs", "filmed")
        # Loaded here, so that `--help` does not wait for a simulator.
        from r2s2r_tasks.belt_sort.bench_generate import bench_generate

        with tempfile.TemporaryDirectory() as folder:
            bench = bench_generate(
                Path(folder),
                self.num_envs,
                filmed=self.filmed,
                picture_size=self.picture_size,
                seed=self.seed,
                device=self.device,
            )
        total = bench.physics_s + bench.rendering_s + bench.other_s
        shares = {name: getattr(bench, f"{name}_s") / total for name in ("physics", "rendering", "other")}
        print(
            f"generate, {self.num_envs} environments: physics {shares['physics']:.1%}, rendering "
            f"{shares['rendering']:.1%}, everything else {shares['other']:.1%}: {bench.overhead:.3f} of the other two; "
            f"{bench.episode_s:.2f} s of one process for a successful episode, {bench.successes}/{bench.attempts} kept"
        )
        return {
            **asdict(bench),
            "shares": shares,
            "overhead": bench.overhead,
            "episode_s": bench.episode_s,
            "machine": machine(),
            "versions": versions(),
        }
