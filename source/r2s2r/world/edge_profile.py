"""An edge between ink and paper as a camera shows it: lens, pixel, tone curve. See :mod:`r2s2r.world.blur`."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

LOCAL = 7
"""Numbers of one edge: place, slant, bend; low, high, falloff of both along the edge."""


@dataclass
class Edge:
    """Samples of one edge."""

    picture: int
    grey: np.ndarray
    """(n,) grey values."""
    distance: np.ndarray
    """(n,) from the edge, positive on paper [px]."""
    along: np.ndarray
    """(n,) place along the edge, -1 to 1."""
    normal: np.ndarray
    """(2,) absolute components of the edge's normal: widths of the pixel's box."""
    local: np.ndarray
    """(7,) see LOCAL."""


def predicted(edge: Edge, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return grey values (n,) and their derivatives by the edge's own (n, 7) and the shared numbers (n, 3)."""
    sigma, exponent, foot = shared[0], shared[1], np.exp(shared[2])
    shift, slant, bend, low, high, low_falloff, high_falloff = edge.local
    t = edge.along
    apart = edge.distance - shift - slant * t - bend * (1.0 - t**2)
    light, slope, softer = edge_spread(apart, sigma, edge.normal)
    tone, tone_slope = _tone(light, exponent, foot)
    bottom, top = low + low_falloff * t, high + high_falloff * t
    rise = top - bottom
    moved = -rise * tone_slope * slope
    own = np.stack([moved, moved * t, moved * (1.0 - t**2), 1.0 - tone, tone, (1.0 - tone) * t, tone * t], axis=-1)
    by_exponent = (_tone(light, exponent + 1e-4, foot)[0] - tone) / 1e-4
    by_foot = (_tone(light, exponent, foot * np.exp(1e-4))[0] - tone) / 1e-4
    common = rise[:, None] * np.stack([tone_slope * softer, by_exponent, by_foot], axis=-1)
    return bottom + rise * tone, own, common


def _tone(light: np.ndarray, exponent: float, foot: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the toned light in 0..1 and its slope."""
    span = (1.0 + foot) ** exponent - foot**exponent
    base = np.clip(light, 0.0, 1.0) + foot
    return (base**exponent - foot**exponent) / span, exponent * base ** (exponent - 1.0) / span


def edge_spread(apart: np.ndarray, sigma: float, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the light (n,) at distances from an edge, its slope, and its derivative by sigma.

    The pixel's square, projected on the edge's normal, is the convolution of boxes as wide as the normal's components.
    With H the second integral of the normal distribution function, boxes are second differences of H.
    """
    a, b = np.maximum(normal, 1e-3)
    light, slope, softer = np.zeros_like(apart), np.zeros_like(apart), np.zeros_like(apart)
    for weight, at in ((1, a + b), (-1, a - b), (-1, b - a), (1, -a - b)):
        x = (apart + 0.5 * at) / sigma
        density, below = np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi), ndtr(x)
        light += weight * 0.5 * sigma**2 * ((x**2 + 1.0) * below + x * density)
        slope += weight * sigma * (x * below + density)
        softer += weight * sigma * below
    return light / (a * b), slope / (a * b), softer / (a * b)
