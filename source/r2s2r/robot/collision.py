"""Collision shapes of an arm: boxes in place of dense meshes."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import trimesh

from r2s2r.contracts.errors import RobotDescriptionError
from r2s2r.robot.urdf import format_numbers, origin_matrix, parse_numbers

CUTS = 31
"""Places tried along each axis when a shape is cut in two."""

WORTH_A_SECOND_BOX = 0.75
"""Two boxes are used where they fill at most this share of the volume of one."""


def replace_meshes_by_boxes(root: ET.Element, sources: dict[str, Path]) -> None:
    """Replace each collision mesh of `root` by :func:`enclosing_boxes`, in place.

    Boxes are what the physics engines collide fastest and most reliably. Other shapes stay as they are.

    Args:
        root: `<robot>` element.
        sources: file of each mesh name; meshes of other names stay.
    """
    for link in root.findall("link"):
        for collision in link.findall("collision"):
            mesh = collision.find("geometry/mesh")
            if mesh is None or mesh.get("filename") not in sources:
                continue
            link.remove(collision)
            triangles = _load(sources[mesh.get("filename", "")])
            vertices = triangles.vertices * np.array(parse_numbers(mesh.get("scale", "1 1 1")))
            for centre, size in enclosing_boxes(vertices, triangles.edges_unique):
                link.append(_box(collision, centre, size))


def enclosing_boxes(vertices: np.ndarray, edges: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return one or two boxes along the axes that enclose a mesh, each as middle (3,) and size (3,) [m].

    A robot link is often an elbow, of which one box fills three times the volume. The mesh is therefore cut by a plane
    across an axis, where the two boxes together are smallest; every triangle stays inside them.

    Args:
        vertices: (V, 3) [m].
        edges: (E, 2) indices of the vertices of each edge.
    """
    whole = [_bounds(vertices)]
    best, best_volume = whole, WORTH_A_SECOND_BOX * _volume(whole)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    for axis in np.flatnonzero(high > low):
        for cut in np.linspace(low[axis], high[axis], CUTS + 2)[1:-1]:
            halves = [_bounds(half) for half in _cut(vertices, edges, axis, cut)]
            if _volume(halves) < best_volume:
                best, best_volume = halves, _volume(halves)
    return [(0.5 * (low + high), high - low) for low, high in best]


def _load(path: Path) -> trimesh.Trimesh:
    """Return the triangles of a mesh file in one piece, in its own units."""
    try:
        mesh = trimesh.load_mesh(path)
    except Exception as error:  # each of trimesh's readers raises its own
        raise RobotDescriptionError(f"mesh {str(path)!r} is damaged or no mesh: {error}") from error
    if len(mesh.vertices) == 0:
        raise RobotDescriptionError(f"mesh {str(path)!r} is empty")
    return mesh


def _box(collision: ET.Element, centre: np.ndarray, size: np.ndarray) -> ET.Element:
    """Return a collision box with `centre` (3,) and axes given in the frame of `collision`."""
    frame, origin = origin_matrix(collision), collision.find("origin")
    middle = frame[:3, :3] @ centre + frame[:3, 3]
    box = ET.Element("collision")
    rpy = "0 0 0" if origin is None else origin.get("rpy", "0 0 0")
    ET.SubElement(box, "origin", {"xyz": format_numbers(middle), "rpy": rpy})
    ET.SubElement(ET.SubElement(box, "geometry"), "box", {"size": format_numbers(size)})
    return box


def _cut(vertices: np.ndarray, edges: np.ndarray, axis: int, cut: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices on either side of the plane, each with the points where edges cross it."""
    side = vertices[:, axis] > cut
    ends = vertices[edges[side[edges[:, 0]] != side[edges[:, 1]]]]  # (C, 2, 3)
    along = (cut - ends[:, 0, axis]) / (ends[:, 1, axis] - ends[:, 0, axis])
    crossing = ends[:, 0] + along[:, None] * (ends[:, 1] - ends[:, 0])
    return np.concatenate([vertices[~side], crossing]), np.concatenate([vertices[side], crossing])


def _bounds(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return points.min(axis=0), points.max(axis=0)


def _volume(boxes: list[tuple[np.ndarray, np.ndarray]]) -> float:
    return float(sum(np.prod(high - low) for low, high in boxes))
