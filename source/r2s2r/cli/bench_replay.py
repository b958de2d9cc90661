"""`r2s2r bench replay`: replaying demonstrations against the bare physics loop, in the same run."""

from dataclasses import asdict, dataclass
from typing import Any

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.provenance import machine, versions


@dataclass(frozen=True)
class BenchReplay(Verb):
    """Control steps a second while demonstrations are replayed, over those of the bare physics loop.

    Both run on the same environments, states and joint targets. Target: 0.90 and more.
    """

    num_envs: tuple[int, ...] = (64, 1024)
    """Numbers of environments, one row each."""

    repetitions: int = 5
    """How often each ratio is measured; the median is printed."""

    seed: int = 0
    """Seed of everything that is drawn."""

    device: str = "cpu"
    """cpu, or a CUDA device such as cuda:0."""

    def run(self) -> dict[str, Any]:
        """Measure, print one line for each row and return the rows with machine and versions."""
        if not self.num_envs or min(self.num_envs) < 1:
            raise ConfigError(f"--num-envs: received {_listed(self.num_envs)}, allowed are 1 and more")
        self.check_counts("repetitions")
        self.check_seed(self.seed)
        # Loaded here, so that `--help` does not wait for a simulator.
        from r2s2r_tasks.belt_sort.bench_replay import bench_replay

        rows = []
        for num_envs in self.num_envs:
            row = asdict(bench_replay(num_envs, repetitions=self.repetitions, seed=self.seed, device=self.device))
            rows.append(row)
            print(_line(row), flush=True)
        return {
            "rows": rows,
            "device": self.device,
            "seed": self.seed,
            "machine": machine(),
            "versions": versions(),
        }


def _line(row: dict[str, Any]) -> str:
    low, high = row["ratio_range"]
    return (
        f"replay, {row['num_envs']} environments: ratio {row['ratio']:.3f} ({low:.3f} to {high:.3f}), "
        f"{row['replay_env_steps_per_s']:.0f} against {row['bare_env_steps_per_s']:.0f} bare environment steps/s, "
        f"{row['real_time_factor']:.1f} x real time; "
        f"{row['repetitions']} x {row['control_steps']} control steps, {row['attempts_ended']} attempts ended"
    )


def _listed(values: tuple[int, ...]) -> str:
    return " ".join(map(str, values)) or "nothing"
