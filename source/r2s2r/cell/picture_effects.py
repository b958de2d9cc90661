"""What a colour camera does to light before a picture is a file: shutter, lens shading, noise, colours, tone curve."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from r2s2r.contracts.checks import set_number, set_vector

_TABLE = 1 << 15
"""Steps of the tone curve's table; its slope is below 12, so that a step is below 0.1 grey values."""


@dataclass(frozen=True)
class PictureEffects:
    """Effects of one camera that no World describes. Light is linear, 1 is where the sensor is full.

    Raises:
        ConfigError: a value is not allowed.
    """

    exposure_s: float
    """How long each row collects light [s]."""
    readout_s: float
    """From the first to the last row's exposure [s]; rows are exposed one after the other."""
    gain: float
    """Light of the sensor over light of the scene; white paper in full light is about 0.85 in the scene."""
    white_balance: tuple[float, ...]
    """Factors (3) of red, green, blue that are left after the camera's own balance."""
    vignetting: float
    """Loss of light in the corner farthest from the middle; it grows with the square of the distance."""
    full_well: float
    """Electrons of a full pixel: shot noise of a signal s has the deviation sqrt(s / full_well)."""
    read_noise: float
    """Standard deviation of reading a pixel [electrons]."""
    tone_power: float
    """Exponent of the tone curve; sRGB is near 0.45 (1 / 2.2)."""
    tone_toe: float
    """Light at which the curve leaves its straight foot."""

    def __post_init__(self):
        set_number(self, "exposure_s", 0.0, 1.0)
        set_number(self, "readout_s", 0.0, 1.0)
        set_number(self, "gain", 1e-3, 1e3)
        set_vector(self, "white_balance", 3, 0.1, 10.0)
        set_number(self, "vignetting", 0.0, 1.0)
        set_number(self, "full_well", 1.0, 1e15)
        set_number(self, "read_noise", 0.0, 1e6)
        set_number(self, "tone_power", 0.1, 1.0)
        set_number(self, "tone_toe", 0.0, 1.0)

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "PictureEffects":
        """Return a camera within what small industrial colour cameras do in a lit room.

        Exposure 2 to 8 ms and readout 15 to 25 ms (rolling shutter, 30 to 60 pictures a second); a full pixel of 6000
        to 12 000 electrons, read noise 3 to 8 (1/3 inch sensors at moderate gain); colours within 8 %; corners 10 to
        35 % darker; exposed so that white paper stays below full; tone curve around sRGB's, not equal to it.
        """
        return cls(
            exposure_s=rng.uniform(0.002, 0.008),
            readout_s=rng.uniform(0.015, 0.025),
            gain=rng.uniform(0.85, 1.02),
            white_balance=(rng.uniform(0.92, 1.08), 1.0, rng.uniform(0.92, 1.08)),
            vignetting=rng.uniform(0.10, 0.35),
            full_well=rng.uniform(6e3, 12e3),
            read_noise=rng.uniform(3.0, 8.0),
            tone_power=rng.uniform(0.42, 0.55),
            tone_toe=rng.uniform(0.004, 0.012),
        )

    def light(self, radiance: np.ndarray) -> np.ndarray:
        """Return the noise-free light (H, W, 3) float32 on the sensor of the scene's linear `radiance` (H, W, 3)."""
        height, width = radiance.shape[:2]
        y, x = (np.arange(size, dtype=np.float32) - 0.5 * (size - 1) for size in (height, width))
        distance = (y[:, None] ** 2 + x[None] ** 2) / max(y[0] ** 2 + x[0] ** 2, 1.0)
        factors = np.array(self.white_balance, dtype=np.float32) * np.float32(self.gain)
        return radiance * (1.0 - np.float32(self.vignetting) * distance)[..., None] * factors

    def noisy(self, light: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return `light` with shot and read noise; shot noise is taken as normal, which it is above 20 electrons."""
        variance = np.maximum(light, 0.0) / self.full_well + (self.read_noise / self.full_well) ** 2
        noise = rng.standard_normal(light.shape, dtype=np.float32)
        return light + noise * np.sqrt(variance, dtype=np.float32)

    def tone(self, light: np.ndarray) -> np.ndarray:
        """Return grey values 0 to 255 (not rounded) of `light`; what is above 1 is white."""
        power, toe = self.tone_power, self.tone_toe
        return 255.0 * ((np.clip(light, 0.0, 1.0) + toe) ** power - toe**power) / ((1.0 + toe) ** power - toe**power)

    def apply(self, radiance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the picture (H, W, 3) uint8 of linear `radiance` (H, W, 3)."""
        light = self.noisy(self.light(radiance), rng)
        return self._table[np.clip(light * (_TABLE - 1) + 0.5, 0.0, _TABLE - 1).astype(np.int32)]

    @cached_property
    def _table(self) -> np.ndarray:
        return np.rint(self.tone(np.arange(_TABLE) / (_TABLE - 1))).astype(np.uint8)
