"""How fast the belt really runs and whither: a tagged block on it, followed by the head camera."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import GroundingError
from r2s2r.contracts.projection import unproject
from r2s2r.contracts.targets import ITEM_SIZE, TagGroup
from r2s2r.contracts.transforms import pose_inverse
from r2s2r.recording.cell_log import Stream
from r2s2r.world.bundle import Bundle
from r2s2r.world.bundle_data import Sighting
from r2s2r.world.bundle_state import BLOCKS, STEP_SIZE, BundleState
from r2s2r.world.uncertainty import Covariance, sandwich

SETTLE_S = 0.7
"""The belt, and a block that was just set down, reach their speed within this [s]."""

LEAST_PICTURES = 4
"""Pictures of the riding block that a run must have."""

_STEADY = 0.25
"""A block that moves by another fraction from one picture to the next is being placed, or is blocked."""

_ALIKE = 3
"""Pictures in a row whose errors may be alike: the block has hardly moved on."""

_HEAD = CAMERAS.index("head")
_DIFFERENCE_STEP = 1e-6
_FAST_SPREAD = 0.01
"""Runs whose speed scales differ by more than this are mentioned."""
_ASKEW = np.deg2rad(0.5)
"""Angle [rad] between motion and the belt's x axis that is mentioned."""


@dataclass(frozen=True)
class BeltMotion:
    """The belt's surface against its command."""

    speed_scale: float
    """Speed of the surface over the commanded speed."""
    speed_half_width: float
    """95 % half width of it."""
    direction_rad: float
    """Angle of the motion from the belt's x axis about its z axis [rad]."""
    direction_half_width: float
    """95 % half width of it [rad]."""
    run_scales: tuple[float, ...]
    """Speed scale of each run alone."""
    pictures: int
    """Pictures that were used."""
    residual_m: np.ndarray
    """(T, 2) along and across the motion, for the report [m]."""
    commanded_m: np.ndarray
    """(T,) commanded way of each picture [m]."""
    warnings: tuple[str, ...]
    """One line each."""


@dataclass(frozen=True)
class _Ride:
    """Pictures of one run at constant speed."""

    corners: np.ndarray
    """(T, 4, 2) pixels."""
    way_m: np.ndarray
    """(T,) commanded way up to the exposure [m]."""


def follow_item(sightings: Sequence[Sighting], command: Stream, item: TagGroup, bundle: Bundle) -> BeltMotion:
    """Return the belt's speed and direction from a block that rides it.

    Args:
        sightings: of both cameras; those of the block's tag in head pictures are used.
        command: stream `belt_command` [m/s]; it holds until the next one.
        item: the block's tag.
        bundle: where head camera and belt are.

    Raises:
        GroundingError: the block is not seen riding, or it rides against the belt's x axis.
    """
    rides = _rides(sightings, command, item, bundle.state)
    if not rides:
        raise GroundingError(
            f"belt: no run with {LEAST_PICTURES} head pictures of tag {item.ids[0]} riding at a constant command; "
            "was the block placed on the belt?"
        )
    fitted = _Line(bundle.state, rides, item)
    scale, drift = fitted.values
    if scale <= 0.0:
        raise GroundingError(
            f"belt: the block rides against the belt's x axis, speed scale {scale:.2f}, allowed are positive ones; "
            "turn the frame in which the rails' tags are given"
        )
    half_width = np.hypot(fitted.covariance.half_width[:2], _geometry_half_width(bundle, rides, item))
    run_scales = tuple(float(_Line(bundle.state, [ride], item).values[0]) for ride in rides)
    direction, direction_width = drift / scale, half_width[1] / scale
    return BeltMotion(
        speed_scale=float(scale),
        speed_half_width=float(half_width[0]),
        direction_rad=float(direction),
        direction_half_width=float(direction_width),
        run_scales=run_scales,
        pictures=sum(len(ride.way_m) for ride in rides),
        residual_m=fitted.residuals,
        commanded_m=np.concatenate([ride.way_m for ride in rides]),
        warnings=_warnings(scale, run_scales, direction, direction_width),
    )


def item_positions(state: BundleState, corners: np.ndarray, item: TagGroup) -> np.ndarray:
    """Return where the block's middle is on the belt (T, 2) [m], from the corners (T, 4, 2) of its tag.

    The corners' rays meet the plane of the block's upper side; their middle is the block's, since the tag is centred.
    """
    rays, _ = unproject(state.head, corners)
    T_belt_head = pose_inverse(state.poses["belt"]) @ state.poses["head"]
    rays = rays @ T_belt_head[:3, :3].T
    height = 0.5 * ITEM_SIZE[2] + item.pos[0][2]
    far = (height - T_belt_head[2, 3]) / rays[..., 2]
    return (T_belt_head[:2, 3] + far[..., None] * rays[..., :2]).mean(axis=1)


class _Line:
    """Positions = start of the run + (scale, drift) times the commanded way."""

    def __init__(self, state: BundleState, rides: list[_Ride], item: TagGroup):
        way = np.concatenate([ride.way_m for ride in rides])
        run = np.concatenate([np.tile(np.eye(len(rides))[k], (len(ride.way_m), 1)) for k, ride in enumerate(rides)])
        places = np.concatenate([item_positions(state, ride.corners, item) for ride in rides])
        single = np.concatenate([way[:, None], run], axis=1)
        solution = np.linalg.lstsq(single, places)[0]
        self.residuals = places - single @ solution
        self.values = solution[0]
        # Unknowns: scale, drift, then starts along and across.
        width = single.shape[1]
        jacobian = np.zeros((2 * len(way), 2 * width))
        for axis in range(2):
            jacobian[axis::2, axis] = single[:, 0]
            jacobian[axis::2, 2 + axis * (width - 1) : 2 + (axis + 1) * (width - 1)] = single[:, 1:]
        groups = np.repeat(np.arange(len(way)) // _ALIKE, 2)
        self.covariance: Covariance = sandwich(jacobian, self.residuals.ravel(), groups)


def _geometry_half_width(bundle: Bundle, rides: list[_Ride], item: TagGroup) -> np.ndarray:
    """Return half widths (2,) of scale and drift that come from where head camera and belt are."""
    gradient = np.zeros((2, STEP_SIZE))
    for name in ("head_lens", "head", "belt"):
        for k in range(BLOCKS[name].start, BLOCKS[name].stop):
            if bundle.free[k]:
                step = _DIFFERENCE_STEP * np.eye(STEP_SIZE)[k]
                ahead, behind = (_Line(bundle.state.moved(sign * step), rides, item).values for sign in (1, -1))
                gradient[:, k] = (ahead - behind) / (2.0 * _DIFFERENCE_STEP)
    return bundle.half_width(gradient)


def _rides(sightings: Sequence[Sighting], command: Stream, item: TagGroup, state: BundleState) -> list[_Ride]:
    seen = sorted((s for s in sightings if s.camera == "head" and s.tag_id in item.ids), key=lambda s: s.time_s)
    rides = []
    for k, start in enumerate(command.time_s):
        speed = float(command.values[k, 0])
        if speed == 0.0 or (k > 0 and command.values[k - 1, 0] == speed):
            continue
        end = _end_of_speed(command, k)
        time_s = np.array([s.time_s - state.stamp_delay[_HEAD] for s in seen])
        inside = np.flatnonzero((time_s > start + SETTLE_S) & (time_s < end))
        if len(inside) < LEAST_PICTURES:
            continue
        corners = np.array([seen[i].corners for i in inside], dtype=float)
        way = speed * (time_s[inside] - start)
        steady = _steady(item_positions(state, corners, item), way)
        if np.sum(steady) >= LEAST_PICTURES:
            rides.append(_Ride(corners[steady], way[steady]))
    return rides


def _end_of_speed(command: Stream, k: int) -> float:
    """Return when the speed commanded in row `k` ends; the same speed sent again does not end it."""
    other = np.flatnonzero(command.values[k:, 0] != command.values[k, 0])
    return float(command.time_s[k + other[0]]) if len(other) else np.inf


def _steady(places: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Return which pictures (T,) show the block moving as it mostly does, from the one before or to the next."""
    speed = np.diff(places[:, 0]) / np.diff(way)
    fits = np.abs(speed - np.median(speed)) < _STEADY * max(abs(float(np.median(speed))), 0.1)
    return np.r_[fits, False] | np.r_[False, fits]


def _warnings(scale: float, run_scales: tuple[float, ...], direction: float, width: float) -> tuple[str, ...]:
    found = []
    if max(run_scales) - min(run_scales) > _FAST_SPREAD:
        scales = ", ".join(f"{value:.3f}" for value in run_scales)
        found.append(f"belt: its speed scale differs between runs ({scales}); one number stands for all")
    if abs(direction) > max(_ASKEW, width):
        found.append(f"belt: the block rides {np.rad2deg(direction):.2f} deg off the x axis given by the rails' tags")
    if not 0.8 < scale < 1.25:
        found.append(f"belt: the surface runs at {scale:.2f} times the command; is its speed in m/s?")
    return tuple(found)
