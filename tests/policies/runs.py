"""Training runs that take a second: a network of a few thousand weights on a few small episodes."""

from pathlib import Path
from typing import Any

from r2s2r_policies.algorithms import named_algorithm, read_algorithm
from r2s2r_policies.mixture import Source
from r2s2r_policies.train_settings import TrainSettings
from r2s2r_policies.trainer import Trainer

from .data_sets import write

PICTURE = 16
"""Edge of the pictures [px], the smallest that a policy takes."""


def flow() -> dict[str, Any]:
    """Return a flow-matching algorithm of about 10,000 weights."""
    algorithm = named_algorithm("tiny")
    algorithm["algo"]["policy"] |= {"channels": [8, 8, 8], "width": 16, "layers": 1, "heads": 2, "keypoints": 4}
    return algorithm


def of_robomimic(name: str) -> dict[str, Any]:
    """Return one of robomimic's algorithms, `bc`, `bc_rnn` or `bc_transformer`, small."""
    algorithm = read_algorithm(Path(__file__).parents[2] / "policies" / "r2s2r_policies" / "configs" / f"{name}.json")
    settings = algorithm["algo"]
    settings["rnn"] |= {"hidden_dim": 8, "horizon": 4}
    settings["transformer"] |= {"embed_dim": 8, "num_layers": 1, "num_heads": 2, "context_length": 4}
    if settings["rnn"]["enabled"]:
        algorithm["train"]["seq_length"] = 4
    if settings["transformer"]["enabled"]:
        algorithm["train"]["frame_stack"] = 4
    encoder = algorithm["observation"]["encoder"]["rgb"]["core_kwargs"]
    encoder["feature_dimension"] = 8
    encoder["pool_kwargs"]["num_kp"] = 4
    return algorithm


def data_sets(folder: Path) -> tuple[Path, Path]:
    """Return two data sets, written if need be."""
    paths = folder / "real.hdf5", folder / "sim.hdf5"
    for path in paths:
        if not path.exists():
            write(path, size=PICTURE)
    return paths


def settings(folder: Path, **changes: Any) -> TrainSettings:
    """Return the settings of a run on the data sets of `folder`."""
    real, sim = data_sets(folder)
    chosen: dict[str, Any] = {
        "sources": (Source(real, 0.5, "real"), Source(sim, 0.5, "sim")),
        "algorithm": flow(),
        "batch_size": 8,
        "warmup_steps": 2,
        "held_out_batches": 2,
        "log_every": 1,
        **changes,
    }
    return TrainSettings(**chosen)


def trained(folder: Path, steps: int, name: str = "run", decay_steps: int = 0, **changes: Any) -> Path:
    """Train until `steps` steps in the run `name` of `folder`, and return the run's folder."""
    with Trainer(settings(folder, **changes), folder / name, lambda _line: None) as trainer:
        trainer.train(steps, decay_steps)
    return folder / name
