"""Human hand motion to the joints of the robot hand, recordings in a batch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_objective import TIPS, HandGoals
from r2s2r.behavior.hand_solver import HandSolution, HandSolver, Piece
from r2s2r.behavior.hand_targets import HandTargets, hand_goals
from r2s2r.behavior.human_hand import HumanHand
from r2s2r.behavior.low_pass import low_pass
from r2s2r.behavior.palm_points import palm_points
from r2s2r.contracts.errors import ConfigError, RetargetingError
from r2s2r.recording.hand_recording import HandRecording, held_frames

OUT_OF_REACH_M = 0.05
"""A fingertip that stays further than this from its target is out of reach [m]."""

PIECE_FRAMES = 256
"""On a GPU a recording is cut into pieces of so many frames, one thread each."""

WARM_UP_S = 1.0
"""Each piece but the first begins so much earlier [s]: five times as long as the objective remembers a posture."""


class FrameStatus(IntEnum):
    """How a frame of the result came about."""

    SOLVED = 0
    PARTLY_MEASURED = 1
    """At least one finger was not measured; it holds its last target."""
    HELD = 2
    """Nothing measured, or no solution: the last solution is held."""
    OUT_OF_REACH = 3
    """A fingertip stays far from its target; the posture is the closest one."""


@dataclass(frozen=True)
class RetargetedHand:
    """Joint targets of the robot hand over T frames."""

    time_s: np.ndarray
    """(T,) as in the recording [s]."""

    joint_pos: np.ndarray
    """(T, 16) [rad] in the order of `contracts.joints.HAND_JOINTS`, within the limits."""

    status: np.ndarray
    """(T,) int64, values of :class:`FrameStatus`."""

    residual_m: np.ndarray
    """(T,) mean distance of the measured fingertips from their targets; NaN where nothing was measured [m]."""


def retarget_hand(
    recording: HandRecording, hand: HandModel | None = None, human: HumanHand | None = None
) -> RetargetedHand:
    """Return the robot hand's motion for a recording.

    Args:
        recording: of a right hand.
        hand: the robot hand; None for the default one.
        human: the person's hand; None to measure it in the recording.

    Raises:
        RetargetingError: a left hand, a finger that is never measured, or no frame that can be solved.
    """
    return retarget_hands([recording], hand, None if human is None else [human])[0]


def retarget_hands(
    recordings: Sequence[HandRecording],
    hand: HandModel | None = None,
    humans: Sequence[HumanHand] | None = None,
    device: str = "cpu",
) -> list[RetargetedHand]:
    """Return the robot hand's motion for each of several recordings, solved together.

    Args:
        recordings: of right hands.
        hand: the robot hand; None for the default one.
        humans: the person's hand of each recording; None to measure them.
        device: Warp device. On a GPU long recordings are cut, and join to a few milliradians.

    Raises:
        RetargetingError: a left hand, a finger that is never measured, or no frame that can be solved.
        ConfigError: not one human hand a recording.
    """
    if humans is not None and len(humans) != len(recordings):
        raise ConfigError(f"humans: received {len(humans)} for {len(recordings)} recordings, allowed is one each")
    if not recordings:
        return []
    solver = HandSolver(hand or HandModel(), device=device)
    people = humans or [None] * len(recordings)
    tracks = [_read(recording, solver.hand, human) for recording, human in zip(recordings, people, strict=True)]
    ends = np.cumsum([len(track.goals) for track in tracks])
    goals = HandGoals(
        np.concatenate([track.goals.vectors for track in tracks]),
        np.concatenate([track.goals.weights for track in tracks]),
        np.concatenate([track.goals.step_s for track in tracks]),
    )
    spans = list(zip(ends - [len(track.goals) for track in tracks], ends, strict=True))
    cut = None if device == "cpu" else PIECE_FRAMES
    pieces = [piece for span, track in zip(spans, tracks, strict=True) for piece in cut_span(span, track.rate_hz, cut)]
    solution = solver.solve(goals, pieces)
    return [
        _result(recording, track.measured, _part(solution, *span))
        for recording, track, span in zip(recordings, tracks, spans, strict=True)
    ]


def cut_span(span: tuple[int, int], rate_hz: float, frames: int | None) -> list[Piece]:
    """Return frames `span[0]` to `span[1]` in pieces of so many `frames` with a warm-up each; None: in one."""
    begin, end = span
    warm_up = int(np.ceil(WARM_UP_S * rate_hz))
    return [
        Piece(max(begin, keep - warm_up), keep, min(end, keep + (frames or end - begin)))
        for keep in range(begin, end, frames or end - begin)
    ]


@dataclass(frozen=True)
class _Track:
    """A recording as the solver takes it."""

    goals: HandGoals
    measured: np.ndarray
    rate_hz: float


def _read(recording: HandRecording, hand: HandModel, human: HumanHand | None) -> _Track:
    points, measured = palm_points(recording)
    targets = HandTargets(hand, human or HumanHand.of_points(points))
    goals = hand_goals(targets, points, measured, recording.time_s)
    # Filtering targets, not joints, keeps a frame that fails from touching its neighbours.
    return _Track(replace(goals, vectors=low_pass(goals.vectors, recording.rate_hz)), measured, recording.rate_hz)


def _part(solution: HandSolution, begin: int, end: int) -> HandSolution:
    return HandSolution(solution.joint_pos[begin:end], solution.error_m[begin:end], solution.steps[begin:end])


def frame_status(solved: np.ndarray, measured: np.ndarray, distance_m: np.ndarray) -> np.ndarray:
    """Return the :class:`FrameStatus` of each frame (T,) int64.

    Args:
        solved: (T,) bool.
        measured: which fingers were (T, 4) bool.
        distance_m: of the fingertips from their targets (T, 4) [m].
    """
    far = np.any(measured & (distance_m > OUT_OF_REACH_M), axis=-1)
    partly = ~measured.all(axis=-1)
    states = [FrameStatus.HELD, FrameStatus.OUT_OF_REACH, FrameStatus.PARTLY_MEASURED]
    return np.select([~solved, far, partly], states, FrameStatus.SOLVED).astype(np.int64)


def _result(recording: HandRecording, measured: np.ndarray, solution: HandSolution) -> RetargetedHand:
    joint_pos = _hold_last(solution.joint_pos, solution.solved, recording)
    distance, count = solution.error_m[:, TIPS], measured.sum(axis=-1)
    total = np.where(measured, distance, 0.0).sum(axis=-1)
    residual = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return RetargetedHand(recording.time_s, joint_pos, frame_status(solution.solved, measured, distance), residual)


def _hold_last(joint_pos: np.ndarray, solved: np.ndarray, recording: HandRecording) -> np.ndarray:
    """Return joint positions in which an unsolved frame has the last solved one's, before the first those of the first.

    The kernel holds too, but each piece only what it has seen.
    """
    if not solved.any():
        raise RetargetingError(f"{recording.source}: no frame could be retargeted; check its unit and its wrist frame")
    return joint_pos[held_frames(solved)]
