"""`r2s2r bench loader`: loading training samples against robomimic's loader, in the same run on the same file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.provenance import machine, versions
from r2s2r.dataset.hdf5_file import check_complete

TARGET_RATIO = 5.0
TARGET_BYTES = 4 * 2**30


@dataclass(frozen=True)
class BenchLoader(Verb):
    """Samples a second of our loader over those of robomimic's SequenceDataset behind torch's DataLoader.

    Both cut the same windows of one data set, in random order. A sample of ours has the observation of its first step,
    which is what a policy of action chunks is trained on; robomimic loads the observations of the whole window, so
    that our loader is measured with those too. The peer is the best of its numbers of workers. Targets: 5 times the
    samples, within 4 GiB.
    """

    data: Annotated[Path, tyro.conf.Positional]
    """Data set with pictures."""

    filter_key: str = "train"
    """Mask that chooses the episodes."""

    chunk: int = 16
    """Actions of a sample."""

    batch_size: int = 64
    """Samples of a batch."""

    threads: int = 2
    """Most threads of ours, and most workers of the peer; each number from 1 on is measured."""

    seconds: float = 3.0
    """Least time of a measurement [s]."""

    repetitions: int = 3
    """How often each is measured; medians are compared."""

    seed: int = 0
    """Seed of the order."""

    def run(self) -> dict[str, Any]:
        """Measure, print a line for each way and the ratios, and return the rows with machine and versions."""
        self.check_counts("chunk", "batch_size", "threads", "repetitions")
        self.check_seed(self.seed)
        if not 0.0 < self.seconds < 3600.0:
            raise ConfigError(f"--seconds: received {self.seconds:g}, allowed is above 0 and below 3600")
        check_complete(self.data)
        # Loaded here, so that `--help` needs neither torch nor robomimic.
        from r2s2r_policies.bench_loader import LoaderBench, measure_ours, measure_robomimic

        bench = LoaderBench(
            self.data, self.filter_key, self.chunk, self.batch_size, self.seconds, self.repetitions, self.seed
        )
        ours = measure_ours(bench, self.threads)
        _print_loader("r2s2r", "threads", ours)
        peer = measure_robomimic(bench, self.threads)
        _print_loader("robomimic", "workers", peer)
        ratios = [_ratios(ours["rows"], peer["rows"], threads) for threads in range(1, self.threads + 1)]
        for ratio in ratios:
            print(_ratio_line(ratio), flush=True)
        return {
            "data": str(self.data),
            "r2s2r": ours,
            "robomimic": peer,
            "ratios": ratios,
            "ratio": ratios[-1]["ratio"],
            "target_ratio": TARGET_RATIO,
            "target_bytes": TARGET_BYTES,
            "machine": machine(),
            "versions": versions(),
        }


def _ratios(ours: list[dict[str, Any]], peer: list[dict[str, Any]], threads: int) -> dict[str, Any]:
    """Return ours with `threads` threads over the best of the peer with up to as many workers."""
    best = max(row["samples_per_s"] for row in peer if row["workers"] <= threads)
    rate = {row["whole_window"]: row["samples_per_s"] for row in ours if row["workers"] == threads}
    return {"threads": threads, "ratio": rate[False] / best, "whole_window_ratio": rate[True] / best}


def _print_loader(name: str, workers: str, result: dict[str, Any]) -> None:
    for row in result["rows"]:
        low, high = row["samples_per_s_range"]
        what = "observations of the whole window" if row["whole_window"] else "observation of the first step"
        rate = f"{row['samples_per_s']:.0f} samples/s ({low:.0f} to {high:.0f})"
        print(f"{name}, {row['workers']} {workers}, {what}: {rate}")
    print(f"{name}: opened in {result['open_s']:.1f} s, at most {result['peak_bytes'] / 2**30:.2f} GiB", flush=True)


def _ratio_line(ratio: dict[str, Any]) -> str:
    return (
        f"loader, {ratio['threads']} threads: ratio {ratio['ratio']:.1f} (target {TARGET_RATIO:g}), "
        f"with the whole window {ratio['whole_window_ratio']:.2f}"
    )
