"""`r2s2r bench ground`: record, fit, compare with the hidden truth, for many hidden worlds; peers on the same data."""

import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.cli.record import FILE_NAME, record_virtual_cell
from r2s2r.cli.verb import Verb
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.provenance import machine, provenance, versions

LIMITS = {
    "wrist_reprojection_px": 0.3,
    "mount_mm": 1.5,
    "mount_deg": 0.3,
    "blur_px": 0.05,
    "head_mm": 2.0,
    "head_deg": 0.2,
    "base_deg": 0.1,
    "belt_mm": 2.0,
    "belt_deg": 0.2,
    "belt_speed_pct": 1.0,
    "arm_tracking_ratio": 0.2,
    "bias_rad": 0.002,
    "delay_ms": 2.0,
    "arm_param_pct": 10.0,
    "hand_delay_ms": 5.0,
    "hand_deadband_rad": 0.005,
    "hand_lag_pct": 10.0,
    "cell_s": 300.0,
    "fit_s": 300.0,
}
"""What the median over hidden worlds has to stay below."""

COVERAGE = (0.90, 0.99)
"""Between which shares of hidden values have to lie inside their 95 % intervals."""


@dataclass(frozen=True)
class BenchGround(Verb):
    """Record a calibration of each hidden world, fit it, and compare with the truth.

    Figures are errors of one world (of several joints the largest counts); `median` is over the worlds. Peers run on
    the first world's recording: a CMA-ES fit of the arm, and plain cv2.fisheye.calibrate.
    """

    seeds: tuple[int, ...] = tuple(range(101, 111))
    """Hidden worlds; 1 to 99 are used in development, so that figures worth quoting come from others."""

    peers: bool = True
    """Run the peers too (some minutes)."""

    keep: Path | None = None
    """Keep recordings, fitted worlds and reports in this folder, and take recordings that are there already."""

    def run(self) -> dict[str, Any]:
        """Measure, print a line for each world and the medians beside their limits."""
        if not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) != len(self.seeds):
            raise ConfigError(f"--seeds: received {self.seeds}, allowed are different numbers from 0")
        # Loaded here, so that `--help` does not wait for it.
        import warp as wp

        wp.config.log_level = wp.LOG_WARNING
        worlds, covered, peers = [], {}, {}
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) if self.keep is None else self.keep
            _record(self.seeds, folder)
            for seed in self.seeds:
                figures, inside, grounding = _one_world(seed, folder)
                worlds.append({"seed": seed} | figures)
                for name, (hits, count) in inside.items():
                    before = covered.get(name, (0, 0))
                    covered[name] = (before[0] + hits, before[1] + count)
                print(_line(worlds[-1]), flush=True)
                if self.keep is not None:
                    _keep(seed, folder, grounding)
                if self.peers and not peers:
                    peers = _peers(seed, folder, grounding)
        median = {name: float(np.median([world[name] for world in worlds])) for name in LIMITS}
        hits, count = (sum(pair[k] for pair in covered.values()) for k in (0, 1))
        median["coverage"] = hits / count
        _print_summary(median, peers)
        return {
            "median": median,
            "limits": LIMITS | {"coverage": COVERAGE},
            "worlds": worlds,
            "coverage_by_parameter": covered,
            "peers": peers,
            "machine": machine(),
            "versions": versions(),
        }


def _one_world(seed: int, folder: Path) -> tuple[dict[str, float], dict[str, tuple[int, int]], Any]:
    """Return a world's figures, for each parameter how many hidden values lie in their intervals, and the fits."""
    from r2s2r.cell.hidden import HiddenWorld
    from r2s2r.evaluation.recovery import coverage, recovery_figures
    from r2s2r.recording.cell_log_file import read_cell_log
    from r2s2r.world.grounding import ground
    from r2s2r.world.parameters import parameters

    log = read_cell_log(_recording(seed, folder))
    began = time.perf_counter()
    grounding = ground(log)
    fit_s = time.perf_counter() - began
    truth = parameters(HiddenWorld.draw(seed).world)
    figures = recovery_figures(grounding.fits, truth) | {"cell_s": log.duration_s, "fit_s": fit_s}
    inside = coverage(grounding.estimates, truth)
    figures["coverage"] = sum(hits for hits, _ in inside.values()) / sum(count for _, count in inside.values())
    return figures, inside, grounding


def _keep(seed: int, folder: Path, grounding: Any) -> None:
    """Write the fitted world, and a report that shows the hidden truth beside it."""
    from r2s2r.cell.hidden import HiddenWorld
    from r2s2r.evaluation.grounding_report import GroundingReport
    from r2s2r.world.parameters import parameters
    from r2s2r.world.world_file import write_world

    kept = _recording(seed, folder).parent
    write_world(kept / "world.yaml", grounding.world, grounding.estimates)
    truth = parameters(HiddenWorld.draw(seed).world)
    source = provenance({"bench": "ground"}, inputs=[_recording(seed, folder)], seed=seed)
    GroundingReport(f"virtual cell {seed}", grounding, truth=truth, provenance=source).write(kept / "report.html")


def _record(seeds: tuple[int, ...], folder: Path) -> None:
    """Record the hidden worlds that have no recording yet, several at once: drawing pictures takes one core each."""
    missing = [(seed, _recording(seed, folder)) for seed in seeds if not _recording(seed, folder).is_file()]
    if not missing:
        return
    with ProcessPoolExecutor(os.cpu_count() or 1, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(record_virtual_cell, seed, path, None, True): seed for seed, path in missing}
        for done in as_completed(running):
            print(f"world {running[done]}: recorded {done.result():.0f} s of the cell", flush=True)


def _recording(seed: int, folder: Path) -> Path:
    return folder / f"world_{seed}" / FILE_NAME


def _peers(seed: int, folder: Path, grounding: Any) -> dict[str, Any]:
    """Return what other ways of fitting reach on the first world's recording."""
    from r2s2r.cell.hidden import HiddenWorld
    from r2s2r.cli.bench_ground_peers import arm_peer, lens_peer
    from r2s2r.recording.cell_log_file import read_cell_log

    log = read_cell_log(_recording(seed, folder))
    return {"arm": arm_peer(log), "lens": lens_peer(log, grounding, HiddenWorld.draw(seed).world)}


def _line(world: dict[str, float]) -> str:
    shown = ", ".join(f"{name} {world[name]:.3g}" for name in (*LIMITS, "coverage"))
    return f"world {world['seed']}: {shown}"


def _print_summary(median: dict[str, float], peers: dict[str, Any]) -> None:
    for name, limit in LIMITS.items():
        verdict = "met" if median[name] <= limit else "NOT met"
        print(f"  {name:<24} {median[name]:>9.4g}   limit {limit:g}   {verdict}")
    low, high = COVERAGE
    verdict = "met" if low <= median["coverage"] <= high else "NOT met"
    print(f"  {'coverage':<24} {median['coverage']:>9.4g}   {low:g} to {high:g}   {verdict}")
    for name, peer in peers.items():
        print(f"  peer {name}: " + ", ".join(f"{key} {value:.4g}" for key, value in peer.items()))
