"""One recording on its way through `r2s2r retarget`: read, split where tracking was lost, retargeted, written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.behavior.clip import retargeting_clip
from r2s2r.behavior.motion import RobotMotion, retarget
from r2s2r.behavior.teleop_clip import teleop_clip
from r2s2r.cli.retarget_places import Place
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.errors import R2S2RError, RecordingError
from r2s2r.contracts.provenance import provenance
from r2s2r.evaluation.charts import svg
from r2s2r.evaluation.clips import write_clip
from r2s2r.evaluation.retargeting_charts import residuals_over_time
from r2s2r.evaluation.retargeting_report import Refusal, RetargetingEntry
from r2s2r.recording.g1_inspire import right_hand
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.load import load_recording
from r2s2r.recording.mirroring import mirrored
from r2s2r.recording.resampling import resample
from r2s2r.recording.statement import describe
from r2s2r.recording.teleop_recording import TeleopRecording
from r2s2r.recording.tracking import split_tracked
from r2s2r.recording.video import read_pictures

Film = Callable[[RobotMotion, int], np.ndarray]
"""Makes the clip of a motion, of no more than so many frames."""


@dataclass(frozen=True)
class Options:
    """What the command was asked for."""

    source: str | None
    """Type of the recordings; told from each if None."""
    handedness: str | None
    """Hand to read; what the file says if None."""
    mirror: bool
    """Make right hands of left ones."""
    clip_seconds: float
    """Longest clip [s]; 0 for none."""


@dataclass(frozen=True)
class Result:
    """What became of one tracked part of a recording."""

    entry: RetargetingEntry
    """For the report."""
    summary: dict[str, Any]
    """For people and programs, JSON-able."""


def retarget_place(place: Place, options: Options) -> tuple[list[Result], list[Refusal]]:
    """Return the results of one recording and its parts that could not be used.

    Raises:
        R2S2RError: the recording cannot be read.
    """
    recording = load_recording(place.path, options.source, options.handedness, place.member)
    for kind, results in RETARGETERS.items():
        if isinstance(recording, kind):
            return results(recording, place, options)
    raise RecordingError(f"{place.path}: a {type(recording).__name__} cannot be retargeted")


def retarget_hand_recording(
    recording: HandRecording, place: Place, options: Options, film: Film = retargeting_clip
) -> tuple[list[Result], list[Refusal]]:
    """Return a result for each part of `recording` in which the hand was tracked, and what could not be used.

    Args:
        recording: of a hand, with what was not tracked marked.
        place: where its results go.
        options: what was asked for.
        film: makes the clip of each part.

    Raises:
        RecordingError: a left hand that is not to be mirrored, or no part is long enough.
    """
    if recording.handedness == "left":
        if not options.mirror:
            raise RecordingError(
                f"{recording.source}: a left hand, the robot hand is a right one; --mirror makes a right hand of it"
            )
        recording = mirrored(recording)
    statement = describe(recording)
    parts = split_tracked(recording)
    results, refusals = [], []
    for number, part in enumerate(parts, start=1):
        whole = len(parts) == 1
        name = place.name if whole else f"{place.name}, part {number} of {len(parts)}"
        out = place.out if whole else place.out / f"part_{number}"
        said = statement.lines() if whole else (*statement.lines(), f"this part: {describe(part).duration_s:.2f} s")
        try:
            motion = retarget(_at_policy_rate(part))
            results.append(_written(motion, name, out, place, options, said, {"statement": statement.summary()}, film))
        except R2S2RError as error:
            refusals.append(Refusal.of(name, place.path, error))
    return results, refusals


def retarget_teleop_recording(
    recording: TeleopRecording, place: Place, options: Options
) -> tuple[list[Result], list[Refusal]]:
    """Return the results for the right arm and hand of a teleoperated robot, its video beside them if there is one.

    Raises:
        RecordingError: it is no robot whose hand is known, or the video is damaged.
    """
    hand, video = right_hand(recording), recording.video
    pictures = read_pictures(video, len(recording)) if video is not None and options.clip_seconds else None

    def film(motion: RobotMotion, max_frames: int) -> np.ndarray:
        rows = np.rint(motion.recording.time_s * recording.rate_hz).astype(int)
        return teleop_clip(motion, None if pictures is None else pictures[rows], max_frames)

    return retarget_hand_recording(hand, place, options, film)


RETARGETERS: dict[type, Callable[[Any, Place, Options], tuple[list[Result], list[Refusal]]]] = {
    HandRecording: retarget_hand_recording,
    TeleopRecording: retarget_teleop_recording,
}
"""What is done with each kind of recording that a loader returns."""


def _at_policy_rate(recording: HandRecording) -> HandRecording:
    # Single poses are no motion: there is nothing between them to interpolate.
    if recording.rate_hz < POLICY_RATE_HZ / 2:
        return recording
    return resample(recording, POLICY_RATE_HZ).recording


def _written(
    motion: RobotMotion,
    name: str,
    out: Path,
    place: Place,
    options: Options,
    said: tuple[str, ...],
    extra: dict[str, Any],
    film: Film,
) -> Result:
    """Write trajectory and clip, and return what is said about them."""
    config = {"source": options.source, "handedness": options.handedness, "mirror": options.mirror}
    origin = provenance(config, inputs=place.files)
    motion.save(out / "trajectory.npz", origin)
    summary: dict[str, Any] = {"recording": place.path.name, **motion.summary(), **extra}
    if place.path.is_file():
        (summary["recording_sha256"],) = origin["inputs"].values()
    summary["trajectory"] = str(out / "trajectory.npz")
    clip = None
    if options.clip_seconds:
        rate_hz = motion.recording.rate_hz
        frames = film(motion, max(2, round(options.clip_seconds * rate_hz)))
        clip = write_clip(out / "clip.mp4", frames, rate_hz)
        summary["clip"] = str(clip)
    left_out = tuple(f"left out: {reason}" for reason in motion.left_out)
    entry = RetargetingEntry(name, (*said, *left_out), clip, _figures(summary), _charts(motion))
    return Result(entry, summary)


def _figures(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the row of the report's table."""
    figures: dict[str, Any] = {"time [s]": summary["frames"] / summary["rate_hz"]}
    for key, what, most in (("fingertip_residual_m", "fingertips", "q95"), ("wrist_error_m", "wrist", "max")):
        if key in summary:
            figures[f"{what} [mm]"] = round(1e3 * summary[key]["median"], 2)
            figures[f"{what}, {most.replace('q95', '95 %')} [mm]"] = round(1e3 * summary[key][most], 2)
    if "status" in summary:
        counts = {name.replace("_", " "): count for name, count in summary["status"].items() if count}
        figures["frames"] = ", ".join(f"{count} {name}" for name, count in counts.items())
    return figures


def _charts(motion: RobotMotion) -> dict[str, str]:
    chart = residuals_over_time(
        motion.recording.time_s,
        None if motion.hand is None else motion.hand.residual_m,
        None if motion.wrist is None else motion.wrist_error_m,
        motion.recording.tracked,
    )
    return {"Distance of fingertips and wrist from where they should be": svg(chart)}
