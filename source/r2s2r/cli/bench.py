"""`r2s2r bench NAME`: paired benchmarks, each against a peer or a limit in the same run."""

from typing import Annotated

import tyro

from r2s2r.cli.bench_generate import BenchGenerate
from r2s2r.cli.bench_ground import BenchGround
from r2s2r.cli.bench_loader import BenchLoader
from r2s2r.cli.bench_mimic import BenchMimic
from r2s2r.cli.bench_replay import BenchReplay
from r2s2r.cli.bench_retarget import BenchRetarget
from r2s2r.cli.bench_train import BenchTrain

Bench = (
    Annotated[BenchReplay, tyro.conf.subcommand("replay", prefix_name=False)]
    | Annotated[BenchMimic, tyro.conf.subcommand("mimic", prefix_name=False)]
    | Annotated[BenchGenerate, tyro.conf.subcommand("generate", prefix_name=False)]
    | Annotated[BenchRetarget, tyro.conf.subcommand("retarget", prefix_name=False)]
    | Annotated[BenchLoader, tyro.conf.subcommand("loader", prefix_name=False)]
    | Annotated[BenchTrain, tyro.conf.subcommand("train", prefix_name=False)]
    | Annotated[BenchGround, tyro.conf.subcommand("ground", prefix_name=False)]
)
"""Every benchmark by its name on the command line."""
