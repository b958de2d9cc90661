"""Turned solids against closed forms: volume, extents, closed surfaces."""

import math

import mujoco
import numpy as np
import pytest

from r2s2r.cell.solids import turned_mesh
from r2s2r.contracts.objects import NOVEL_PAIRS, ObjectShape, novel_shapes

NOVEL = [shape for pair in range(len(NOVEL_PAIRS)) for shapes in novel_shapes(pair) for shape in shapes]


def _volume(shape: ObjectShape) -> float:
    """Return the volume of stacked frustums of regular polygons [m3]."""
    areas = [0.5 * shape.sides * radius**2 * math.sin(2.0 * math.pi / shape.sides) for radius, _ in shape.profile]
    heights = np.diff([height for _, height in shape.profile])
    pairs = zip(areas[:-1], areas[1:], heights, strict=True)
    return sum(h / 3.0 * (low + math.sqrt(low * high) + high) for low, high, h in pairs)


@pytest.mark.parametrize("shape", NOVEL, ids=str)
def test_solids_are_closed_convex_and_as_large_as_stated(shape):
    vertices, triangles = turned_mesh(shape)
    a, b, c = vertices[triangles].swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    assert np.einsum("ij,ij->", a, normals) / 6.0 == pytest.approx(_volume(shape), rel=1e-9)
    edges = np.concatenate([triangles[:, [i, (i + 1) % 3]] for i in range(3)]).tolist()
    assert sorted(edges) == sorted([end, begin] for begin, end in edges)  # each edge once each way
    above = np.einsum("ijk,ik->ij", vertices[None] - a[:, None], normals / np.linalg.norm(normals, axis=1)[:, None])
    assert above.max() < 1e-12
    assert vertices[:, 2].max() == pytest.approx(0.5 * shape.extents[2])
    assert vertices[:, 2].min() == pytest.approx(-0.5 * shape.extents[2])
    assert np.hypot(vertices[:, 0], vertices[:, 1]).max() == pytest.approx(0.5 * shape.extents[0])


@pytest.mark.parametrize("shape", NOVEL, ids=str)
def test_the_physics_fills_the_whole_solid(shape):
    vertices, triangles = turned_mesh(shape)
    spec = mujoco.MjSpec()
    spec.add_mesh(name="solid", uservert=vertices.ravel(), userface=triangles.ravel())
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="solid", density=1000.0)
    model = spec.compile()
    assert model.body_mass[1] == pytest.approx(1000.0 * _volume(shape), rel=1e-6)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    # MuJoCo moves a mesh to its centre of mass; the corners are where they were all the same.
    placed = model.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    assert np.abs(np.sort(placed[:, 2]) - np.sort(vertices[:, 2])).max() < 1e-6
