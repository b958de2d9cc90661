"""Coloured lamps: linear light times colour, channel by channel, each environment its own."""

import numpy as np
import pytest
import torch
import warp as wp

from r2s2r.contracts.conditions import RED_LIGHT
from r2s2r_tasks.belt_sort.mdp.lamps import under_light

pytestmark = pytest.mark.sim

wp.init()  # the environment does it; here there is none


@pytest.fixture
def all_grey_levels(device) -> torch.Tensor:
    """A picture (1, 1, 256, 3) of every value that a channel can have."""
    return torch.arange(256, dtype=torch.uint8, device=device)[None, None, :, None].expand(1, 1, 256, 3).contiguous()


def _srgb_to_linear(value: np.ndarray) -> np.ndarray:
    """IEC 61966-2-1, written once more."""
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _linear_to_srgb(value: np.ndarray) -> np.ndarray:
    return np.where(value <= 0.0031308, value * 12.92, 1.055 * value ** (1 / 2.4) - 0.055)


def test_white_light_changes_no_bit(all_grey_levels, device):
    assert torch.equal(under_light(all_grey_levels, torch.ones(1, 3, device=device)), all_grey_levels)


@pytest.mark.parametrize("light", [RED_LIGHT, (0.5, 0.25, 1.0), (0.0, 0.003, 0.2)])
def test_coloured_light_is_the_closed_form(light, all_grey_levels, device):
    linear = _srgb_to_linear(np.arange(256)[:, None] / 255.0) * np.array(light)
    exact = 255.0 * _linear_to_srgb(linear)
    tinted = under_light(all_grey_levels, torch.tensor([light], device=device))[0, 0].cpu().numpy()
    # Rounded to the nearest level; single precision may tip a value that lies half way.
    assert np.abs(tinted - exact).max() <= 0.5 + 1e-3
    white = [channel for channel in range(3) if light[channel] == 1.0]
    assert (tinted[:, white] == np.arange(256)[:, None]).all()


def test_brighter_lamps_saturate(all_grey_levels, device):
    tinted = under_light(all_grey_levels, torch.full((1, 3), 4.0, device=device))[0, 0, :, 0].int()
    assert tinted[-1] == 255 and (tinted.diff() >= 0).all()


def test_each_environment_has_its_own_lamps(rng, device):
    pictures = torch.as_tensor(rng.integers(0, 256, (3, 8, 8, 3), dtype=np.uint8), device=device)
    lights = torch.tensor([(1.0, 1.0, 1.0), RED_LIGHT, (0.2, 0.4, 0.6)], device=device)
    together = under_light(pictures, lights)
    for env in range(3):
        assert torch.equal(together[env : env + 1], under_light(pictures[env : env + 1], lights[env : env + 1]))
    assert torch.equal(together[0], pictures[0]) and not torch.equal(together[1], pictures[1])
