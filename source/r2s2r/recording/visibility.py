"""Which tags each camera is expected to see from a posture of the arm, before anything is measured."""

import math
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.projection import project
from r2s2r.contracts.targets import BOARD_POS_B, BOARD_QUAT_B, FLANGE_CUBE_EDGE, CalibrationTargets, TagGroup
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse
from r2s2r.contracts.world import World
from r2s2r.control.robot_boxes import RobotBoxes, hides, robot_boxes
from r2s2r.robot.description import RobotDescription

OPEN_HAND = (
    *(0.10, -0.15, 0.0, 0.0),
    *(0.0, -0.15, 0.0, 0.0),
    *(-0.10, -0.15, 0.0, 0.0),
    *(1.22, 0.1, -0.15, -0.1),
)
"""Hand joints [rad] that hide least from the wrist camera: fingers straight and a little back, the thumb stretched out
as far from them as its collision box stays out of the palm's."""

CUBE_POS_FLANGE = (-0.12, 0.0, 0.0)
"""Where the cube with tags is expected on the flange [m], its axes along the flange's."""

_CAMERA_HALF = (0.02, 0.02, 0.02)
"""Half edges of the wrist camera's housing [m]."""

_BELT_HALF_WIDTH = 0.19
"""From the belt's middle to the outer side of a rail [m]: the tags on the rails end 0.18 m from it."""

_BOARD_MARGIN = 0.03
"""How far the board may lie from where it is expected, sideways and upwards [m]: what it then hides does not count."""

_LIFT = 0.002
"""How far a tag is lifted off what carries it when the line of sight is followed [m]."""


@dataclass(frozen=True)
class VisibilityCfg:
    """When a tag counts as visible.

    Raises:
        ConfigError: a value is out of range.
    """

    facing_limit: float = math.radians(65.0)
    """Largest angle between a tag's normal and the line of sight [rad]: its short side is then 0.42 of the long one."""
    axis_limit: float = math.radians(80.0)
    """Largest angle of a corner from a fisheye camera's axis [rad]: half of the data sheet's field."""
    border_px: float = 6.0
    """Distance of the corners to the picture's border [px]; a tag needs its white margin."""
    edge_px: float = 15.0
    """Shortest edge in the picture [px]: of tags with 13 px, 1.6 for a module, half were not read in a virtual cell."""

    def __post_init__(self):
        set_number(self, "facing_limit", 0.0, 0.5 * math.pi)
        set_number(self, "axis_limit", 0.0, math.pi)
        set_number(self, "border_px", 0.0, 1000.0)
        set_number(self, "edge_px", 0.0, 1000.0)


@dataclass(frozen=True)
class Views:
    """What is expected in the pictures of N postures; K tags that stand still, C tags on the flange."""

    wrist: np.ndarray
    """Tags in the wrist camera's picture (N, K) bool."""
    wrist_px: np.ndarray
    """Their corners (N, K, 4, 2) [px]; NaN where the tag is not visible."""
    wrist_angle: np.ndarray
    """Angle of each corner from the wrist camera's axis (N, K, 4) [rad]; NaN where the tag is not visible."""
    head: np.ndarray
    """Tags of the flange in the head camera's picture (N, C) bool."""
    head_px: np.ndarray
    """Their corners (N, C, 4, 2) [px]; NaN where the tag is not visible."""


class ExpectedCell:
    """The nominal cell with its tags: what a routine is planned in."""

    def __init__(
        self,
        description: RobotDescription,
        targets: CalibrationTargets,
        world: World | None = None,
        cfg: VisibilityCfg | None = None,
    ):
        """Place tags and obstacles.

        Args:
            description: the composed robot.
            targets: tags in the cell.
            world: where things stand; None for the nominal world.
            cfg: when a tag counts as visible; None for the defaults.
        """
        world = world or World.nominal()
        self.cfg = cfg or VisibilityCfg()
        self._wrist, self._poses = world.wrist_cameras, world.poses
        self.board_b = pose(np.array(BOARD_POS_B), np.array(BOARD_QUAT_B))
        self.flange_cam = pose(np.array(self._wrist.pos_flange), np.array(self._wrist.quat_flange))
        self.head_b = pose(np.array(self._poses.head_pos_b), np.array(self._poses.head_quat_b))
        level = pose_inverse(pose(np.zeros(3), np.array(self._poses.base_quat_w)))
        belt = pose(np.array(self._poses.belt_pos_b), np.array(self._poses.belt_quat_b))
        placed = ((targets.board, self.board_b), (targets.table, level), (targets.belt, belt))
        self._board_tags = len(targets.board.ids)
        self.ids = np.array([i for group, _ in placed for i in group.ids])
        self.corners_b = np.concatenate([pose_apply(matrix, _corners(group)) for group, matrix in placed])
        cube = np.eye(4)
        cube[:3, 3] = CUBE_POS_FLANGE
        self.flange_ids = np.array(targets.flange.ids)
        self._flange_corners = pose_apply(cube, _corners(targets.flange))
        robot = robot_boxes(description, np.array(OPEN_HAND)).with_box("cube", cube, np.full(3, 0.5 * FLANGE_CUBE_EDGE))
        self.robot: RobotBoxes = robot.with_box("wrist_camera", self.flange_cam, np.array(_CAMERA_HALF))
        self._obstacles, self._obstacle_half = _obstacles(belt, self._poses.belt_size[0], self.board_b, targets.board)

    def of_group(self, group: TagGroup) -> np.ndarray:
        """Return which of the tags that stand still (K,) bool belong to `group`."""
        return np.isin(self.ids, group.ids)

    def views(self, joint_pos: np.ndarray) -> Views:
        """Return what is expected in both pictures at arm joint positions (N, 7) [rad]."""
        flange = self.robot.chain.wrist_pose(joint_pos)
        boxes, own = self.robot.poses(joint_pos), self.robot.select(("wrist_camera",))
        cube, carried = self.robot.select(("cube",)), ~self.robot.select(("link_base", "link1"))
        rows = []
        for k in range(len(joint_pos)):
            mine = carried & ~own
            around = np.concatenate([boxes[k][mine], self._obstacles])
            half = np.concatenate([self.robot.half[mine], self._obstacle_half])
            # The board comes last among the obstacles and first among the tags; it does not hide its own.
            wrist_b, lens, n = flange[k] @ self.flange_cam, self._wrist.camera, self._board_tags
            board = self._view(lens, wrist_b, self.corners_b[:n], around[:-1], half[:-1])
            others = self._view(lens, wrist_b, self.corners_b[n:], around, half)
            wrist = [np.concatenate(pair) for pair in zip(board, others, strict=True)]
            corners = pose_apply(flange[k], self._flange_corners)
            shown = carried & ~cube
            head = self._view(self._poses.head_camera, self.head_b, corners, boxes[k][shown], self.robot.half[shown])
            rows.append((*wrist, *head[:2]))
        return Views(*(np.array(column) for column in zip(*rows, strict=True)))

    def _view(
        self,
        camera: FisheyeCamera | PinholeCamera,
        camera_b: np.ndarray,
        corners_b: np.ndarray,
        boxes: np.ndarray,
        half: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for tags with `corners_b` (K, 4, 3) which are visible (K,), corners [px] and angles from the axis."""
        cfg, eye = self.cfg, camera_b[:3, 3]
        points = pose_apply(pose_inverse(camera_b), corners_b)
        pixels, valid = project(camera, points)
        angle = np.arctan2(np.linalg.norm(points[..., :2], axis=-1), points[..., 2])
        edges = np.linalg.norm(pixels - np.roll(pixels, 1, axis=1), axis=-1).min(axis=1)
        border = np.array([camera.width, camera.height]) - 1.0 - cfg.border_px
        inside = ((pixels >= cfg.border_px) & (pixels <= border)).all(axis=(1, 2))
        normals, middles = _normals(corners_b), corners_b.mean(axis=1)
        sight = eye - middles
        facing = np.sum(sight * normals, axis=-1) / np.linalg.norm(sight, axis=-1)
        seen = valid.all(axis=1) & inside & (edges >= cfg.edge_px) & (facing >= math.cos(cfg.facing_limit))
        seen &= (angle <= cfg.axis_limit).all(axis=1)
        if seen.any():
            lifted = np.concatenate([corners_b[seen], middles[seen][:, None]], axis=1) + _LIFT * normals[seen][:, None]
            hidden = hides(boxes, half, eye, lifted.reshape(-1, 3)).reshape(-1, 5)
            seen[seen] = ~hidden.any(axis=1)
        return seen, np.where(seen[:, None, None], pixels, np.nan), np.where(seen[:, None], angle, np.nan)


def _corners(group: TagGroup) -> np.ndarray:
    return np.array([group.corners(i) for i in group.ids])


def _normals(corners: np.ndarray) -> np.ndarray:
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0])
    return normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def _obstacles(belt: np.ndarray, length: float, board: np.ndarray, group: TagGroup) -> tuple[np.ndarray, np.ndarray]:
    """Return what stands in the way, poses (2, 4, 4) and half edges (2, 3) [m]: the belt on the table, the board."""
    height, margin = belt[2, 3], _BOARD_MARGIN
    body, plate = belt.copy(), board.copy()
    body[:3, 3] -= 0.5 * height * belt[:3, 2]
    plate[:3, 3] += 0.5 * margin * board[:3, 2]
    reach = np.abs(_corners(group)).max(axis=(0, 1)) + 0.25 * group.tag_size + margin
    return np.stack([body, plate]), np.array(
        [[0.5 * length, _BELT_HALF_WIDTH, 0.5 * height], [reach[0], reach[1], 0.5 * margin]]
    )
