"""Paints of the objects in one virtual cell: what a team happens to have on its shelf."""

import colorsys
from dataclasses import dataclass

import numpy as np

from r2s2r.cell.draws import stream
from r2s2r.contracts.objects import known_shapes
from r2s2r.contracts.trials import BeltObject
from r2s2r.contracts.world import OBJECT_CLASSES

PAINTS = 4
"""Different paints of each class, and of objects that no demonstration shows."""

HUE_SPREAD = 0.10
"""Hues of one group lie within this share of the circle to either side of the group's own."""

FADING = 0.1
"""By this share an object is paler or darker than its paint."""

Colour = tuple[float, float, float]

_GROUPS = (*OBJECT_CLASSES, "novel")


@dataclass(frozen=True)
class Palette:
    """Paints by group, sRGB 0 to 1.

    Boxes and tins are sold in different colours, so that those of the two classes lie on opposite sides of the circle
    of hues, turned at random. Novel objects of both classes have the hues in between: their colour says nothing about
    their class. Simulated objects have any colour.
    """

    paints: dict[str, tuple[Colour, ...]]
    """PAINTS colours for each class and for "novel"."""

    @classmethod
    def draw(cls, seed: int) -> "Palette":
        """Return the paints of the hidden world `seed`."""
        rng = stream(seed, "palette")
        middle = rng.uniform()
        own = dict(zip(_GROUPS, (middle, middle + 0.5, middle + 0.25), strict=True))
        paints = {}
        for group, hue in own.items():
            hues = hue + HUE_SPREAD * rng.uniform(-1.0, 1.0, PAINTS)
            if group == "novel":
                hues[1::2] += 0.5  # from both gaps between the classes
            rest = rng.uniform((0.45, 0.65), (0.75, 0.95), (PAINTS, 2))
            paints[group] = tuple(colorsys.hsv_to_rgb(h % 1.0, s, v) for h, (s, v) in zip(hues, rest, strict=True))
        return cls(paints)

    def colour(self, item: BeltObject) -> Colour:
        """Return the colour of an object, sRGB 0 to 1."""
        known = any(item.shape in shapes for shapes in known_shapes())
        paints = self.paints[item.object_class if known else "novel"]
        chosen = np.array(paints[min(int(item.paint[0] * PAINTS), PAINTS - 1)])
        red, green, blue = np.clip(chosen * (1.0 + FADING * (2.0 * item.paint[1] - 1.0)), 0.0, 1.0).tolist()
        return red, green, blue
