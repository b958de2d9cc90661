"""Where the arm stops so that the cameras see what their calibration needs.

Many postures are drawn that bring some tag to some place of a picture; those that are within reach and free are kept;
of them the set is picked, one after the other, that adds most to what is wanted: every tag several times, the whole
picture of the wrist camera, the cube all over the head camera's picture, turns about all axes. The same each time.
"""

import math
from dataclasses import dataclass

import numpy as np
import warp as wp

from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.projection import unproject
from r2s2r.contracts.targets import CalibrationTargets
from r2s2r.contracts.transforms import (
    pose_inverse,
    rot6d_from_matrix,
    so3_exp,
)
from r2s2r.contracts.world import World
from r2s2r.control.damped_least_squares import DampedLeastSquares, DampedLeastSquaresCfg
from r2s2r.control.kinematics import SerialChain
from r2s2r.recording.clearance import Clearance
from r2s2r.recording.excitation import AIR_ARM
from r2s2r.recording.visibility import ExpectedCell, Views

_WRIST_CELLS, _HEAD_CELLS = (8, 6), (5, 4)
"""Cells across and down that a picture is divided into to see where tags were."""

_REACHED = (1e-3, 2e-3)
"""What inverse kinematics may leave [m, rad]: a stop needs no better."""


@dataclass(frozen=True)
class ViewpointCfg:
    """How many stops, and how they are found.

    Raises:
        ConfigError: a value is out of range.
    """

    count: int = 45
    """Stops."""
    draws: int = 1500
    """Postures drawn for each of board, table, belt and cube."""
    seed: int = 3
    """Seed of the draws; any one will do."""
    distance: tuple[float, float] = (0.22, 0.50)
    """Distance of the wrist camera from the board [m]."""
    far: tuple[float, float] = (0.30, 0.65)
    """Distance of the wrist camera from tags on table and belt [m]."""
    tilt: float = math.radians(50.0)
    """Largest angle between a tag's normal and the line of sight [rad]."""
    joint_range: float = 2.6
    """How far joints that can turn on for ever go from zero [rad]: cables."""
    joint_margin: float = 0.1
    """Distance kept from the other joints' limits [rad]."""

    def __post_init__(self):
        for name, least in (("count", 3), ("draws", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ConfigError(f"ViewpointCfg.{name}: received {value!r}, allowed are whole numbers from {least}")
        for name in ("distance", "far"):
            low, high = getattr(self, name)
            if not 0.0 < low < high < 5.0:
                raise ConfigError(f"ViewpointCfg.{name}: received {(low, high)}, allowed are 0 < low < high < 5 m")
        set_number(self, "tilt", 0.0, 0.5 * math.pi)
        set_number(self, "joint_range", 0.1, math.pi)
        set_number(self, "joint_margin", 0.0, 1.0)


@dataclass(frozen=True)
class Wish:
    """Something that is wanted several times."""

    name: str
    """For reports."""
    met: np.ndarray
    """Which postures contribute (N,) bool."""
    times: int
    """How often it is wanted."""
    weight: float
    """What having it `times` times is worth."""


def choose_viewpoints(
    cell: ExpectedCell, targets: CalibrationTargets, clearance: Clearance, cfg: ViewpointCfg | None = None
) -> np.ndarray:
    """Return arm joint positions (count, 7) [rad] of the stops, in the order in which they were picked.

    From each of them the straight way to AIR_ARM is free.

    Args:
        cell: the nominal cell.
        targets: its tags.
        clearance: where the arm may be.
        cfg: how many, and how they are found; None for the defaults.

    Raises:
        ConfigError: fewer postures are within reach and free than stops are asked for.
    """
    cfg = cfg or ViewpointCfg()
    pool = _pool(cell, targets, clearance, cfg)
    wanted = wishes(cell, targets, pool)
    usable = np.ones(len(pool), dtype=bool)
    while usable.sum() >= cfg.count:
        chosen = _pick(wanted, usable, cfg.count)
        free = clearance.free_between(np.array(AIR_ARM), pool[chosen])
        if free.all():
            return pool[chosen]
        usable[chosen[~free]] = False
    raise ConfigError(
        f"ViewpointCfg.count: received {cfg.count}, allowed are up to the {usable.sum()} free postures found; "
        "raise `draws`"
    )


def wishes(cell: ExpectedCell, targets: CalibrationTargets, joint_pos: np.ndarray) -> list[Wish]:
    """Return everything that is wanted, and which of the postures (N, 7) [rad] contribute to it."""
    views = cell.views(joint_pos)
    board = views.wrist[:, cell.of_group(targets.board)]
    found = [
        *_tags_seen("wrist", cell.ids, views.wrist, targets.table.ids, 6, 2.5),
        *_tags_seen("wrist", cell.ids, views.wrist, targets.belt.ids, 5, 2.0),
        *_tags_seen("head", cell.flange_ids, views.head, targets.flange.ids, 9, 2.5),
        Wish("wrist sees the board", np.asarray(board.sum(axis=1) >= 8), 28, 4.0),
        Wish("head sees the cube", np.asarray(views.head.any(axis=1)), 26, 4.0),
        Wish("head sees two sides of the cube", np.asarray(views.head.sum(axis=1) >= 2), 18, 3.0),
        Wish("board at the wrist picture's edge", _edge(cell, targets, views), 12, 2.0),
    ]
    wrist, head = World.nominal().wrist_cameras.camera, World.nominal().poses.head_camera
    for name, pixels, size, cells, times in (
        ("wrist", views.wrist_px, (wrist.width, wrist.height), _WRIST_CELLS, 5),
        ("head", views.head_px, (head.width, head.height), _HEAD_CELLS, 2),
    ):
        inside = _cells(pixels, size, cells)
        found += [Wish(f"{name} picture, cell {k}", inside[:, k], times, 0.6) for k in range(inside.shape[1])]
    return found + _turns(cell.robot.chain, joint_pos)


def _tags_seen(
    camera: str, ids: np.ndarray, seen: np.ndarray, wanted: tuple[int, ...], times: int, weight: float
) -> list[Wish]:
    return [Wish(f"{camera} sees tag {i}", seen[:, np.flatnonzero(ids == i)[0]], times, weight) for i in wanted]


def _edge(cell: ExpectedCell, targets: CalibrationTargets, views: Views) -> np.ndarray:
    angle = np.where(np.isnan(views.wrist_angle), 0.0, views.wrist_angle)[:, cell.of_group(targets.board)]
    return np.asarray(angle.max(axis=(1, 2)) >= math.radians(65.0))


def _cells(pixels: np.ndarray, size: tuple[int, int], cells: tuple[int, int]) -> np.ndarray:
    """Return which cells of a picture (N, cells) bool hold a corner of the tags at `pixels` (N, K, 4, 2)."""
    column, row = (np.nan_to_num(pixels[..., k], nan=-1.0) // (size[k] / cells[k]) for k in (0, 1))
    index = np.where(np.isnan(pixels[..., 0]), -1, row * cells[0] + column).reshape(len(pixels), -1)
    return (index[:, None] == np.arange(cells[0] * cells[1])[:, None]).any(axis=-1)


def _turns(chain: SerialChain, joint_pos: np.ndarray) -> list[Wish]:
    """Return wishes for the flange's orientation: turned about the vertical and tilted to every side."""
    flange = chain.wrist_pose(joint_pos)
    yaw = np.arctan2(flange[:, 1, 0], flange[:, 0, 0])
    tilt = np.arccos(np.clip(-flange[:, 2, 2], -1.0, 1.0))
    aside = np.arctan2(flange[:, 1, 2], flange[:, 0, 2])
    found = []
    for k in range(6):
        low = -math.pi + k * math.pi / 3.0
        high = low + math.pi / 3.0
        found.append(Wish(f"turned to {k}", (yaw >= low) & (yaw < high), 5, 1.0))
        found.append(Wish(f"tilted to {k}", (aside >= low) & (aside < high) & (tilt > math.radians(25.0)), 5, 1.0))
    return found


def _pick(wanted: list[Wish], usable: np.ndarray, count: int) -> np.ndarray:
    """Return the `usable` rows (count,) that fulfil most, picked greedily: a fulfilled wish gains nothing more."""
    met = np.stack([wish.met for wish in wanted], axis=1).astype(float)
    times = np.array([wish.times for wish in wanted], dtype=float)
    worth = np.array([wish.weight for wish in wanted]) / times
    chosen: list[int] = []
    have = np.zeros(len(wanted))
    for _ in range(count):
        # Next to nothing: among equals, more of the same is better.
        gain = np.where(usable, met @ np.where(have < times, worth, 0.05 * worth), -np.inf)
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        have += met[chosen[-1]]
    return np.array(chosen)


def _pool(cell: ExpectedCell, targets: CalibrationTargets, clearance: Clearance, cfg: ViewpointCfg) -> np.ndarray:
    """Return free arm postures (N, 7) [rad] from which some tag ought to be seen."""
    rng = np.random.default_rng(cfg.seed)
    frames = [
        _looking_at(rng, cell, targets.board.ids, cfg.distance, cfg),
        _looking_at(rng, cell, targets.table.ids, cfg.far, cfg),
        _looking_at(rng, cell, targets.belt.ids, cfg.far, cfg),
        _showing_the_cube(rng, cfg.draws),
    ]
    postures = reach(cell.robot.chain, np.concatenate(frames), np.array(AIR_ARM))
    chain = cell.robot.chain
    lower = np.maximum(chain.lower + cfg.joint_margin, -cfg.joint_range)
    upper = np.minimum(chain.upper - cfg.joint_margin, cfg.joint_range)
    postures = postures[((postures >= lower) & (postures <= upper)).all(axis=1)]
    return postures[clearance.free(postures)]


def _looking_at(
    rng: np.random.Generator, cell: ExpectedCell, ids: tuple[int, ...], distance: tuple[float, float], cfg: ViewpointCfg
) -> np.ndarray:
    """Return flange poses (draws, 4, 4) in which the wrist camera has one of the tags anywhere in its picture."""
    n, camera = cfg.draws, World.nominal().wrist_cameras.camera
    corners = cell.corners_b[np.isin(cell.ids, ids)]
    tag = corners[rng.integers(len(corners), size=n)]
    middle, normal = tag.mean(axis=1), np.cross(tag[:, 1] - tag[:, 0], tag[:, 3] - tag[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    side = so3_exp(normal * rng.uniform(-math.pi, math.pi, (n, 1))) @ (tag[:, 1] - tag[:, 0])[..., None]
    axis = side[..., 0] / np.linalg.norm(side[..., 0], axis=1, keepdims=True)
    towards = (so3_exp(axis * rng.uniform(0.0, cfg.tilt, (n, 1))) @ normal[..., None])[..., 0]
    pixels = rng.uniform((10.0, 10.0), (camera.width - 11.0, camera.height - 11.0), (n, 2))
    rays, _ = unproject(camera, pixels)
    camera_b = np.broadcast_to(np.eye(4), (n, 4, 4)).copy()
    roll = so3_exp(towards * rng.uniform(-math.pi, math.pi, (n, 1)))
    camera_b[:, :3, :3] = roll @ _turn_between(rays, -towards)
    camera_b[:, :3, 3] = middle + towards * rng.uniform(*distance, (n, 1))
    return camera_b @ pose_inverse(cell.flange_cam)


def _showing_the_cube(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return flange poses (count, 4, 4) with the cube's back half turned to the head camera, more or less."""
    down = np.diag([-1.0, 1.0, -1.0])  # fingers down, the cube in front
    frames = np.broadcast_to(np.eye(4), (count, 4, 4)).copy()
    turn = rng.uniform((-0.9, -0.9, -1.6), (0.9, 0.9, 1.6), (count, 3))
    frames[:, :3, :3] = so3_exp(turn) @ down
    frames[:, :3, 3] = rng.uniform((0.20, -0.38, 0.40), (0.62, 0.38, 0.75), (count, 3))
    return frames


def _turn_between(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the shortest rotations (N, 3, 3) that take unit vectors `first` (N, 3) to `second` (N, 3)."""
    axis = np.cross(first, second)
    sine, cosine = np.linalg.norm(axis, axis=1, keepdims=True), np.sum(first * second, axis=1, keepdims=True)
    return so3_exp(axis / np.maximum(sine, 1e-12) * np.arctan2(sine, cosine))


def reach(chain: SerialChain, flange_b: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return arm postures (M, 7) [rad] that bring the flange to those of the poses (N, 4, 4) that it can reach."""
    n = len(flange_b)
    # One long call: the speed limit of a call is that of the arm in a second.
    solver = DampedLeastSquares(chain, n, cfg=DampedLeastSquaresCfg(iterations=60, rate_hz=1.0))
    target = np.concatenate([flange_b[:, :3, 3], rot6d_from_matrix(flange_b[:, :3, :3])], axis=1)
    wrist_target = wp.array(target, dtype=wp.float32, device="cpu")
    joint_pos = wp.array(np.tile(start, (n, 1)), dtype=wp.float32, device="cpu")
    for _ in range(2):
        solver.solve(wrist_target, joint_pos)
    left = solver.error.numpy()
    return joint_pos.numpy().astype(float)[(left[:, 0] < _REACHED[0]) & (left[:, 1] < _REACHED[1])]
