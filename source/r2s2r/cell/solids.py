"""Turned solids as triangles: regular polygons stacked along z, as the objects of a trial have them."""

import numpy as np

from r2s2r.contracts.objects import ObjectShape


def turned_mesh(shape: ObjectShape) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) [m] and outward triangles (m, 3) int32 of a turned solid, its origin half way up.

    The first corner of each polygon lies half a side's angle from x, so that a solid with four sides has them across x
    and y. Profiles are convex, so that the solid is the hull of its vertices.
    """
    sides, profile = shape.sides, np.array(shape.profile)
    angle = 2.0 * np.pi * (np.arange(sides) + 0.5) / sides
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    heights = profile[:, 1] - 0.5 * (profile[0, 1] + profile[-1, 1])
    rings = [
        np.column_stack([radius * circle, np.full(sides, z)]) for radius, z in zip(profile[:, 0], heights, strict=True)
    ]
    middles = [[0.0, 0.0, heights[0]], [0.0, 0.0, heights[-1]]]
    here = np.arange(sides)
    after, count = (here + 1) % sides, sides * len(profile)
    triangles = [np.column_stack([np.full(sides, count), after, here])]
    for low in range(0, count - sides, sides):
        a, b, c, d = low + here, low + after, low + sides + after, low + sides + here
        triangles += [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    top = count - sides
    triangles.append(np.column_stack([np.full(sides, count + 1), top + here, top + after]))
    return np.concatenate([*rings, middles]), np.concatenate(triangles).astype(np.int32)
