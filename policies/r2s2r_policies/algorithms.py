"""robomimic's algorithms on our data: their configurations, what they see, and the calls that training makes."""

import contextlib
import io
import json
from collections import OrderedDict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from robomimic.algo import PolicyAlgo, algo_factory
from robomimic.config import config_factory
from robomimic.utils import obs_utils
from torch.optim.swa_utils import AveragedModel

from r2s2r.contracts.action import ACTION_DIM
from r2s2r.contracts.errors import ConfigError, choose
from r2s2r_policies.algo import NAME, FlowMatching
from r2s2r_policies.checkpoint import PolicyTask
from r2s2r_policies.ema import averaged_copy
from r2s2r_policies.loader import Batch
from r2s2r_policies.network import FlowPolicyNet
from r2s2r_policies.policy_cfg import SIZES, earlier_keys
from r2s2r_policies.policy_numbers import STATE, PolicyNumbers
from r2s2r_policies.training_data import SampleShape
from r2s2r_policies.wrist_frame import STATE_NAMES

ALGORITHMS = (NAME, "bc")
"""Algorithms of robomimic that learn a policy from demonstrations alone; `bc` includes BC-RNN and BC-Transformer."""

PARTS = ("algo_name", "algo", "observation", "train")
"""Parts of robomimic's configuration that matter here; the others steer robomimic's own script."""

BC_EMA_DECAY = 0.999
"""Decay of the averaged weights of robomimic's algorithms, which do not average themselves; that of flow matching."""


def named_algorithm(size: str) -> dict[str, Any]:
    """Return the configuration of flow matching of a named size.

    Raises:
        ConfigError: there is no such size.
    """
    choose("size", size, tuple(SIZES))
    return _resolved(json.loads((files("r2s2r_policies") / "configs" / f"{size}.json").read_text("utf-8")), size)


def read_algorithm(path: Path) -> dict[str, Any]:
    """Return the configuration in a file of robomimic's format; what it leaves out takes robomimic's defaults.

    Raises:
        ConfigError: the file cannot be read, names an algorithm that is not supported, or an unknown entry.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: not a readable JSON file ({error})") from error
    return _resolved(content, str(path))


def sample_shape(algorithm: dict[str, Any]) -> SampleShape:
    """Return which rows an algorithm wants in a sample.

    Raises:
        ConfigError: lengths in the configuration that robomimic requires to agree do not.
    """
    train, settings = algorithm["train"], algorithm["algo"]
    if algorithm["algo_name"] == NAME:
        policy = settings["policy"]
        return SampleShape(policy["chunk"], history=1, sequence=False, earlier_steps=policy["earlier_steps"])
    pairs = []
    if settings["rnn"]["enabled"]:
        pairs = [("algo.rnn.horizon", settings["rnn"]["horizon"], "train.seq_length", train["seq_length"])]
    if settings["transformer"]["enabled"]:
        length = settings["transformer"]["context_length"]
        pairs = [("algo.transformer.context_length", length, "train.frame_stack", train["frame_stack"])]
    for name, value, other, expected in pairs:
        if value != expected:
            raise ConfigError(f"{name} is {value}, {other} is {expected}; robomimic needs them to be the same")
    return SampleShape(chunk=train["seq_length"], history=train["frame_stack"], sequence=True)


def build_algorithm(
    algorithm: dict[str, Any], task: PolicyTask, device: "torch.device | str", ema_decay: float | None = None
) -> PolicyAlgo:
    """Return the algorithm, its networks drawn from torch's global generator.

    Its `nets` hold the trained network, `policy`, and `averaged`, an `AveragedModel` of it.

    Raises:
        ConfigError: the configuration and the task do not fit.
    """
    pictures = list(task.picture_keys)
    if sample_shape(algorithm).earlier_steps:
        pictures += earlier_keys(task.picture_keys).values()
    config = config_factory(algorithm["algo_name"])
    with config.values_unlocked():
        config.update(algorithm)
        config.observation.modalities.obs.low_dim = [STATE]
        config.observation.modalities.obs.rgb = pictures
        if algorithm["algo_name"] == NAME:
            # Gradients are clipped once, after they are averaged over the processes.
            config.algo.max_grad_norm = None
            if ema_decay is not None:
                config.algo.policy.ema_decay = ema_decay
    edge = task.picture_size
    shapes = OrderedDict({STATE: [len(STATE_NAMES)], **{key: [3, edge, edge] for key in pictures}})
    with contextlib.redirect_stdout(io.StringIO()):  # robomimic prints its tables
        obs_utils.initialize_obs_utils_with_config(config)
        made = algo_factory(algorithm["algo_name"], config, shapes, ACTION_DIM, torch.device(device))
    if "averaged" not in made.nets:
        decay = BC_EMA_DECAY if ema_decay is None else ema_decay
        made.nets["averaged"] = averaged_copy(made.nets["policy"], decay)
    if isinstance(made, FlowMatching) and made.device.type == "cuda":
        cast(FlowPolicyNet, made.nets["policy"]).compile_layers()
    return made


def prepared(algorithm: PolicyAlgo, batch: Batch, numbers: PolicyNumbers) -> dict[str, Any]:
    """Return a batch of the loader as the algorithm learns from it: normalised, on its device, pictures as floats."""
    obs = {key: torch.from_numpy(values) for key, values in batch["obs"].items()}
    joint_pos = obs.pop("joint_pos").numpy()
    obs[STATE] = torch.from_numpy(numbers.state(joint_pos))
    actions = torch.from_numpy(numbers.learned(batch["actions"], joint_pos))
    taken = algorithm.process_batch_for_training(
        {"obs": obs, "actions": actions, "mask": torch.from_numpy(batch["mask"])}
    )
    return algorithm.postprocess_batch_for_training(taken, None)


def loss_weight(algorithm: PolicyAlgo, batch: dict[str, Any]) -> float:
    """Return how many terms the loss of a prepared batch is the mean of, up to a factor that all batches share."""
    return float(batch["mask"].sum()) if "mask" in batch else float(len(batch["actions"]))


def averaged_network(algorithm: PolicyAlgo) -> torch.nn.Module:
    """Return the network with the averaged weights."""
    return cast(torch.nn.Module, algorithm.nets["averaged"].module)


def step_algorithm(algorithm: PolicyAlgo, batch: dict[str, Any]) -> torch.Tensor:
    """Make one training step on a prepared batch and return its loss."""
    loss = algorithm.train_on_batch(batch, epoch=0)["losses"]["action_loss"]
    if not isinstance(algorithm, FlowMatching):  # which averages itself
        cast(AveragedModel, algorithm.nets["averaged"]).update_parameters(algorithm.nets["policy"])
    return loss


def seed_draws(algorithm: PolicyAlgo, *numbers: int) -> None:
    """Let all that the algorithm draws from now on follow from `numbers`, whatever was drawn before."""
    state = int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
    torch.manual_seed(state)  # dropout
    if isinstance(algorithm, FlowMatching):
        algorithm.generator.manual_seed(state)


@contextlib.contextmanager
def averaged_weights(algorithm: PolicyAlgo) -> Iterator[None]:
    """Let the algorithm evaluate its averaged weights within the block; afterwards it is in training mode."""
    trained = algorithm.nets["policy"]
    algorithm.set_eval()
    algorithm.nets["policy"] = averaged_network(algorithm)
    try:
        yield
    finally:
        algorithm.nets["policy"] = trained
        algorithm.set_train()
        algorithm.nets["averaged"].eval()


def _resolved(content: Any, where: str) -> dict[str, Any]:
    if not isinstance(content, dict) or "algo_name" not in content:
        raise ConfigError(f"{where}: no algo_name; not a configuration of robomimic")
    choose(f"{where}: algo_name", content["algo_name"], ALGORITHMS)
    config = config_factory(content["algo_name"])
    try:
        with config.values_unlocked():
            config.update({part: content[part] for part in PARTS if part in content})
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{where}: {error}") from error
    resolved = json.loads(config.dump())
    kept = ("seq_length", "frame_stack", "batch_size")
    return {
        **{part: resolved[part] for part in PARTS if part != "train"},
        "train": {name: resolved["train"][name] for name in kept},
    }
