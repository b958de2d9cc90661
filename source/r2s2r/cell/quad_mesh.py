"""Rectangles with surfaces, put together to one mesh: prints, boxes, plates."""

import newton
import numpy as np

from r2s2r.cell.surfaces import region
from r2s2r.cell.tag_prints import module_corners, tag_bits
from r2s2r.contracts.targets import TagGroup
from r2s2r.contracts.transforms import pose, pose_apply

_FACES = {
    "+x": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "-x": ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0)),
    "+y": ((-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    "-y": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    "+z": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "-z": ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
}
"""Of each side of a box the directions right and up, seen from outside."""

_SIGNS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


class QuadMesh:
    """Collects rectangles; their corners are given in double precision and rounded once, at the end."""

    def __init__(self):
        """Begin without any."""
        self._corners: list[np.ndarray] = []
        self._uvs: list[np.ndarray] = []

    def add(self, corners: np.ndarray, surface: str) -> None:
        """Add rectangles (..., 4, 3) [m], counter-clockwise seen from the front, each with the whole of a surface."""
        corners = np.asarray(corners, dtype=float).reshape(-1, 4, 3)
        self._corners.append(corners)
        self._uvs.append(np.broadcast_to(region(surface).corners, (len(corners), 4, 2)))

    def add_plate(self, matrix: np.ndarray, size: tuple[float, float], surface: str) -> None:
        """Add a rectangle of `size` (x, y) [m] around the origin of the frame `matrix` (4, 4), seen from its z."""
        corners = np.zeros((4, 3))
        corners[:, :2] = 0.5 * _SIGNS * size
        self.add(pose_apply(matrix, corners), surface)

    def add_box(self, matrix: np.ndarray, size: tuple[float, float, float], surface: str, without: str = "") -> None:
        """Add a box of `size` [m] around the origin of `matrix` (4, 4), leaving out the sides named in `without`."""
        for name, (right, up) in _FACES.items():
            if name not in without.split():
                axes = np.stack([right, up, np.cross(right, up)])
                corners = 0.5 * (_SIGNS @ axes[:2] + axes[2]) * size
                self.add(pose_apply(matrix, corners), surface)

    def add_tags(self, matrix: np.ndarray, group: TagGroup) -> None:
        """Add the prints of a group whose frame is `matrix` (4, 4): exact squares of ink and paper."""
        modules = module_corners(group.tag_size)
        for tag_id, pos, quat in zip(group.ids, group.pos, group.quat, strict=True):
            placed = pose_apply(matrix @ pose(np.array(pos), np.array(quat)), modules)
            white = tag_bits(tag_id)
            self.add(placed[white], "paper")
            self.add(placed[~white], "ink")

    def build(self, texture: np.ndarray) -> newton.Mesh:
        """Return the mesh with its `texture`."""
        corners, uvs = np.concatenate(self._corners), np.concatenate(self._uvs)
        first = 4 * np.arange(len(corners))[:, None]
        indices = first + np.array([0, 1, 2, 0, 2, 3])
        return newton.Mesh(
            corners.reshape(-1, 3),
            indices.ravel(),
            uvs=uvs.reshape(-1, 2),
            texture=texture,
            compute_inertia=False,
        )
