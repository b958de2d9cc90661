"""The things that ride on the belt: two classes, and other shapes that no demonstration has shown."""

from dataclasses import dataclass
from typing import Any

from r2s2r.contracts.errors import ConfigError

BOX_SIZES = (
    (0.050, 0.050, 0.070),
    (0.044, 0.044, 0.085),
    (0.056, 0.046, 0.065),
    (0.046, 0.058, 0.075),
    (0.052, 0.052, 0.060),
    (0.048, 0.048, 0.090),
)
"""Full extents x, y, z [m] of the class *box*: cubes, slabs and towers that a 20 cm hand closes around."""

ROUND_SIZES = (
    (0.026, 0.070),
    (0.024, 0.085),
    (0.028, 0.065),
    (0.030, 0.075),
    (0.027, 0.060),
    (0.025, 0.090),
)
"""Radius and height [m] of the class *round*: tins and tubes, standing."""

NOVEL_PAIRS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (
        {"name": "hexagon", "sides": 6, "profile": ((0.030, 0.0), (0.030, 0.075))},
        {"name": "cup", "sides": 24, "profile": ((0.022, 0.0), (0.031, 0.080))},
    ),
    (
        {"name": "wedge", "sides": 3, "profile": ((0.036, 0.0), (0.036, 0.070))},
        {"name": "barrel", "sides": 24, "profile": ((0.023, 0.0), (0.030, 0.025), (0.030, 0.045), (0.023, 0.070))},
    ),
    (
        {"name": "pyramid", "sides": 4, "profile": ((0.042, 0.0), (0.028, 0.080))},
        {"name": "cone", "sides": 24, "profile": ((0.032, 0.0), (0.018, 0.085))},
    ),
)
"""Shapes that no demonstration shows, a flat-sided one (class *box*) and a round one (class *round*) each.
Circumradius and height in the profile [m]."""

OBJECT_MASS = (0.06, 0.14)
"""Range of the objects' mass [kg]: empty packages to small full ones."""

OBJECT_FRICTION = (1.0, 1.4)
"""Range of the objects' sliding friction. The solver takes the larger value of two bodies, and hand and belt have 1.0:
less than that would change nothing."""


@dataclass(frozen=True)
class ObjectShape:
    """A solid with its origin in the middle of its extents, z up.

    Raises:
        ConfigError: the kind is unknown, or a size is not positive.
    """

    name: str
    """Kind in tables and files: cuboid, cylinder, or the name of a turned solid."""
    extents: tuple[float, float, float]
    """Full extents x, y, z [m]; those of a turned solid are of the circle around it."""
    sides: int = 0
    """Sides of a turned solid; 0: a cuboid or a smooth cylinder."""
    profile: tuple[tuple[float, float], ...] = ()
    """Circumradius and height above the bottom of a turned solid (n, 2) [m]."""

    def __post_init__(self):
        if (self.sides == 0) != (self.name in ("cuboid", "cylinder")) or (self.sides > 0) != bool(self.profile):
            raise ConfigError(f"object shape {self.name}: cuboid and cylinder have no sides and profile, others both")
        if not min(self.extents) > 0.0:
            raise ConfigError(f"object shape {self.name}: extents are {self.extents}, allowed are lengths above 0")

    @classmethod
    def turned(cls, name: str, sides: int, profile: tuple[tuple[float, float], ...]) -> "ObjectShape":
        """Return a regular prism or solid of revolution."""
        widest = 2.0 * max(radius for radius, _ in profile)
        return cls(name, (widest, widest, profile[-1][1] - profile[0][1]), sides, profile)

    def __str__(self) -> str:
        """Return a short name for tables and files: `cuboid 50x50x70 mm`."""
        return f"{self.name} {'x'.join(f'{1000 * value:.0f}' for value in self.extents)} mm"


def known_shapes() -> tuple[tuple[ObjectShape, ...], tuple[ObjectShape, ...]]:
    """Return the shapes of the classes box and round that demonstrations show."""
    boxes = tuple(ObjectShape("cuboid", size) for size in BOX_SIZES)
    return boxes, tuple(ObjectShape("cylinder", (2 * r, 2 * r, height)) for r, height in ROUND_SIZES)


def novel_shapes(pair: int) -> tuple[tuple[ObjectShape, ...], tuple[ObjectShape, ...]]:
    """Return the shapes of the classes box and round of one pair of NOVEL_PAIRS."""
    flat, turned = NOVEL_PAIRS[pair]
    return (ObjectShape.turned(**flat),), (ObjectShape.turned(**turned),)
