"""A recorded human hand, whatever the device: keypoints over time, the wrist's pose and what was tracked."""

from dataclasses import dataclass

import numpy as np

from r2s2r.contracts.errors import RecordingError
from r2s2r.contracts.transforms import quat_rotate
from r2s2r.recording.chirality import measured_chirality
from r2s2r.recording.hand_facts import HANDEDNESS, SourceFacts, TrackingSpan

KEYPOINTS = (
    "wrist",
    *(f"thumb_{joint}" for joint in ("cmc", "mcp", "ip", "tip")),
    *(f"{finger}_{joint}" for finger in ("index", "middle", "ring", "pinky") for joint in ("mcp", "pip", "dip", "tip")),
)
"""The 21 keypoints in MediaPipe's order."""

PALM_LENGTH_RANGE = (0.05, 0.15)
"""Wrist to middle knuckle [m]: from a small child's hand to beyond the largest adult's (most adults: 0.08..0.11)."""

SPAN_RANGE = (0.06, 0.30)
"""Largest distance between two keypoints of a frame [m], where wrist or middle knuckle are not measured."""

MIN_AXIS_COSINE = 0.5
"""Wrist axes and knuckles must agree within 60 deg: knuckles are a coarse measure, other conventions are 90 deg off."""


@dataclass(frozen=True)
class HandRecording:
    """One hand over T frames.

    Keypoints, wrist and object share one frame: the source's world turned so that z points up or, for a hand-local
    source (no wrist pose), axes fixed to the wrist. The wrist frame has x out of the palm and z along the fingers, like
    the robot hand's palm frame.

    Raises:
        RecordingError: too few frames, times that do not increase, a wrong shape, a tracked keypoint that is not
            finite, another unit than metres, wrist axes that the knuckles contradict, or a handedness that the fingers
            contradict or cannot confirm.
    """

    source: str
    """Device and file, for messages."""

    handedness: str
    """`right` or `left`."""

    time_s: np.ndarray
    """(T,) on the source's clock, increasing [s]."""

    keypoints_m: np.ndarray
    """(T, 21, 3) in the order of :data:`KEYPOINTS` [m]; stored as NaN where `valid` is False."""

    valid: np.ndarray
    """(T, 21) bool: the keypoint was measured in this frame; False for all where the wrist was not."""

    wrist_pos: np.ndarray | None = None
    """(T, 3) [m], where `wrist_valid` is False the last valid one; None for a hand-local source."""

    wrist_quat: np.ndarray | None = None
    """(T, 4) xyzw, where `wrist_valid` is False the last valid one; None for a hand-local source."""

    object_pos: np.ndarray | None = None
    """(T, 3) of the object that is reached for [m]; None where there is none."""

    wrist_valid: np.ndarray | None = None
    """(T,) bool: the wrist was measured in this frame, all unless given; None for a hand-local source."""

    facts: SourceFacts | None = None
    """How the file was read; None for a recording that comes from no file."""

    spans: tuple[TrackingSpan, ...] = ()
    """What `recording.tracking` found."""

    measured_handedness: str = ""
    """What the bend of the fingers says; measured here unless handed down by the recording that this is a part of."""

    def __post_init__(self):
        self._check_shapes()
        self._check_time()
        self._hold_wrist()
        self._check_keypoints()
        self._check_size()
        self._check_wrist_axes()
        self._check_handedness()

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def tracked(self) -> np.ndarray:
        """(T,) bool: at least one keypoint was measured, and the wrist where the source measures it."""
        return np.any(self.valid, axis=1)

    @property
    def rate_hz(self) -> float:
        """Median frame rate [Hz]."""
        return float(1.0 / np.median(np.diff(self.time_s)))

    @property
    def size(self) -> tuple[float, bool]:
        """Median length of the palm [m] and True; where that was not measured, of the keypoints' span, and False."""
        palm = np.linalg.norm(self.keypoints_m[:, 9] - self.keypoints_m[:, 0], axis=-1)
        if np.isfinite(palm).any():
            return float(np.nanmedian(palm)), True
        points = self.keypoints_m[self.tracked]
        extent = np.nanmax(points, axis=1) - np.nanmin(points, axis=1)
        return float(np.median(np.linalg.norm(extent, axis=-1))), False

    def _check_shapes(self) -> None:
        if self.handedness not in HANDEDNESS:
            raise RecordingError(
                f"{self.source}: handedness is {self.handedness!r}, allowed are {', '.join(HANDEDNESS)}"
            )
        frames = len(self.time_s)
        if frames < 2:
            raise RecordingError(f"{self.source}: {frames} frames, at least 2 are needed")
        shapes = {"time_s": (frames,), "keypoints_m": (frames, 21, 3), "valid": (frames, 21)}
        shapes |= {"wrist_pos": (frames, 3), "wrist_quat": (frames, 4), "object_pos": (frames, 3)}
        shapes |= {"wrist_valid": (frames,)}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is None and name in ("wrist_pos", "wrist_quat", "object_pos", "wrist_valid"):
                continue
            array = np.asarray(value, dtype=bool if name in ("valid", "wrist_valid") else float)
            if array.shape != shape:
                raise RecordingError(f"{self.source}: {name} has shape {array.shape}, expected {shape}")
            if name in ("time_s", "object_pos"):
                self._check_finite(name, array)
            object.__setattr__(self, name, array)
        if (self.wrist_pos is None) != (self.wrist_quat is None):
            raise RecordingError(f"{self.source}: wrist position and orientation come together or not at all")
        if self.wrist_pos is None and self.wrist_valid is not None:
            raise RecordingError(f"{self.source}: wrist_valid is given without a wrist")

    def _check_finite(self, name: str, array: np.ndarray, frames: np.ndarray | slice = slice(None)) -> None:
        finite = np.all(np.isfinite(array.reshape(len(array), -1)), axis=-1)
        if not finite[frames].all():
            frame = int(np.arange(len(array))[frames][np.argmin(finite[frames])])
            raise RecordingError(f"{self.source}: {name} is not finite at frame {frame}")

    def _check_time(self) -> None:
        steps = np.diff(self.time_s)
        if (steps <= 0.0).any():
            raise RecordingError(f"{self.source}: time does not increase at frame {int(np.argmax(steps <= 0.0)) + 1}")

    def _hold_wrist(self) -> None:
        """Put the last valid wrist where none was measured, before the first one that one: never zero, never NaN."""
        if self.wrist_pos is None or self.wrist_quat is None:
            return
        valid = np.ones(len(self), dtype=bool) if self.wrist_valid is None else self.wrist_valid
        if not valid.any():
            raise RecordingError(f"{self.source}: the wrist is not tracked in any of {len(self)} frames")
        for name, array in (("wrist_pos", self.wrist_pos), ("wrist_quat", self.wrist_quat)):
            self._check_finite(name, array, valid)
            object.__setattr__(self, name, array[held_frames(valid)])
        object.__setattr__(self, "wrist_valid", valid)
        object.__setattr__(self, "valid", self.valid & valid[:, None])

    def _check_keypoints(self) -> None:
        if not self.valid.any():
            raise RecordingError(f"{self.source}: the hand is not tracked in any of {len(self)} frames")
        broken = self.valid & ~np.all(np.isfinite(self.keypoints_m), axis=-1)
        if broken.any():
            frame, keypoint = np.argwhere(broken)[0]
            raise RecordingError(
                f"{self.source}: keypoint {KEYPOINTS[keypoint]} is not finite at frame {frame}; "
                "mark it as not valid or mend the file"
            )
        object.__setattr__(self, "keypoints_m", np.where(self.valid[..., None], self.keypoints_m, np.nan))

    def _check_size(self) -> None:
        length, is_palm = self.size
        if is_palm:
            self._check_range("palm length", length, PALM_LENGTH_RANGE)
        else:
            self._check_range("span of the keypoints", length, SPAN_RANGE)

    def _check_range(self, what: str, length: float, allowed: tuple[float, float]) -> None:
        low, high = allowed
        if low <= length <= high:
            return
        hint = ""
        for unit, factor in (("millimetres", 1000.0), ("centimetres", 100.0)):
            if low <= length / factor <= high:
                hint = f"; are these {unit}? divide by {factor:g}"
        raise RecordingError(f"{self.source}: {what} is {length:.4g} m, a hand has {low} to {high} m{hint}")

    def _check_wrist_axes(self) -> None:
        """Refuse a wrist frame of another convention: z must lead to the knuckles, y along their row."""
        if self.wrist_pos is None or self.wrist_quat is None:
            return
        points = self.keypoints_m
        bases = np.where(np.isfinite(points[:, (5, 9, 17)]), points[:, (5, 9, 17)], points[:, (6, 10, 18)])
        for axis, direction in (("z", bases[:, 1] - self.wrist_pos), ("y", bases[:, 0] - bases[:, 2])):
            unit = quat_rotate(self.wrist_quat, np.eye(3)["xyz".index(axis)])
            cosine = np.sum(unit * direction, axis=-1) / np.maximum(np.linalg.norm(direction, axis=-1), 1e-9)
            # Which way y points along the row of knuckles is the handedness, which has its own check.
            cosine = np.abs(cosine) if axis == "y" else cosine
            cosine = cosine[np.isfinite(cosine)]
            if len(cosine) and np.median(cosine) < MIN_AXIS_COSINE:
                away = np.degrees(np.arccos(np.median(cosine)))
                raise RecordingError(
                    f"{self.source}: the wrist's {axis} axis points {away:.0f} deg away from where the knuckles say; "
                    "x leads out of the palm, z along the fingers"
                )

    def _check_handedness(self) -> None:
        along = None if self.wrist_quat is None else quat_rotate(self.wrist_quat, np.array([0.0, 0.0, 1.0]))
        measured = self.measured_handedness or measured_chirality(self.keypoints_m, along)
        object.__setattr__(self, "measured_handedness", measured)
        if measured == "undecided":
            raise RecordingError(
                f"{self.source}: handedness undecided, the fingers are never bent; record a frame with bent fingers"
            )
        if measured != self.handedness:
            raise RecordingError(
                f"{self.source}: given as a {self.handedness} hand, but its fingers bend as a {measured} hand's do; "
                "correct the label or say that the picture was mirrored"
            )


def held_frames(measured: np.ndarray) -> np.ndarray:
    """Return for each frame of `measured` (T,) bool the last measured one until then, at the beginning the first (T,).

    At least one frame is measured.
    """
    return np.flatnonzero(measured)[np.maximum(np.cumsum(measured) - 1, 0)]
