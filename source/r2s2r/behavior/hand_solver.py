"""The hand's objective minimised over many recordings at once, on a Warp device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from r2s2r.behavior import hand_contact_kernels, hand_objective_kernels, hand_solver_kernels
from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_objective import POINTS, HandGoals, HandObjective
from r2s2r.contracts.errors import RobotDescriptionError
from r2s2r.contracts.transforms import quat_from_matrix


@dataclass(frozen=True)
class HandSolution:
    """Postures over T frames."""

    joint_pos: np.ndarray
    """(T, 16) [rad], within the limits; a frame that is not solved has the one before."""
    error_m: np.ndarray
    """(T, V) how far each vector is from its target [m]."""
    steps: np.ndarray
    """(T,) Newton steps tried; 0: not solved."""

    @property
    def solved(self) -> np.ndarray:
        """(T,) bool."""
        return self.steps > 0


@dataclass(frozen=True)
class Piece:
    """Frames that one thread solves in the order of time."""

    begin: int
    """First frame that is solved."""
    keep: int
    """First frame whose solution is kept; what comes before it only finds the way there."""
    end: int
    """Frame behind the last."""


class HandSolver:
    """A hand and an objective on a device. Equal input gives equal output, bit by bit, on one device."""

    def __init__(self, hand: HandModel, objective: HandObjective | None = None, device: str = "cpu"):
        """Prepare the hand on the device.

        Args:
            hand: the robot hand.
            objective: what to minimise; None for the defaults.
            device: Warp device.

        Raises:
            RobotDescriptionError: the hand has more collision shapes than the kernel takes.
        """
        self.hand, self.objective, self.device = hand, objective or HandObjective(), device
        if len(hand.shapes.joint) > hand_contact_kernels.MAX_SHAPES:
            raise RobotDescriptionError(
                f"hand: {len(hand.shapes.joint)} collision shapes, at most {hand_contact_kernels.MAX_SHAPES} are known"
            )
        self._problem: Any = hand_objective_kernels.HandProblem()
        self._put_hand(hand)
        self._put_shapes(hand)
        self._put_objective(self.objective)

    def solve(self, goals: HandGoals, pieces: Sequence[Piece], start: np.ndarray | None = None) -> HandSolution:
        """Return the solution of `goals`; what no piece keeps is zero.

        Args:
            goals: over T frames.
            pieces: N of them, each a thread.
            start: (N, 16) posture before each piece's first frame [rad], taken into the limits; None for the rest.
        """
        if start is None:
            start = np.tile(self.objective.rest, (len(pieces), 1))
        spans = [(piece.begin, piece.keep, piece.end) for piece in pieces]
        joint_pos: Any = wp.zeros((len(goals), len(self.hand.axes)), dtype=wp.float32, device=self.device)
        error: Any = wp.zeros(goals.weights.shape, dtype=wp.float32, device=self.device)
        steps: Any = wp.zeros(len(goals), dtype=wp.int32, device=self.device)
        wp.launch(
            hand_solver_kernels.walk_frames,
            dim=len(pieces),
            inputs=[self.problem(goals), self._array(spans, wp.vec3i), self._array(start, wp.float32)],
            outputs=[joint_pos, error, steps],
            device=self.device,
        )
        # Single precision may round a limit outwards.
        within = np.clip(joint_pos.numpy().astype(float), self.hand.lower, self.hand.upper)
        return HandSolution(within, error.numpy().astype(float), steps.numpy())

    def problem(self, goals: HandGoals) -> Any:
        """Return the kernels' structure of hand, objective and `goals`; the next call changes it."""
        self._problem.targets = self._array(goals.vectors, wp.vec3)
        self._problem.weights = self._array(goals.weights, wp.float32)
        self._problem.step_s = self._array(goals.step_s, wp.float32)
        return self._problem

    def _put_hand(self, hand: HandModel) -> None:
        carriers = [hand.carrier(link) for link in POINTS]
        self._put("frames", _transforms(hand.frames), wp.transform)
        self._put("axes", hand.axes, wp.vec3)
        self._put("lower", hand.lower, wp.float32)
        self._put("upper", hand.upper, wp.float32)
        self._put("point_joint", [joint for joint, _ in carriers], wp.int32)
        self._put("point_offset", [matrix[:3, 3] for _, matrix in carriers], wp.vec3)

    def _put_shapes(self, hand: HandModel) -> None:
        shapes = hand.shapes
        first = np.searchsorted(shapes.ball_shape, np.arange(len(shapes.joint) + 1))
        self._put("shape_joint", shapes.joint, wp.int32)
        self._put("shape_frame", _transforms(shapes.frames), wp.transform)
        self._put("shape_half", shapes.half, wp.vec3)
        self._put("shape_radius", shapes.radius, wp.float32)
        self._put("shape_reach", shapes.reach, wp.float32)
        self._put("shape_first", first, wp.int32)
        self._put("ball_centre", shapes.ball_centre, wp.vec3)
        self._put("ball_radius", shapes.ball_radius, wp.float32)
        self._put("shape_pairs", shapes.pairs, wp.vec2i)

    def _put_objective(self, objective: HandObjective) -> None:
        self._put("vector_ends", objective.vectors, wp.vec2i)
        self._put("rest", objective.rest, wp.float32)
        self._problem.huber_delta = objective.huber_delta_m
        self._problem.temporal_weight = objective.temporal_weight_s
        self._problem.posture_weight = objective.posture_weight
        self._problem.contact_weight = objective.contact_weight
        self._problem.clearance = objective.clearance_m
        self._problem.retry_cost = objective.retry_cost

    def _put(self, name: str, values: Any, dtype: Any) -> None:
        setattr(self._problem, name, self._array(values, dtype))

    def _array(self, values: Any, dtype: Any) -> Any:
        scalar = np.int32 if dtype in (wp.int32, wp.vec2i, wp.vec3i) else np.float32
        return wp.array(np.ascontiguousarray(values, dtype=scalar), dtype=dtype, device=self.device, copy=False)


def _transforms(poses: np.ndarray) -> np.ndarray:
    """Return poses (..., 4, 4) as Warp's transforms (..., 7): position, quaternion xyzw."""
    return np.concatenate([poses[..., :3, 3], quat_from_matrix(poses[..., :3, :3])], axis=-1)
