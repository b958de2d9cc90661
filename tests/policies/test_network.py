"""The network's shapes, sizes and determinism, and that it learns what it is shown."""

import math

import pytest
import torch

from r2s2r.contracts.errors import ConfigError
from r2s2r_policies.network import FlowPolicyNet
from r2s2r_policies.policy_cfg import SIZES, PolicyCfg
from r2s2r_policies.precision import autocast, computes_in_bf16

PARAMETERS = {"tiny": 1e6, "small": 5e6, "base": 80e6, "paper": 500e6}


def _obs(batch: int, size: int = 64, seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    keys = ("head_rgb", "wrist_rgb", "head_rgb_earlier")
    pictures = {key: torch.rand(batch, 3, size, size, generator=generator) for key in keys}
    return {"robot_state": torch.randn(batch, 32, generator=generator), **pictures}


def _tiny(**changes) -> FlowPolicyNet:
    torch.manual_seed(0)
    return FlowPolicyNet(PolicyCfg.from_dict({**PolicyCfg.named("tiny").to_dict(), **changes}))


@pytest.mark.parametrize("size", sorted(PARAMETERS))
def test_named_sizes_have_their_parameters(size: str) -> None:
    with torch.device("meta"):
        network = FlowPolicyNet(PolicyCfg.named(size))
    assert sum(weight.numel() for weight in network.parameters()) == pytest.approx(PARAMETERS[size], rel=0.1)


@pytest.mark.parametrize("size", ["base", "paper"])
@pytest.mark.parametrize("picture_size", [64, 128])
def test_large_networks_fit_pictures_of_any_size(size: str, picture_size: int) -> None:
    """The residual trunks end where the keypoints expect them to, checked at a small width."""
    cfg = PolicyCfg.named(size).resized(picture_size)
    torch.manual_seed(0)
    network = FlowPolicyNet(PolicyCfg.from_dict({**cfg.to_dict(), "width": 96, "heads": 4, "layers": 1})).eval()
    chunk = network.sample(_obs(1, picture_size), 1, torch.Generator().manual_seed(0))
    assert chunk.shape == (1, 16, 25)


def test_small_pictures_keep_a_map_of_16_by_16() -> None:
    network = _tiny()
    assert network.encoder.cameras["head_rgb"].trunk(torch.rand(1, 6, 64, 64)).shape[-2:] == (16, 16)


def test_shapes_of_tokens_chunks_and_features() -> None:
    network = _tiny().eval()
    obs = _obs(3)
    assert network.encode(obs).shape == (3, 5, 128)
    assert network.features(obs).shape == (3, 128)
    assert network.sample(obs, 2, torch.Generator()).shape == (3, 16, 25)


def test_same_seed_same_loss_and_same_chunk() -> None:
    network = _tiny()
    obs, actions, mask = _obs(4), torch.randn(4, 16, 25), torch.ones(4, 16, dtype=torch.bool)
    losses = [float(network.loss_terms(obs, actions, mask, torch.Generator().manual_seed(s))) for s in (1, 1, 2)]
    assert losses[0] == losses[1] != losses[2]
    # An untrained network's last layer is 0; give it something to say.
    torch.nn.init.normal_(network.velocity.velocity.weight, std=0.1)
    network.eval()
    chunks = [network.sample(obs, 3, torch.Generator().manual_seed(s)) for s in (1, 1, 2)]
    assert torch.equal(chunks[0], chunks[1])
    assert not torch.equal(chunks[0], chunks[2])


def test_an_answer_does_not_depend_on_its_batch() -> None:
    network = _tiny().eval()
    obs = _obs(4)
    alone = network.features({key: value[2:3] for key, value in obs.items()})
    assert torch.allclose(network.features(obs)[2:3], alone, atol=1e-5)


def test_evaluation_is_not_augmented() -> None:
    network = _tiny()
    obs, generator = _obs(2), torch.Generator().manual_seed(0)
    assert not torch.allclose(network.train().encode(obs, generator), network.encode(obs), atol=1e-3)
    network.eval()
    assert torch.equal(network.encode(obs, generator), network.encode(obs))


def test_layers_are_compiled_whole_and_keep_their_names() -> None:
    """In one graph each: whatever is drawn stays outside."""
    network, obs = _tiny(layers=1), _obs(2)
    names = list(network.state_dict())
    actions, mask = torch.randn(2, 16, 25), torch.ones(2, 16, dtype=torch.bool)
    loss = network.loss_terms(obs, actions, mask, torch.Generator().manual_seed(1))
    network.compile_layers(backend="eager")
    compiled = network.loss_terms(obs, actions, mask, torch.Generator().manual_seed(1))
    assert torch.allclose(compiled, loss, rtol=1e-5)
    assert list(network.state_dict()) == names


def test_untrained_loss_is_that_of_no_velocity() -> None:
    # E (action - noise)^2 = 2 for actions of unit variance; 6400 numbers, standard deviation sqrt(8) each.
    network = _tiny()
    actions = torch.randn(16, 16, 25, generator=torch.Generator().manual_seed(5))
    mask = torch.ones(16, 16, dtype=torch.bool)
    loss = float(network.loss_terms(_obs(16), actions, mask, torch.Generator().manual_seed(1)))
    assert loss == pytest.approx(2.0, abs=4 * math.sqrt(8 / 6400))


def test_an_answer_without_noise_is_one_answer() -> None:
    network, obs = _tiny(start_noise=0.0).eval(), _obs(2)
    torch.nn.init.normal_(network.velocity.velocity.weight, std=0.1)
    first, second = (network.sample(obs, 4, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    assert torch.equal(first, second) and float(first.abs().max()) > 0.01


def test_what_was_seen_earlier_counts_and_is_augmented_like_what_is_seen_now() -> None:
    network = _tiny(crop_px=2)
    obs, standing = _obs(4), _obs(4)
    standing["head_rgb_earlier"] = standing["head_rgb"]
    assert not torch.equal(network.encode(obs), network.encode(standing))
    seen = []
    network.encoder.cameras["head_rgb"].register_forward_hook(lambda _module, inputs, _out: seen.append(inputs[0]))
    network.encode(standing, torch.Generator().manual_seed(0))
    assert torch.equal(seen[0][:, :3], seen[0][:, 3:]) and not torch.equal(seen[0][:, :3], standing["head_rgb"])


def test_pictures_reach_the_action() -> None:
    """Where a bright spot is decides the action; joints say nothing of it."""
    changes = {"picture_size": 16, "width": 32, "heads": 2, "layers": 2, "keypoints": 8, "channels": (8, 8, 8)}
    changes["earlier_steps"] = 0
    network = _tiny(**changes, crop_px=0, colour_jitter=0.0, channel_jitter=0.0, chunk=2, action_dim=2)
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(network.parameters(), 3e-3)

    def batch(count: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        place = torch.randint(1, 14, (count, 2), generator=generator)
        pictures = torch.zeros(count, 3, 16, 16)
        for row in range(2):
            for column in range(2):
                pictures[torch.arange(count), :, place[:, 0] + row, place[:, 1] + column] = 1.0
        obs = {"robot_state": torch.zeros(count, 32), "head_rgb": pictures, "wrist_rgb": torch.zeros_like(pictures)}
        return obs, ((place - 7) / 4.0).unsqueeze(1).expand(-1, 2, -1)

    for _ in range(200):
        obs, actions = batch(32)
        optimizer.zero_grad()
        network.loss_terms(obs, actions, torch.ones(32, 2, dtype=torch.bool), generator).backward()
        optimizer.step()
    obs, actions = batch(64)
    error = network.eval().sample(obs, 8, generator) - actions
    # Places spread over the actions' standard deviation of 0.94; one cell of the 4 x 4 map is 1.0.
    assert float(error.square().mean().sqrt()) < 0.35


def test_bfloat16_agrees_with_float32() -> None:
    network = _tiny().eval()
    obs = _obs(2)
    with autocast("cpu", "bf16"):
        rounded = network.features(obs)
    assert rounded.dtype == torch.float32
    # Tokens leave a layer norm with unit variance; bfloat16 keeps 8 bits through about ten layers.
    assert float((rounded - network.features(obs)).abs().max()) < 0.1


def test_precision_is_settable_and_32_bit_on_processors() -> None:
    assert not computes_in_bf16("cpu") and computes_in_bf16("cuda") and computes_in_bf16("cpu", "bf16")
    with pytest.raises(ConfigError, match="precision: received 'fp8', allowed are auto, fp32, bf16"):
        computes_in_bf16("cpu", "fp8")


def test_cfg_survives_json_and_names_what_is_wrong() -> None:
    for cfg in SIZES.values():
        assert PolicyCfg.from_dict(cfg.to_dict()) == cfg
    with pytest.raises(ConfigError, match="policy size: received 'huge'"):
        PolicyCfg.named("huge")
    with pytest.raises(ConfigError, match="policy field: received 'depth'"):
        PolicyCfg.from_dict({"depth": 3})
    with pytest.raises(ConfigError, match="actions_per_token is 3, allowed is a divisor of the chunk, 16"):
        PolicyCfg(actions_per_token=3)
    with pytest.raises(ConfigError, match="crop_px is 64"):
        PolicyCfg(crop_px=64)
    with pytest.raises(ConfigError, match="layers is 0"):
        PolicyCfg(layers=0)
