"""`r2s2r bench mimic`: our replay against Isaac Lab Mimic on the same demonstrations, in the same run."""

from dataclasses import asdict, dataclass
from typing import Any

from r2s2r.cli.verb import Verb
from r2s2r.contracts.provenance import machine, versions
from r2s2r.evaluation.judging import rate


@dataclass(frozen=True)
class BenchMimic(Verb):
    """Successful episodes a minute of our replay, over those of Isaac Lab Mimic.

    Both adapt the same demonstrations to the same task, in as many environments on the same device. Target: 5 and more.
    """

    num_envs: int = 64
    """Environments that run at once."""

    attempts: int = 128
    """Attempts that each side makes."""

    seed: int = 0
    """Seed of everything that is drawn."""

    device: str = "cpu"
    """cpu, or a CUDA device such as cuda:0."""

    def run(self) -> dict[str, Any]:
        """Measure, print the row and return it with machine and versions."""
        self.check_counts("num_envs", "attempts")
        self.check_seed(self.seed)
        # Loaded here, so that `--help` does not wait for a simulator.
        from r2s2r_tasks.belt_sort.bench_mimic import bench_mimic

        row = asdict(bench_mimic(self.num_envs, attempts=self.attempts, seed=self.seed, device=self.device))
        print(f"mimic, {row['num_envs']} environments: ratio {_ratio(row['ratio'])}", flush=True)
        for name in ("replay", "mimic"):
            print(f"  {name}: {_line(row[name])}", flush=True)
        return {
            "rows": [row],
            "device": self.device,
            "seed": self.seed,
            "machine": machine(),
            "versions": versions(),
        }


def _ratio(ratio: float | None) -> str:
    return "n/a, Mimic had no success" if ratio is None else f"{ratio:.2f}"


def _line(side: dict[str, Any]) -> str:
    return (
        f"{side['successes_per_minute']:.1f} successful episodes a minute, "
        f"{rate(side['successes'], side['attempts'])}; "
        f"a control step of all environments {side['simulator_ms']:.1f} ms + {side['generator_ms']:.1f} ms to generate"
    )
