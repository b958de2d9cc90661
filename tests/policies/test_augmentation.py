"""What augmentation leaves alone, and that what it changes is what was asked for."""

import pytest
import torch
from torchvision.transforms import functional as peer

from r2s2r_policies.augmentation import augmented, recoloured, shifted


def _pictures(count: int = 3, size: int = 16) -> torch.Tensor:
    return torch.rand(count, 3, size, size, generator=torch.Generator().manual_seed(0))


def test_switched_off_it_is_the_identity() -> None:
    pictures = _pictures()
    assert augmented(pictures, 0, 0.0, 0.0, torch.Generator()) is pictures


def test_shift_moves_content_by_whole_pixels_and_repeats_the_border() -> None:
    pictures = _pictures()
    moved = shifted(pictures, torch.tensor([[0, 0], [2, -1], [-2, 2]]), 2)
    assert torch.equal(moved[0], pictures[0])
    assert torch.equal(moved[1, :, :-2, 1:], pictures[1, :, 2:, :-1])
    assert torch.equal(moved[1, :, -2:, 1:], pictures[1, :, -1:, :-1].expand(-1, 2, -1))
    assert torch.equal(moved[2, :, 2:, :-2], pictures[2, :, :-2, 2:])


def test_factors_of_1_change_no_colour() -> None:
    pictures = _pictures()
    one = torch.ones(3)
    assert torch.allclose(recoloured(pictures, one, one, one, torch.ones(3, 3)), pictures, atol=1e-6)


def test_colours_change_as_in_torchvision() -> None:
    # Kept within 0..1 throughout, as torchvision clips after each change and here only the result is clipped.
    pictures = 0.3 + 0.3 * _pictures()
    one = torch.ones(3)
    factors = torch.tensor([0.7, 1.0, 1.3])
    gains = torch.ones(3, 3)
    for index, factor in enumerate(factors.tolist()):
        brighter = recoloured(pictures, factors, one, one, gains)[index]
        assert torch.allclose(brighter, peer.adjust_brightness(pictures[index], factor), atol=1e-5)
        contrast = recoloured(pictures, one, factors, one, gains)[index]
        assert torch.allclose(contrast, peer.adjust_contrast(pictures[index], factor), atol=1e-3)
        saturated = recoloured(pictures, one, one, factors, gains)[index]
        assert torch.allclose(saturated, peer.adjust_saturation(pictures[index], factor), atol=1e-3)


def test_gains_are_those_of_a_coloured_lamp() -> None:
    pictures = _pictures()
    one = torch.ones(3)
    red = recoloured(pictures, one, one, one, torch.tensor([[1.0, 0.5, 0.0]]).expand(3, 3))
    assert torch.allclose(red, pictures * torch.tensor([1.0, 0.5, 0.0])[:, None, None], atol=1e-6)


def test_same_generator_same_pictures_within_bounds() -> None:
    pictures = _pictures(8)
    first, second, other = (augmented(pictures, 2, 0.3, 0.2, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert float(first.min()) >= 0.0 and float(first.max()) <= 1.0
    assert first.shape == pictures.shape


@pytest.mark.parametrize("crop_px", [1, 3])
def test_every_shift_within_reach_occurs(crop_px: int) -> None:
    ramp = torch.arange(16.0).repeat(16, 1)
    pictures = torch.stack((ramp.T, ramp, 0 * ramp)).repeat(400, 1, 1, 1)
    moved = augmented(pictures, crop_px, 0.0, 0.0, torch.Generator().manual_seed(0))
    offsets = {tuple(offset) for offset in (moved[:, :2, 8, 8] - 8).int().tolist()}
    assert offsets == {(r, c) for r in range(-crop_px, crop_px + 1) for c in range(-crop_px, crop_px + 1)}
