"""What a user prints and fixes in the cell so that cameras can measure it: AprilTags in rigid groups.

A tag's frame lies in its middle: x to the right of the print, y up, z out of the print. Its corners are counted from
the lower left counter-clockwise, seen from the front.
"""

import math
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import matrix_from_quat, quat_exp

TAG_FAMILY = "tag36h11"
"""Family of all tags; its size is the edge of the black square."""

MAX_TAG_ID = 586
"""Largest id of the family."""

CORNER_SIGNS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
"""Corners (4, 2) in half edges: lower left, lower right, upper right, upper left."""


@dataclass(frozen=True)
class TagGroup:
    """Tags on one rigid thing, in that thing's frame.

    Raises:
        ConfigError: an id is outside the family or given twice, or sizes do not fit together.
    """

    name: str
    """What carries the tags."""
    tag_size: float
    """Edge of the black square [m]."""
    ids: tuple[int, ...]
    """One for each tag (K)."""
    pos: tuple[tuple[float, ...], ...]
    """Middle of each tag (K, 3) [m]."""
    quat: tuple[tuple[float, ...], ...]
    """Orientation of each tag (K, 4) xyzw."""

    def __post_init__(self):
        set_number(self, "tag_size", 1e-3, 10.0)
        if len(set(self.ids)) != len(self.ids) or not all(0 <= i <= MAX_TAG_ID for i in self.ids):
            raise ConfigError(f"tag group {self.name!r}: ids {self.ids}, allowed are 0 to {MAX_TAG_ID}, each once")
        object.__setattr__(self, "ids", tuple(self.ids))
        for name, width in (("pos", 3), ("quat", 4)):
            if np.shape(getattr(self, name)) != (len(self.ids), width):
                raise ConfigError(
                    f"tag group {self.name!r}: {name} has shape {np.shape(getattr(self, name))}, "
                    f"allowed is ({len(self.ids)}, {width})"
                )
            object.__setattr__(self, name, tuple(map(tuple, getattr(self, name))))

    def corners(self, tag_id: int) -> np.ndarray:
        """Return the corners of one tag in the group's frame (4, 3) [m].

        Raises:
            ConfigError: the group has no such tag.
        """
        if tag_id not in self.ids:
            raise ConfigError(f"tag group {self.name!r}: no tag {tag_id}; it has {self.ids}")
        k = self.ids.index(tag_id)
        corners = np.zeros((4, 3))
        corners[:, :2] = 0.5 * self.tag_size * CORNER_SIGNS
        return corners @ matrix_from_quat(np.array(self.quat[k])).T + np.array(self.pos[k])


@dataclass(frozen=True)
class CalibrationTargets:
    """All tag groups of the cell's calibration. No id occurs twice.

    Raises:
        ConfigError: an id belongs to two groups.
    """

    board: TagGroup
    """A printed board that lies anywhere within reach; its pose is not known beforehand."""
    table: TagGroup
    """Tags on the levelled table top, surveyed in the world frame `w`, whose origin is the robot base's."""
    belt: TagGroup
    """Tags on the belt's rails, in the belt frame (from the maker's drawing)."""
    flange: TagGroup
    """Tags on the sides of a cube that is screwed to the flange somewhere; its pose is not known beforehand."""
    item: TagGroup
    """One tag on top of a block that rides the belt; the frame is the block's, origin in its middle."""

    def __post_init__(self):
        ids = [i for group in self.groups for i in group.ids]
        twice = sorted({i for i in ids if ids.count(i) > 1})
        if twice:
            raise ConfigError(f"calibration targets: tag ids {twice} belong to two groups; each id is allowed once")

    @property
    def groups(self) -> tuple[TagGroup, ...]:
        """All groups."""
        return (self.board, self.table, self.belt, self.flange, self.item)

    def group_of(self, tag_id: int) -> TagGroup | None:
        """Return the group that has a tag, None if there is none."""
        return next((group for group in self.groups if tag_id in group.ids), None)


ITEM_SIZE = (0.06, 0.06, 0.04)
"""Length, width, height of the block that rides the belt [m]."""

FLANGE_CUBE_EDGE = 0.056
"""Edge of the cube on the flange [m]."""

BOARD_POS_B = (0.50, 0.0, 0.13)
"""Where the calibration routine expects the board's middle in the robot base [m], give or take some centimetres."""

BOARD_QUAT_B = (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))
"""Its orientation xyzw, give or take ten degrees: flat above the belt, the long side across, or it would lie over table
tags."""


def default_targets() -> CalibrationTargets:
    """Return the layout that `r2s2r record calibration` expects: board 7 x 5, six by the base, eight by the belt."""
    upright = (0.0, 0.0, 0.0, 1.0)
    board_pos = tuple((0.06 * (c - 3), 0.06 * (r - 2), 0.0) for r in range(5) for c in range(7))
    # As far from the belt as base and reach allow: its rails hide the table beside them, and throw shadows on it.
    table_pos = tuple((x, y, 0.0) for x in (0.22, 0.78) for y in (-0.24, 0.0, 0.24))
    belt_pos = tuple((x, y, 0.0) for x in (-0.48, -0.34, 0.34, 0.48) for y in (-0.155, 0.155))
    half = 0.5 * FLANGE_CUBE_EDGE
    faces = {  # outward normal of a face: rotation vector that turns z there
        (0.0, 0.0, -1.0): (math.pi, 0.0, 0.0),
        (-1.0, 0.0, 0.0): (0.0, -0.5 * math.pi, 0.0),
        (0.0, 1.0, 0.0): (-0.5 * math.pi, 0.0, 0.0),
        (0.0, -1.0, 0.0): (0.5 * math.pi, 0.0, 0.0),
    }
    return CalibrationTargets(
        board=TagGroup("board", 0.048, tuple(range(35)), board_pos, (upright,) * 35),
        table=TagGroup("table", 0.060, tuple(range(100, 106)), table_pos, (upright,) * 6),
        belt=TagGroup("belt", 0.050, tuple(range(200, 208)), belt_pos, (upright,) * 8),
        flange=TagGroup(
            "flange",
            0.044,
            tuple(range(300, 304)),
            tuple(tuple(half * x for x in normal) for normal in faces),
            tuple(tuple(quat_exp(np.array(turn))) for turn in faces.values()),
        ),
        item=TagGroup("item", 0.048, (400,), ((0.0, 0.0, 0.5 * ITEM_SIZE[2]),), (upright,)),
    )
