"""What `r2s2r bench retarget` measures. Times are the process's on one core, so that other programs do not count."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_objective import HandGoals, hand_cost
from r2s2r.behavior.hand_solver import HandSolver, Piece
from r2s2r.behavior.human_hand import HumanHand
from r2s2r.behavior.live_retargeting import LiveRetargeter
from r2s2r.behavior.retargeting import retarget_hand
from r2s2r.cli.bench_retarget_peer import PeerCase, dexpilot_case, vector_case
from r2s2r.contracts.errors import RecordingError
from r2s2r.recording.catalogue import NO_DATA_REASON, data_file
from r2s2r.recording.hand_recording import HandRecording
from r2s2r.recording.load import load_hand_recording
from r2s2r.recording.tracking import part_of

RECORDINGS = ("human_joint_right", "leap_grab", "leap_pinch")
"""Recorded right hands with all keypoints; the first is the one that the peer itself is timed with."""

DIGITS = 6
"""Decimals of the costs in the summary."""


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core; NumPy's and torch's threads then share it."""
    cores, threads = os.sched_getaffinity(0), torch.get_num_threads()
    os.sched_setaffinity(0, {min(cores)})
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        os.sched_setaffinity(0, cores)


def peer_rows(max_frames: int, streams: int, repetitions: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each recording and objective, the peer's and our rate measured in turns.

    Raises:
        RecordingError: there are no recorded data.
        MissingDependencyError: the peer is not installed.
    """
    hand = HandModel()
    for name in RECORDINGS:
        recording = _recording(name, max_frames)
        for case in (vector_case(hand, recording), dexpilot_case(hand, recording)):
            yield {"recording": name, "objective": case.name} | _compared(hand, case, streams, repetitions)


def own_rows(max_frames: int, repetitions: int) -> Iterator[dict[str, Any]]:
    """Yield the rates on each recording with our own objective, as a whole and live.

    Raises:
        RecordingError: there are no recorded data.
    """
    hand = HandModel()
    for name in RECORDINGS:
        yield {"recording": name} | _own(hand, _recording(name, max_frames), repetitions)


def _own(hand: HandModel, recording: HandRecording, repetitions: int) -> dict[str, Any]:
    retarget_hand(recording, hand)  # loads the kernel
    whole_s = [_timed(lambda: retarget_hand(recording, hand)) for _ in range(repetitions)]
    live = LiveRetargeter(HumanHand.measure(recording), hand)
    live_s = np.array([_timed(lambda frame=frame: _follow(live, recording, frame)) for frame in range(len(recording))])
    return {
        "frames": len(recording),
        "frames_per_s": len(recording) / float(np.median(whole_s)),
        "live_frames_per_s": float(1.0 / live_s.mean()),
        "live_median_s": float(np.median(live_s)),
        "live_q99_s": float(np.quantile(live_s, 0.99)),
        "live_max_s": float(live_s.max()),
    }


def _compared(hand: HandModel, case: PeerCase, streams: int, repetitions: int) -> dict[str, Any]:
    solver, frames = HandSolver(hand, case.objective), len(case.goals)
    goals = HandGoals(*(np.concatenate([part] * streams) for part in vars(case.goals).values()))
    pieces = [Piece(begin, begin, begin + frames) for begin in range(0, streams * frames, frames)]
    start = np.tile(case.start, (streams, 1))
    ours = solver.solve(goals, pieces, start).joint_pos[:frames]  # loads the kernel too
    theirs = case.retarget()
    times = [
        (_timed(case.retarget), _timed(lambda: solver.solve(goals, pieces, start)) / streams)
        for _ in range(repetitions)
    ]
    peer_s, ours_s = np.array(times).T
    ratios = peer_s / ours_s
    return {
        "frames": frames,
        "streams": streams,
        "repetitions": repetitions,
        "ratio": float(np.median(ratios)),
        "ratio_range": [float(ratios.min()), float(ratios.max())],
        "ours": {"frames_per_s": frames / float(np.median(ours_s))} | _costs(hand, case, ours),
        "peer": {"frames_per_s": frames / float(np.median(peer_s))} | _costs(hand, case, theirs),
        "same_problems": _same_problems(solver, case, theirs),
    }


def _costs(hand: HandModel, case: PeerCase, joint_pos: np.ndarray) -> dict[str, float]:
    """Return the objective of joints (T, 16), each frame drawn to that side's own frame before."""
    previous = np.vstack([case.start, joint_pos[:-1]])
    cost = hand_cost(hand, case.objective, case.goals, joint_pos, previous)
    return {
        "cost_mean": round(float(cost.total.mean()), DIGITS),
        "cost_median": round(float(np.median(cost.total)), DIGITS),
        "vectors_mean": round(float(cost.vectors.mean()), DIGITS),
        "vectors_median": round(float(np.median(cost.vectors)), DIGITS),
    }


def _same_problems(solver: HandSolver, case: PeerCase, theirs: np.ndarray) -> dict[str, float]:
    """Return costs where we solve each frame from the peer's posture of the frame before, drawn to that, as it did.

    On its own each side goes its own way, and the cheaper posture now may be the dearer start for the next frame.
    """
    previous = np.vstack([case.start, theirs[:-1]])
    pieces = [Piece(frame, frame, frame + 1) for frame in range(len(theirs))]
    ours = solver.solve(case.goals, pieces, previous).joint_pos
    cost, peer_cost = (
        hand_cost(solver.hand, case.objective, case.goals, joint_pos, previous).total for joint_pos in (ours, theirs)
    )
    return {
        "ours_mean": round(float(cost.mean()), DIGITS),
        "peer_mean": round(float(peer_cost.mean()), DIGITS),
        "share_not_higher": float(np.mean(cost <= peer_cost + 10.0**-DIGITS)),
    }


def _recording(name: str, max_frames: int) -> HandRecording:
    path = data_file(name)
    if path is None:
        raise RecordingError(f"bench retarget: {NO_DATA_REASON}")
    recording = load_hand_recording(path)
    return part_of(recording, 0, min(max_frames, len(recording)) - 1)


def _follow(live: LiveRetargeter, recording: HandRecording, frame: int) -> Any:
    wrist = recording.wrist_pos, recording.wrist_quat
    pos, quat = (None if part is None else part[frame] for part in wrist)
    return live.retarget(recording.time_s[frame], recording.keypoints_m[frame], pos, quat)


def _timed(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
