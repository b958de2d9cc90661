"""`r2s2r bench retarget`: retargeting recorded hands against dex_retargeting, in the same run on one core."""

from dataclasses import dataclass
from typing import Any

from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.provenance import machine, versions


@dataclass(frozen=True)
class BenchRetarget(Verb):
    """Frames a second of our retargeting over those of dex_retargeting, with the peer's own objectives.

    Both minimise the same over the same recorded frames, in turns on one processor core; one evaluation in double
    precision judges both. Then our own objective, over whole recordings and as a live stream. Targets: 20 times the
    frames a second at no higher cost, and 1000 frames a second live.
    """

    repetitions: int = 5
    """How often each ratio is measured; the median is printed."""

    streams: int = 16
    """Copies of a recording that our solver is given at once."""

    max_frames: int = 100_000
    """Frames taken of each recording."""

    def run(self) -> dict[str, Any]:
        """Measure, print a line for each recording and objective, and return the rows with machine and versions."""
        for name, least in (("repetitions", 1), ("streams", 1), ("max_frames", 2)):
            if getattr(self, name) < least:
                option = name.replace("_", "-")
                raise ConfigError(f"--{option}: received {getattr(self, name)}, allowed are {least} and more")
        # Loaded here, so that `--help` needs neither Warp nor the peer.
        import warp as wp

        from r2s2r.cli.bench_retarget_rows import one_core, own_rows, peer_rows

        wp.config.log_level = wp.LOG_WARNING
        rows, own = [], []
        with one_core():
            for row in peer_rows(self.max_frames, self.streams, self.repetitions):
                rows.append(row)
                print(_line(row), flush=True)
            for row in own_rows(self.max_frames, self.repetitions):
                own.append(row)
                print(_own_line(row), flush=True)
        return {"rows": rows, "own": own, "machine": machine(), "versions": versions()}


def _line(row: dict[str, Any]) -> str:
    low, high = row["ratio_range"]
    ours, peer, same = row["ours"], row["peer"], row["same_problems"]
    return (
        f"{row['objective']}, {row['recording']}, {row['frames']} frames: "
        f"ratio {row['ratio']:.0f} ({low:.0f} to {high:.0f}), "
        f"{ours['frames_per_s']:.0f} against {peer['frames_per_s']:.0f} frames/s, {row['repetitions']} rounds\n"
        f"  cost, mean: {ours['cost_mean']:.6f} against {peer['cost_mean']:.6f}, "
        f"median: {ours['cost_median']:.6f} against {peer['cost_median']:.6f}; "
        f"vectors alone, mean: {ours['vectors_mean']:.6f} against {peer['vectors_mean']:.6f}\n"
        f"  each frame from the peer's frame before, mean: {same['ours_mean']:.6f} against {same['peer_mean']:.6f}, "
        f"not higher in {100.0 * same['share_not_higher']:.1f} % of the frames"
    )


def _own_line(row: dict[str, Any]) -> str:
    return (
        f"our objective, {row['recording']}, {row['frames']} frames: {row['frames_per_s']:.0f} frames/s as a whole; "
        f"live {row['live_frames_per_s']:.0f} frames/s, median {row['live_median_s'] * 1e3:.2f} ms, "
        f"99 % within {row['live_q99_s'] * 1e3:.2f} ms, most {row['live_max_s'] * 1e3:.2f} ms"
    )
