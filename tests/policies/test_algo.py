"""The algorithm in robomimic's registry, and robomimic's own beside it, on batches of our data sets' layout."""

import json
from pathlib import Path
from typing import Any

import pytest
import robomimic.utils.obs_utils as obs_utils
import torch
from robomimic.algo import Algo, algo_factory
from robomimic.config import config_factory
from robomimic.config.base_config import BaseConfig

import r2s2r_policies
from r2s2r.contracts.errors import ConfigError
from r2s2r_policies.policy_cfg import SIZES, PolicyCfg

CONFIGS = Path(r2s2r_policies.__file__).parent / "configs"
SIZE = 32


def _config(name: str) -> BaseConfig:
    values = json.loads((CONFIGS / f"{name}.json").read_text())
    config = config_factory(values["algo_name"])
    with config.values_unlocked():
        config.update(values)
    return config


def _algo(config: BaseConfig, **shapes: Any) -> Algo:
    obs_utils.initialize_obs_utils_with_config(config)
    shapes = {"robot_state": [32], "head_rgb": [3, SIZE, SIZE], "wrist_rgb": [3, SIZE, SIZE], **shapes}
    torch.manual_seed(0)
    algo = algo_factory(config.algo_name, config, shapes, ac_dim=25, device=torch.device("cpu"))
    algo.set_train()
    return algo


def _batch(steps: int, count: int = 4) -> dict[str, Any]:
    """Return sequences as a loader gives them: pictures as bytes, height by width by colour."""
    generator = torch.Generator().manual_seed(0)
    pictures = {
        key: torch.randint(0, 256, (count, steps, SIZE, SIZE, 3), generator=generator, dtype=torch.uint8)
        for key in ("head_rgb", "wrist_rgb")
    }
    return {
        "obs": {"robot_state": torch.randn(count, steps, 32, generator=generator), **pictures},
        "actions": torch.randn(count, steps, 25, generator=generator),
    }


def _processed(algo: Algo, batch: dict[str, Any]) -> dict[str, Any]:
    processed = algo.process_batch_for_training(batch)
    return algo.postprocess_batch_for_training(processed, obs_normalization_stats=None)


def _small() -> BaseConfig:
    config = _config("tiny")
    with config.values_unlocked():
        config.algo.policy.width, config.algo.policy.layers = 32, 1
    return config


@pytest.mark.parametrize("size", sorted(SIZES))
def test_configurations_are_the_named_sizes(size: str) -> None:
    config = _config(size)
    assert PolicyCfg.from_dict(dict(config.algo.policy)) == SIZES[size]
    assert config.train.seq_length == SIZES[size].chunk


@pytest.mark.parametrize(("name", "steps"), [("bc", 1), ("bc_rnn", 10), ("bc_transformer", 10)])
def test_algorithms_of_robomimic_train_on_our_layout(name: str, steps: int) -> None:
    algo = _algo(_config(name))
    before = {key: value.clone() for key, value in algo.nets.state_dict().items()}
    losses = [
        float(algo.train_on_batch(_processed(algo, _batch(steps)), epoch=1)["losses"]["action_loss"]) for _ in range(8)
    ]
    assert losses[-1] < losses[0]
    changed = [key for key, value in algo.nets.state_dict().items() if not torch.equal(value, before[key])]
    assert any("head_rgb" in key for key in changed) and any("wrist_rgb" in key for key in changed)


def test_flow_matching_learns_from_a_batch_and_b73_masks_it() -> None:
    algo = _algo(_small())
    batch = _batch(16)
    batch["mask"] = torch.arange(16).expand(4, 16) < 12
    processed = _processed(algo, batch)
    assert processed["obs"]["head_rgb"].shape == (4, 3, SIZE, SIZE)
    assert 0.9 < float(processed["obs"]["head_rgb"].max()) <= 1.0
    losses = [float(algo.train_on_batch(processed, epoch=1)["losses"]["action_loss"]) for _ in range(40)]
    assert sum(losses[-5:]) < sum(losses[:5])
    weights = {key: value.clone() for key, value in algo.nets.state_dict().items()}
    algo.train_on_batch(processed, epoch=1, validate=True)
    assert all(torch.equal(value, weights[key]) for key, value in algo.nets.state_dict().items())


def test_padding_mask_of_robomimic_is_read() -> None:
    algo = _algo(_small())
    batch = _batch(16)
    mask = torch.arange(16).expand(4, 16) < 12
    assert torch.equal(_processed(algo, {**batch, "pad_mask": mask.unsqueeze(-1)})["mask"], mask)
    assert bool(_processed(algo, batch)["mask"].all())


def test_actions_come_in_chunks_from_the_averaged_weights_and_survive_saving() -> None:
    algo, restored = _algo(_small()), _algo(_small())
    batch = _processed(algo, _batch(16))
    for _ in range(3):
        algo.train_on_batch(batch, epoch=1)
    restored.deserialize(algo.serialize())
    assert int(restored.nets["averaged"].n_averaged) == 3
    answers = []
    for each in (algo, restored):
        each.set_eval()
        each.reset()
        each.generator.manual_seed(1)
        answers.append(torch.stack([each.get_action(batch["obs"]) for _ in range(10)]))
    assert torch.equal(answers[0], answers[1])
    expected = algo.nets["averaged"].module.sample(batch["obs"], generator=torch.Generator().manual_seed(1))
    assert torch.equal(answers[0][:8], expected[:, :8].transpose(0, 1))


def test_pictures_that_are_not_square_or_unknown_are_refused() -> None:
    with pytest.raises(ConfigError, match="allowed is one square size"):
        _algo(_small(), head_rgb=[3, 32, 48])
