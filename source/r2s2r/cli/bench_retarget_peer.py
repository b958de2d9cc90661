"""dex_retargeting, its two objectives on a recording, and the same objectives as our solver takes them.

Its vector objective is the mean Huber loss of the ways from the palm to the four fingertips against the human's scaled
ones; DexPilot's has the ways between the tips too, and draws tips together whose human counterparts nearly touch. Both
are drawn to the frame before. The peer hands its optimiser the gradient of that sum but the value without the last
term; here it is a term of both.
"""

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_objective import ORIGIN, HandGoals, HandObjective
from r2s2r.behavior.palm_points import THUMB_TIP, TIP, in_palm
from r2s2r.contracts.errors import MissingDependencyError
from r2s2r.recording.hand_recording import HandRecording

SCALE = 1.6
"""Robot over human hand, of the peer's Allegro configurations."""

WRIST_BEHIND_PALM_M = 0.095
"""The wrist link of the peer's configurations lies so far behind the palm frame, along the hand [m]."""

NORM_DELTA = 4e-3
"""The peer's weight of the way from the frame before."""

VECTORS = ((0, ORIGIN), (1, ORIGIN), (2, ORIGIN), (3, ORIGIN))
"""Points (to, from) of the vector objective: palm to the tips of thumb, index, middle and ring finger."""

TIP_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
"""Points (to, from) of DexPilot's ways between tips; the first three end at the thumb."""

PROJECT_M, ESCAPE_M = 0.03, 0.05
"""DexPilot draws tips together below the first human distance, until it is above the second [m]."""

DRAWN_TO_M = (1e-4,) * 3 + (3e-2,) * 3
"""Distance that DexPilot draws the tips of each pair to [m]."""

DRAWN_WEIGHT = (200.0,) * 3 + (400.0,) * 3
"""Weight of each pair that is drawn together, against 1."""

_TIP_LINKS = [f"link_{joint}.0_tip" for joint in (15, 3, 7, 11)]


@dataclass(frozen=True)
class PeerCase:
    """One objective of the peer on one recording of T frames."""

    name: str
    """Objective."""
    peer: Any
    """The peer's own retargeter."""
    inputs: np.ndarray
    """(T, V, 3) what it is given frame by frame [m]."""
    objective: HandObjective
    """The same objective."""
    goals: HandGoals
    """The same goals."""
    start: np.ndarray
    """(16,) where it starts [rad]."""

    def retarget(self) -> np.ndarray:
        """Return the peer's joints (T, 16) [rad], by its own loop from its own start."""
        self.peer.reset()
        joint_pos = np.array([self.peer.retarget(frame) for frame in self.inputs])
        return joint_pos[:, [self.peer.joint_names.index(f"joint_{joint}.0") for joint in range(16)]]


def vector_case(hand: HandModel, recording: HandRecording) -> PeerCase:
    """Return the vector objective on `recording`.

    Raises:
        MissingDependencyError: dex_retargeting or the robot's description is not installed.
    """
    settings = {
        "target_origin_link_names": ["palm_link"] * 4,
        "target_task_link_names": _TIP_LINKS,
        "target_link_human_indices": np.array([[0] * 4, [THUMB_TIP, *TIP]]),
    }
    inputs = _from_wrist(_tips(recording))
    frames = len(inputs)
    goals = HandGoals(SCALE * inputs, np.full((frames, len(VECTORS)), 1.0 / len(VECTORS)), np.ones(frames))
    return PeerCase("vector", _build("vector", settings), inputs, _objective(VECTORS, 0.02), goals, _middle(hand))


def dexpilot_case(hand: HandModel, recording: HandRecording) -> PeerCase:
    """Return DexPilot's objective on `recording`.

    Raises:
        MissingDependencyError: dex_retargeting or the robot's description is not installed.
    """
    tips = _tips(recording)
    to, start = np.array(TIP_PAIRS).T
    pairs = tips[:, to] - tips[:, start]
    drawn = _drawn_together(pairs)
    distance = np.linalg.norm(pairs, axis=-1, keepdims=True)
    towards = pairs / (distance + 1e-6) * np.array(DRAWN_TO_M)[:, None]
    inputs = np.concatenate([pairs, _from_wrist(tips)], axis=1)
    vectors = np.concatenate([np.where(drawn[..., None], towards, SCALE * pairs), SCALE * _from_wrist(tips)], axis=1)
    count = inputs.shape[1]
    weights = np.full(inputs.shape[:2], float(count))
    weights[:, : len(TIP_PAIRS)] = np.where(drawn, DRAWN_WEIGHT, 1.0)
    goals = HandGoals(vectors, weights / count, np.ones(len(inputs)))
    settings = {"wrist_link_name": "palm_link", "finger_tip_link_names": _TIP_LINKS}
    objective = _objective((*TIP_PAIRS, *VECTORS), 0.03)
    return PeerCase("dexpilot", _build("dexpilot", settings), inputs, objective, goals, _middle(hand))


def _objective(vectors: tuple[tuple[int, int], ...], huber_delta_m: float) -> HandObjective:
    """Return an objective of the peer: neither posture nor contact, and each frame solved from the one before alone."""
    return HandObjective(
        vectors=vectors,
        huber_delta_m=huber_delta_m,
        temporal_weight_s=NORM_DELTA,
        posture_weight=0.0,
        contact_weight=0.0,
        retry_cost=1e6,
    )


def _middle(hand: HandModel) -> np.ndarray:
    return 0.5 * (hand.lower + hand.upper)


def _tips(recording: HandRecording) -> np.ndarray:
    """Return the tips of thumb, index, middle and ring finger (T, 4, 3) in the palm's axes, from the wrist [m]."""
    points = in_palm(recording.keypoints_m, recording.wrist_pos, recording.wrist_quat)
    return points[:, (THUMB_TIP, *TIP)]


def _from_wrist(tips: np.ndarray) -> np.ndarray:
    """Return the human's ways from where the robot's palm frame is, whose scaled ways are those of the wrist link."""
    return tips - np.array([0.0, 0.0, WRIST_BEHIND_PALM_M / SCALE])


def _drawn_together(pairs: np.ndarray) -> np.ndarray:
    """Return which pairs of tips (T, 6) DexPilot draws together, frame after frame."""
    distance = np.linalg.norm(pairs, axis=-1)
    drawn = np.zeros(distance.shape, dtype=bool)
    state = np.zeros(3, dtype=bool)
    for frame, near in enumerate(distance):
        state = (state | (near[:3] < PROJECT_M)) & ~(near[:3] > ESCAPE_M)
        between = [state[to - 1] and state[start - 1] for to, start in TIP_PAIRS[3:]]
        drawn[frame] = [*state, *(np.array(between) & (near[3:] <= PROJECT_M))]
    return drawn


def _build(kind: str, settings: dict[str, Any]) -> Any:
    """Return the peer's retargeter for the Allegro hand, without its low-pass and with the limits as they are."""
    try:
        from dex_retargeting.retargeting_config import RetargetingConfig

        files = importlib.metadata.files("example-robot-data") or []
        urdf = next(Path(str(file.locate())) for file in files if file.name == "allegro_right_hand.urdf")
    except (ImportError, StopIteration) as error:
        raise MissingDependencyError(f"bench retarget: {error}; pip install 'r2s2r[sim,test]'") from error
    config = {"type": kind, "urdf_path": str(urdf), "scaling_factor": SCALE, "low_pass_alpha": 1.0}
    peer = RetargetingConfig.from_dict(config | settings).build()
    # It allows itself a thousandth beyond the limits otherwise.
    peer.optimizer.set_joint_limit(peer.joint_limits, epsilon=0.0)
    return peer
