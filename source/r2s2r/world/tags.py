"""Tags in pictures: detected, gated, refined; what was rejected is counted with its reason.

The detector is AprilTag 3, the corners are those of a fit of the whole print
(:mod:`r2s2r.world.tag_refinement`). Both were chosen by measurement, see `docs/grounding-tags.md`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import cast

import cv2
import numpy as np
import pupil_apriltags

from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.targets import TAG_FAMILY, CalibrationTargets
from r2s2r.world.tag_refinement import RefinedTag, refine_tag

NOT_IN_MAP, BIT_ERRORS, WEAK = "not in map", "bit errors", "weak"
TWICE, TOUCHES_BORDER, SMALL, UNLIKE_PRINT = "twice", "touches border", "small", "unlike its print"
REASONS = (NOT_IN_MAP, BIT_ERRORS, WEAK, TWICE, TOUCHES_BORDER, SMALL, UNLIKE_PRINT)
"""Why a detection is rejected, in the order in which it is asked."""

_MOST_MOVED_PX = 3.0
"""How far a fit may move a corner [px]; AprilTag's are within 1.5 px."""

_SMALL_RESIDUAL = 0.03


@dataclass(frozen=True)
class TagDetectionCfg:
    """Gates of a detection.

    Raises:
        ConfigError: a value is not allowed.
    """

    max_bit_errors: int = 1
    """Bits of the code that may be corrected; texture is read as a tag with two."""
    min_decision_margin: float = 8.0
    """AprilTag's mean difference between a bit's grey level and the threshold; sharp tags have 40 to 80."""
    min_border_px: float = 2.0
    """Distance of every corner from the picture's border [px]; beyond it a tag may be cut."""
    min_edge_px: float = 9.0
    """Shortest edge [px]: little more than a pixel a module."""
    max_residual: float = 0.12
    """RMS difference between picture and fitted print over the contrast; noise of 1 % leaves 0.015, a photograph's
    texture 0.03, a wrong or covered print 0.3."""
    max_residual_ratio: float = 3.0
    """The same over the median of all tags in the picture, where it is above 0.03: a shadow's border across a tag
    leaves 0.05 and more, and moves its corners by up to a pixel."""
    tone_exponents: tuple[float, ...] = (1.0, 0.45)
    """Exponents of tone curves whose inverse is applied before tags are searched, one search each: small tags are
    found where values are linear in light, tags in dark pictures where they are not. 1 leaves the picture as it is."""
    enlarge: int = 1
    """Factor by which the picture is enlarged for the search; 2 finds a few more small tags in twice the time."""
    repeated_ids: tuple[int, ...] = ()
    """Ids that may be seen several times in a picture, such as a belt's pattern; any other that is, is rejected."""

    def __post_init__(self):
        set_number(self, "max_bit_errors", 0, 2)
        set_number(self, "min_decision_margin", 0.0, 255.0)
        set_number(self, "min_border_px", 0.0, 100.0)
        set_number(self, "min_edge_px", 8.0, 1000.0)
        set_number(self, "max_residual", 0.01, 1.0)
        set_number(self, "max_residual_ratio", 1.0, 100.0)
        set_vector(self, "tone_exponents", len(self.tone_exponents), 0.2, 1.6)
        set_number(self, "enlarge", 1, 4)
        object.__setattr__(self, "enlarge", int(self.enlarge))


@dataclass(frozen=True)
class TagCandidate:
    """A tag as a detector reports it."""

    tag_id: int
    """Id in the family."""
    corners: np.ndarray
    """(4, 2) [px], in the order of the contract."""
    bit_errors: int
    """Bits that were corrected."""
    decision_margin: float
    """See :class:`TagDetectionCfg`."""


@dataclass(frozen=True)
class TagObservations:
    """Tags of one picture that may be measured with."""

    ids: np.ndarray
    """(K,) int."""
    corners: np.ndarray
    """(K, 4, 2) [px], raw pixels; lower left, lower right, upper right, upper left of the print."""
    fits: tuple[RefinedTag | None, ...] = ()
    """K fits of the print; None where corners were not refined."""
    rejected: dict[str, int] = field(default_factory=dict)
    """How many detections were left out, by one of REASONS."""
    notes: tuple[str, ...] = ()
    """One line each, such as `id 5 twice in frame 12`."""

    def select(self, ids: Iterable[int]) -> "TagObservations":
        """Return the observations of `ids` alone."""
        chosen = np.flatnonzero(np.isin(self.ids, list(ids)))
        fits = tuple(self.fits[i] for i in chosen) if self.fits else ()
        return TagObservations(self.ids[chosen], self.corners[chosen], fits, self.rejected, self.notes)


def detect(
    picture: np.ndarray,
    targets: CalibrationTargets | Iterable[int],
    cfg: TagDetectionCfg | None = None,
    where: str = "this picture",
) -> TagObservations:
    """Return the tags of a picture.

    Args:
        picture: (H, W) or (H, W, 3) uint8.
        targets: what may be there: a cell's targets, or ids.
        cfg: gates.
        where: names the picture in notes and errors, such as `frame 12`.

    Raises:
        RecordingError: the picture is not uint8 of that shape; or it is mirrored: no tag is read in it, but its
            mirror image has some.
    """
    cfg = cfg or TagDetectionCfg()
    grey = _grey(picture, where)
    allowed = _allowed_ids(targets)
    found = search(grey, cfg)
    if not found and _count_certain(search(np.ascontiguousarray(grey[:, ::-1]), cfg), allowed, cfg):
        raise RecordingError(
            f"{where}: mirrored, its tags can be read in a mirror only; check the camera's flip setting"
        )
    return _refined(grey, gate(found, allowed, (grey.shape[1], grey.shape[0]), cfg, where), cfg)


def search(grey: np.ndarray, cfg: TagDetectionCfg) -> list[TagCandidate]:
    """Return everything the detector reports in a grey picture (H, W) uint8, corners in our pixel coordinates."""
    found: list[TagCandidate] = []
    for exponent in cfg.tone_exponents:
        new = _searched(grey, exponent, cfg.enlarge)
        found += [candidate for candidate in new if not any(_same(candidate, other) for other in found)]
    return found


def gate(
    candidates: Sequence[TagCandidate],
    allowed_ids: Iterable[int],
    picture_size: tuple[int, int],
    cfg: TagDetectionCfg,
    where: str = "this picture",
) -> TagObservations:
    """Return the detections that pass every gate, unrefined, and why the others did not.

    Args:
        candidates: detections.
        allowed_ids: ids that are in the map.
        picture_size: width and height [px].
        cfg: gates.
        where: names the picture in notes.
    """
    allowed, reasons, likely = set(allowed_ids), Counter(), []
    for candidate in candidates:
        reason = _doubt(candidate, allowed, cfg)
        if reason:
            reasons[reason] += 1
        else:
            likely.append(candidate)
    seen = Counter(candidate.tag_id for candidate in likely)
    twice = sorted(i for i, times in seen.items() if times > 1 and i not in cfg.repeated_ids)
    kept = []
    for candidate in likely:
        reason = TWICE if candidate.tag_id in twice else _unusable(candidate, picture_size, cfg)
        if reason:
            reasons[reason] += 1
        else:
            kept.append(candidate)
    notes = tuple(f"id {i} {_times(seen[i])} in {where}" for i in twice)
    ids = np.array([candidate.tag_id for candidate in kept], dtype=int)
    corners = np.array([candidate.corners for candidate in kept]).reshape(-1, 4, 2)
    return TagObservations(ids, corners, (None,) * len(kept), dict(reasons), notes)


def _searched(grey: np.ndarray, exponent: float, enlarge: int) -> list[TagCandidate]:
    shown = cv2.LUT(grey, np.round(255.0 * (np.arange(256) / 255.0) ** (1.0 / exponent)).astype(np.uint8))
    if enlarge > 1:
        shown = cv2.resize(shown, None, fx=enlarge, fy=enlarge, interpolation=cv2.INTER_CUBIC)
    # AprilTag counts from the outer corner of the first pixel, we from its centre.
    return [
        TagCandidate(int(tag.tag_id), tag.corners / enlarge - 0.5, int(tag.hamming), float(tag.decision_margin))
        for tag in cast(list, _detector().detect(np.ascontiguousarray(shown, dtype=np.uint8)))
    ]


def _same(first: TagCandidate, second: TagCandidate) -> bool:
    apart = np.linalg.norm(first.corners.mean(axis=0) - second.corners.mean(axis=0))
    near = apart < 0.5 * np.linalg.norm(first.corners[2] - first.corners[0])
    return first.tag_id == second.tag_id and bool(near)


def _doubt(candidate: TagCandidate, allowed: set[int], cfg: TagDetectionCfg) -> str | None:
    if candidate.tag_id not in allowed:
        return NOT_IN_MAP
    if candidate.bit_errors > cfg.max_bit_errors:
        return BIT_ERRORS
    return WEAK if candidate.decision_margin < cfg.min_decision_margin else None


def _unusable(candidate: TagCandidate, picture_size: tuple[int, int], cfg: TagDetectionCfg) -> str | None:
    corners, last = candidate.corners, np.array(picture_size) - 1.0
    if (corners < cfg.min_border_px).any() or (corners > last - cfg.min_border_px).any():
        return TOUCHES_BORDER
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    return SMALL if edges.min() < cfg.min_edge_px else None


def _refined(grey: np.ndarray, seen: TagObservations, cfg: TagDetectionCfg) -> TagObservations:
    """Return the observations with fitted corners; those whose print is not what the fit expects are rejected."""
    values = grey.astype(np.float32)
    pairs = [
        (k, fit)
        for k, (tag_id, corners) in enumerate(zip(seen.ids, seen.corners, strict=True))
        if (fit := refine_tag(values, int(tag_id), corners)) is not None
        and np.abs(fit.corners - corners).max() < _MOST_MOVED_PX
    ]
    usual = float(np.median([fit.residual for _, fit in pairs])) if pairs else 0.0
    limit = min(cfg.max_residual, max(cfg.max_residual_ratio * usual, _SMALL_RESIDUAL))
    pairs = [(k, fit) for k, fit in pairs if fit.residual <= limit]
    kept, fits = [k for k, _ in pairs], [fit for _, fit in pairs]
    rejected = dict(seen.rejected)
    if len(kept) < len(seen.ids):
        rejected[UNLIKE_PRINT] = len(seen.ids) - len(kept)
    corners = np.array([fit.corners for fit in fits]).reshape(-1, 4, 2)
    return TagObservations(seen.ids[kept], corners, tuple(fits), rejected, seen.notes)


def _count_certain(candidates: list[TagCandidate], allowed: set[int], cfg: TagDetectionCfg) -> int:
    return sum(_doubt(candidate, allowed, cfg) is None and candidate.bit_errors == 0 for candidate in candidates)


def _allowed_ids(targets: CalibrationTargets | Iterable[int]) -> set[int]:
    if isinstance(targets, CalibrationTargets):
        return {i for group in targets.groups for i in group.ids}
    return set(targets)


def _grey(picture: np.ndarray, where: str) -> np.ndarray:
    colours = picture.shape[2:]
    if picture.dtype != np.uint8 or picture.ndim not in (2, 3) or colours not in ((), (3,)):
        raise RecordingError(
            f"{where}: received {picture.dtype} of shape {picture.shape}, allowed is uint8, (H, W) or (H, W, 3)"
        )
    return picture if picture.ndim == 2 else cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


class _Detector(pupil_apriltags.Detector):
    """The library's detector without its finaliser, which frees the tag family before the detector that refers to it
    and so crashes at exit. One detector lives as long as the process."""

    def __del__(self):
        pass


@cache
def _detector() -> _Detector:
    return _Detector(TAG_FAMILY, quad_decimate=1.0)
