"""What surfaces in the virtual cell look like: procedural prints on one texture, drawn from the cell's seed.

No picture file is needed, and nothing looks like the materials of the simulated data.
"""

from dataclasses import dataclass

import cv2
import numpy as np

TEXTURE_SIZE = 2048
"""Edge of the texture [px]."""

PRINTS = {
    "table": (0, 0, 1024, 1024),
    "wall": (1024, 0, 512, 512),
    "floor": (1536, 0, 512, 512),
    "belt": (1024, 512, 512, 512),
    "steel": (1536, 512, 512, 512),
    "cabinet": (0, 1024, 512, 512),
}
"""Place of each print: column, row, width, height [px]."""

PLAIN = {
    "ink": (26, 26, 28),
    "paper": (232, 231, 226),
    "bin_box": (44, 84, 140),
    "bin_round": (178, 92, 36),
    "block": (196, 178, 136),
    "cube": (150, 152, 158),
    "profile": (168, 172, 176),
    "housing": (216, 150, 34),
    "dark": (48, 50, 54),
}
"""Surfaces of one colour, sRGB: laser-printer ink reflects 1 %, paper 80 %."""

_PLAIN_ROW, _PLAIN_EDGE = 1600, 32


@dataclass(frozen=True)
class Region:
    """A rectangle of the texture, in coordinates from 0 to 1 with v upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def corners(self) -> np.ndarray:
        """Coordinates (4, 2) of lower left, lower right, upper right, upper left."""
        return np.array(
            [[self.left, self.bottom], [self.right, self.bottom], [self.right, self.top], [self.left, self.top]]
        )


def region(name: str) -> Region:
    """Return where on the texture the surface `name` of PRINTS or PLAIN lies."""
    if name in PLAIN:
        # A single point in the middle of a plain patch: no filter can mix colours, edges stay where geometry has them.
        u = (list(PLAIN).index(name) + 0.5) * _PLAIN_EDGE / TEXTURE_SIZE
        v = 1.0 - (_PLAIN_ROW + 0.5 * _PLAIN_EDGE) / TEXTURE_SIZE
        return Region(u, v, u, v)
    column, row, width, height = PRINTS[name]
    # Half a pixel inside, so that the filter does not reach the neighbour.
    left, right = (column + 0.5) / TEXTURE_SIZE, (column + width - 0.5) / TEXTURE_SIZE
    return Region(left, 1.0 - (row + height - 0.5) / TEXTURE_SIZE, right, 1.0 - (row + 0.5) / TEXTURE_SIZE)


def draw_texture(rng: np.random.Generator) -> np.ndarray:
    """Return the texture (2048, 2048, 4) uint8 of one cell: sRGB, and opaque."""
    texture = np.full((TEXTURE_SIZE, TEXTURE_SIZE, 4), 255, dtype=np.uint8)
    for name, (column, row, width, height) in PRINTS.items():
        print_ = np.clip(_DRAW[name](rng, height, width), 0.0, 255.0)
        texture[row : row + height, column : column + width, :3] = np.rint(print_).astype(np.uint8)
    for i, colour in enumerate(PLAIN.values()):
        rows = slice(_PLAIN_ROW, _PLAIN_ROW + _PLAIN_EDGE)
        texture[rows, i * _PLAIN_EDGE : (i + 1) * _PLAIN_EDGE, :3] = colour
    return texture


def _noise(rng: np.random.Generator, height: int, width: int, cells: tuple[int, ...], stretch: int = 1) -> np.ndarray:
    """Return smooth noise (height, width) of deviation about one: octaves of `cells` per picture width."""
    total = np.zeros((height, width), dtype=np.float32)
    for octave, count in enumerate(cells):
        coarse = rng.standard_normal((count, max(2, count // stretch))).astype(np.float32)
        total += cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC) / (1.0 + octave)
    return total / max(float(total.std()), 1e-6)


def _coloured(colour: tuple[float, ...], shade: np.ndarray) -> np.ndarray:
    return np.array(colour, dtype=np.float32) * (1.0 + shade[..., None])


def _table(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Birch plywood: grain along the width, stains, the light's pool."""
    grain = 0.035 * _noise(rng, height, width, (120, 260, 512), stretch=24)
    stains = 0.04 * _noise(rng, height, width, (4, 9, 20))
    colour = np.array([186.0, 160.0, 124.0]) * rng.uniform(0.9, 1.06, 3)
    return _coloured(tuple(colour), grain + stains)


def _wall(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Painted wall with a darker skirting band, a notice board and a window's light."""
    wall = _coloured((176.0, 184.0, 182.0), 0.02 * _noise(rng, height, width, (3, 8, 64, 256)))
    wall[int(0.8 * height) :] *= 0.6
    for _ in range(5):
        row, column = int(rng.uniform(0.15, 0.55) * height), int(rng.uniform(0.05, 0.8) * width)
        size = (int(rng.uniform(0.08, 0.2) * height), int(rng.uniform(0.06, 0.16) * width))
        wall[row : row + size[0], column : column + size[1]] = rng.uniform(50.0, 240.0, 3)
    return wall


def _floor(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Concrete with joints."""
    floor = _coloured((122.0, 122.0, 118.0), 0.07 * _noise(rng, height, width, (6, 20, 90, 300)))
    floor[:: height // 4] *= 0.7
    floor[:, :: width // 4] *= 0.7
    return floor


def _belt(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Woven rubber with scuffs; one print is one period along the belt, so its ends meet."""
    rows, columns = np.mgrid[0:height, 0:width]
    weave = 0.06 * np.sign(np.sin(2.0 * np.pi * columns * 32 / width) * np.sin(2.0 * np.pi * rows * 32 / height))
    scuffs = _noise(rng, height, width, (5, 12, 40, 160))
    # Blended with its own shifted copy, the noise is periodic along the belt.
    weight = 0.5 - 0.5 * np.cos(2.0 * np.pi * columns / width)
    scuffs = weight * scuffs + (1.0 - weight) * np.roll(scuffs, width // 2, axis=1)
    return _coloured((52.0, 66.0, 58.0), weave + 0.12 * scuffs)


def _steel(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Brushed along the width."""
    brushed = 0.04 * _noise(rng, height, width, (100, 250, 512), stretch=40)
    return _coloured((158.0, 162.0, 166.0), brushed + 0.03 * _noise(rng, height, width, (3, 7)))


def _cabinet(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Doors with handles and vents."""
    front = _coloured((92.0, 108.0, 122.0), 0.02 * _noise(rng, height, width, (4, 30, 200)))
    front[:, width // 2 - 2 : width // 2 + 2] *= 0.3
    front[height // 3 : height // 2, width // 2 - 40 : width // 2 - 24] = (30.0, 30.0, 32.0)
    front[-height // 5 : -height // 12 : 8] *= 0.5
    return front


_DRAW = {
    "table": _table,
    "wall": _wall,
    "floor": _floor,
    "belt": _belt,
    "steel": _steel,
    "cabinet": _cabinet,
}
