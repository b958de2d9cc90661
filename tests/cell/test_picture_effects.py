"""Sensor effects: noise as set, shading and tone curve by their formulas."""

import dataclasses

import numpy as np
import pytest

from r2s2r.cell.picture_effects import PictureEffects
from r2s2r.contracts.errors import ConfigError

CLEAN = PictureEffects(
    exposure_s=0.0,
    readout_s=0.0,
    gain=1.0,
    white_balance=(1.0, 1.0, 1.0),
    vignetting=0.0,
    full_well=1e15,
    read_noise=0.0,
    tone_power=1.0,
    tone_toe=0.0,
)
"""A camera without effects: grey values are 255 times the light."""


@pytest.mark.parametrize("level", [0.0, 0.02, 0.2, 0.8])
def test_noise_has_the_deviation_of_shot_and_read_noise(level):
    effects = dataclasses.replace(CLEAN, full_well=8000.0, read_noise=6.0)
    light = np.full((200, 200, 3), level, dtype=np.float32)
    noise = effects.noisy(light, np.random.default_rng(1)) - light
    expected = np.sqrt(level / 8000.0 + (6.0 / 8000.0) ** 2)
    count = noise.size
    assert noise.std() == pytest.approx(expected, rel=5.0 / np.sqrt(2.0 * count))
    assert abs(noise.mean()) < 5.0 * expected / np.sqrt(count)
    colours = noise.reshape(-1, 3)
    assert np.abs(np.corrcoef(colours.T) - np.eye(3)).max() < 5.0 / np.sqrt(len(colours))


def test_corners_lose_what_vignetting_says_and_colours_what_the_balance_says():
    effects = dataclasses.replace(CLEAN, vignetting=0.3, gain=0.5, white_balance=(1.1, 1.0, 0.9))
    light = effects.light(np.ones((31, 41, 3), dtype=np.float32))
    assert np.allclose(light[15, 20], (0.55, 0.5, 0.45), rtol=1e-6)
    assert np.allclose(light[[0, 0, -1, -1], [0, -1, 0, -1]], 0.7 * light[15, 20], rtol=1e-6)
    assert np.allclose(light[15, 0], light[15, 20] * (1.0 - 0.3 * 20.0**2 / (15.0**2 + 20.0**2)), rtol=1e-6)


def test_tone_curve_rises_from_black_to_white():
    effects = PictureEffects.draw(np.random.default_rng(3))
    light = np.linspace(-0.1, 1.1, 500)
    grey = effects.tone(light)
    assert (np.diff(grey)[(light[1:] > 0.0) & (light[:-1] < 1.0)] > 0.0).all()
    assert np.allclose(effects.tone(np.array([-1.0, 0.0, 1.0, 2.0])), [0.0, 0.0, 255.0, 255.0])


def test_pictures_are_the_rounded_tone_curve():
    effects = dataclasses.replace(PictureEffects.draw(np.random.default_rng(3)), full_well=1e15, read_noise=0.0)
    radiance = np.random.default_rng(4).uniform(0.0, 1.2, (20, 30, 3)).astype(np.float32)
    picture = effects.apply(radiance, np.random.default_rng(5))
    assert picture.dtype == np.uint8
    # A step of the table is below 0.1 grey values.
    assert np.abs(picture - effects.tone(effects.light(radiance))).max() < 0.5 + 0.1


def test_without_effects_light_is_grey_value():
    radiance = np.linspace(0.0, 1.0, 3 * 256, dtype=np.float32).reshape(16, 16, 3)
    assert np.abs(CLEAN.apply(radiance, np.random.default_rng(0)) - 255.0 * radiance).max() < 0.51


def test_the_same_generator_gives_the_same_picture():
    effects = PictureEffects.draw(np.random.default_rng(6))
    radiance = np.full((10, 10, 3), 0.4, dtype=np.float32)
    first, again, other = (effects.apply(radiance, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_drawn_cameras_keep_to_their_ranges_and_leave_paper_below_white():
    for seed in range(50):
        effects = PictureEffects.draw(np.random.default_rng(seed))
        assert 0.002 <= effects.exposure_s <= 0.008
        assert 0.015 <= effects.readout_s <= 0.025
        paper = effects.light(np.full((3, 3, 3), 0.85, dtype=np.float32))
        assert paper.max() < 1.0


@pytest.mark.parametrize(
    ("field", "value"), [("exposure_s", -1.0), ("gain", 0.0), ("white_balance", (1.0, 1.0)), ("tone_power", 2.0)]
)
def test_values_that_no_camera_has_are_refused(field, value):
    with pytest.raises(ConfigError, match=f"PictureEffects.{field}: received"):
        dataclasses.replace(CLEAN, **{field: value})
