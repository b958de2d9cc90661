"""What the bundle adjusts to: tag corners in pictures, and where the arm was."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.errors import ConfigError, GroundingError
from r2s2r.contracts.targets import CalibrationTargets
from r2s2r.world.joint_track import JointTrack

GROUPS = ("board", "table", "belt", "flange")
"""Tag groups whose poses are adjusted; the item on the belt is followed afterwards."""

SPREAD_LIMITS = (0.5, 20.0)
"""No tag counts as better or worse than its camera's usual one by more."""

BLOCK_S = 1.0
"""Pictures within this time [s] share errors: the same stop of the arm, the same stretch of a motion."""


@dataclass(frozen=True)
class Sighting:
    """One tag in one picture.

    Raises:
        ConfigError: the camera is unknown or the corners are not (4, 2) finite numbers.
    """

    camera: str
    """One of CAMERAS."""
    frame: int
    """Number of the picture within its camera's."""
    time_s: float
    """Stamp of the picture [s]."""
    tag_id: int
    """Which tag."""
    corners: np.ndarray
    """(4, 2) raw pixels, in the order of :data:`r2s2r.contracts.targets.CORNER_SIGNS`."""
    doubt: float | None = None
    """What grows in proportion with the error of the corners, in any unit, such as the residual of the print's fit: a
    tag in half shade has ten times the usual. None: unknown, as good as the others of its camera."""

    def __post_init__(self):
        if self.camera not in CAMERAS:
            raise ConfigError(f"Sighting.camera: received {self.camera!r}, allowed are {', '.join(CAMERAS)}")
        if np.shape(self.corners) != (4, 2) or not np.isfinite(self.corners).all():
            raise ConfigError(
                f"Sighting.corners: tag {self.tag_id} in {self.camera} picture {self.frame} has shape "
                f"{np.shape(self.corners)} or numbers that are not finite; allowed are (4, 2) pixels"
            )
        if self.doubt is not None and not 0.0 <= self.doubt < np.inf:
            raise ConfigError(f"Sighting.doubt: received {self.doubt}, allowed are finite numbers from 0")


@dataclass(frozen=True)
class BundleData:
    """N corners in flat arrays. An exposure is an instant whose arm pose is needed: one for each still picture, one for
    each corner of a picture that was taken in motion, since rows are exposed one after the other."""

    camera: np.ndarray
    """(N,) index into CAMERAS."""
    frame: np.ndarray
    """(N,) number of the picture within its camera's."""
    stamp_s: np.ndarray
    """(N,) stamp of the picture [s]."""
    tag_id: np.ndarray
    """(N,) which tag."""
    group: np.ndarray
    """(N,) index into GROUPS."""
    points: np.ndarray
    """(N, 3) corner in its group's frame [m]."""
    pixels: np.ndarray
    """(N, 2) raw pixels."""
    spread: np.ndarray
    """(N,) standard deviation of the corner over the usual one of its camera."""
    exposure: np.ndarray
    """(N,) index of the exposure: below len(rest_pos) a still one, above it one of the moving ones."""
    rest_pos: np.ndarray
    """(S, 7) joint readings of still exposures [rad]."""
    moving: np.ndarray
    """(M,) index of the corner that each moving exposure belongs to."""
    track: JointTrack
    """Joint readings of moving exposures."""

    @property
    def still(self) -> np.ndarray:
        """(N,) bool: the arm rested."""
        return self.exposure < len(self.rest_pos)

    @property
    def fixed_scene(self) -> np.ndarray:
        """(N,) bool: the head camera sees a thing that stands still, picture after picture on the same pixels."""
        return (self.camera == CAMERAS.index("head")) & (self.group != GROUPS.index("flange"))

    def deviation(self, sigma: np.ndarray) -> np.ndarray:
        """Return the standard deviation (N,) [px] of each corner, from the usual one (2,) of each camera."""
        return sigma[self.camera] * self.spread

    @property
    def blocks(self) -> np.ndarray:
        """(N,) labels of corners whose errors may be alike: a stretch of time, or a tag that always falls on the same
        pixels."""
        order = np.argsort(self.stamp_s, kind="stable")
        labels, label, start = np.zeros(len(order), dtype=int), 0, -np.inf
        for i in order:
            if self.stamp_s[i] - start > BLOCK_S:
                label, start = label + 1, self.stamp_s[i]
            labels[i] = label
        return np.where(self.fixed_scene, -1 - self.tag_id, labels)

    def condensed(self) -> "BundleData":
        """Return the data with each tag of the fixed scene once, at the median of its corners: a hundred pictures of it
        hold the same errors and would outweigh those that differ."""
        keep = ~self.fixed_scene
        pixels = self.pixels.copy()
        for tag_id in np.unique(self.tag_id[self.fixed_scene]):
            rows = np.flatnonzero(self.fixed_scene & (self.tag_id == tag_id) & self.still).reshape(-1, 4)
            if len(rows):
                pixels[rows[0]] = np.median(self.pixels[rows], axis=0)
                keep[rows[0]] = True
        return replace(self, pixels=pixels).chosen(keep)

    def chosen(self, mask: np.ndarray) -> "BundleData":
        """Return the corners of a mask (N,); still exposures keep their numbers."""
        moving = np.flatnonzero(mask & ~self.still)
        exposure = self.exposure.copy()
        exposure[moving] = len(self.rest_pos) + np.arange(len(moving))
        place = np.cumsum(mask) - 1
        return BundleData(
            **{name: getattr(self, name)[mask] for name in _PER_CORNER},
            exposure=exposure[mask],
            rest_pos=self.rest_pos,
            moving=place[moving],
            track=self.track,
        )


_PER_CORNER = ("camera", "frame", "stamp_s", "tag_id", "group", "points", "pixels", "spread")


def bundle_data(sightings: Sequence[Sighting], targets: CalibrationTargets, track: JointTrack) -> BundleData:
    """Return the corners of GROUPS' tags in flat arrays; pictures outside the joint readings are left out.

    Raises:
        GroundingError: nothing is left, or corners run clockwise (a mirrored picture or another corner order).
    """
    groups = {tag_id: k for k, name in enumerate(GROUPS) for tag_id in getattr(targets, name).ids}
    used = [s for s in sightings if s.tag_id in groups and track.covers(s.time_s)]
    if not used:
        raise GroundingError(
            f"cameras: none of {len(sightings)} tag sightings shows {', '.join(GROUPS)} while joints were read"
        )
    _check_orientation(used)
    rest = {time_s: track.rest(time_s) for time_s in sorted({s.time_s for s in used})}
    numbers = {time_s: k for k, time_s in enumerate(t for t, pos in rest.items() if pos is not None)}
    corners = {tag_id: getattr(targets, GROUPS[k]).corners(tag_id) for tag_id, k in groups.items()}
    group = np.repeat([groups[s.tag_id] for s in used], 4)
    stamp_s = np.repeat([s.time_s for s in used], 4)
    exposure = np.repeat([numbers.get(s.time_s, -1) for s in used], 4)
    moving = np.flatnonzero(exposure < 0)
    exposure[moving] = len(numbers) + np.arange(len(moving))
    return BundleData(
        camera=np.repeat([CAMERAS.index(s.camera) for s in used], 4),
        frame=np.repeat([s.frame for s in used], 4),
        stamp_s=stamp_s,
        tag_id=np.repeat([s.tag_id for s in used], 4),
        group=group,
        points=np.concatenate([corners[s.tag_id] for s in used]),
        pixels=np.concatenate([np.asarray(s.corners, dtype=float) for s in used]),
        spread=np.repeat(_spread(used), 4),
        exposure=exposure,
        rest_pos=np.array([pos for pos in rest.values() if pos is not None]).reshape(-1, 7),
        moving=moving,
        track=track,
    )


def _spread(sightings: Sequence[Sighting]) -> np.ndarray:
    """Return each sighting's doubt over the median of its camera."""
    doubt = np.array([np.nan if s.doubt is None else s.doubt for s in sightings])
    spread = np.ones(len(doubt))
    for camera in CAMERAS:
        rows = np.array([s.camera == camera for s in sightings]) & np.isfinite(doubt)
        usual = float(np.median(doubt[rows])) if rows.any() else 0.0
        if usual > 0.0:
            spread[rows] = np.clip(doubt[rows] / usual, *SPREAD_LIMITS)
    return spread


def _check_orientation(sightings: Sequence[Sighting]) -> None:
    """Refuse corners that run clockwise as seen: counter-clockwise in the world is a negative area with y downwards."""
    corners = np.array([s.corners for s in sightings], dtype=float)
    following = np.roll(corners, -1, axis=1)
    area = 0.5 * np.sum(corners[..., 0] * following[..., 1] - corners[..., 1] * following[..., 0], axis=1)
    wrong = int(np.sum(area > 0.0))
    if wrong > 0.5 * len(area):
        raise GroundingError(
            f"cameras: the corners of {wrong} of {len(area)} tags run clockwise; allowed is counter-clockwise from the "
            "lower left: the pictures are mirrored, or the corners come in another order"
        )
