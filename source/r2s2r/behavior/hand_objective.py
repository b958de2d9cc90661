"""What a posture of the robot hand is judged by: one objective, for the solver and for reports.

With q the joint positions, q' those of the frame before, dt the time between, and r_v = p_a(q) - p_b(q) - t_v the error
of a vector between two points of the hand (or from the palm's origin),

    E(q) = sum_v w_v h(|r_v|) + (temporal / dt) |q - q'|^2 + posture |q - rest|^2 + contact sum_b max(0, m - d_b(q))^2

where h(x) = x^2 / (2 delta) up to delta and x - delta / 2 beyond (Huber), and d_b is the distance from a ball that
fills a finger to a shape of another finger or of the palm (:mod:`r2s2r.behavior.hand_shapes`). Joint limits are no
term: they hold exactly.
"""

from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.hand_model import FINGERTIPS, MIDDLE_LINKS, HandModel
from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.joints import HAND_JOINTS

POINTS = FINGERTIPS + MIDDLE_LINKS
"""Links whose origins are the points: tips, then middles, each of thumb, index, middle and ring finger."""

ORIGIN = -1
"""Number of the palm's origin as an end of a vector."""

VECTORS = (*((point, ORIGIN) for point in range(len(POINTS))), *((finger, 0) for finger in (1, 2, 3)))
"""Points (to, from) of each vector that a human hand gives a target for."""

TIPS, MIDDLES, PINCHES = slice(0, 4), slice(4, 8), slice(8, 11)
"""Parts of :data:`VECTORS`: palm to tips, palm to middles, thumb's tip to fingers' tips."""


@dataclass(frozen=True)
class HandObjective:
    """Weights of E. Numbers without a source are ours.

    Raises:
        ConfigError: a value is out of range, or a vector names no two points that move against each other.
    """

    vectors: tuple[tuple[int, int], ...] = VECTORS
    """Points (to, from) of each vector (V), numbers in :data:`POINTS` or ORIGIN."""
    huber_delta_m: float = 0.02
    """Errors above this count linearly [m], so that what is out of reach does not drag what is not (the value of
    dex_retargeting)."""
    temporal_weight_s: float = 1e-4
    """Weight of |q - q'|^2 / dt [s]: with the posture's it holds for 0.2 s what no vector settles, such as a straight
    finger's turn about its own length."""
    posture_weight: float = 6e-4
    """Weight of |q - rest|^2: a radian weighs like a fingertip 5 mm off."""
    rest: tuple[float, ...] = (0.0, 0.2, 0.2, 0.2) * 3 + (0.9, 0.3, 0.3, 0.3)
    """Slightly bent hand (16) [rad]: near enough to stretched not to bend stretched fingers."""
    contact_weight: float = 3000.0
    """Weight of squared overlaps [1/m^2]: three fingertips that want through another finger (slope 1 each) get 0.5 mm
    into the clearance."""
    clearance_m: float = 0.003
    """Distance m that is kept between fingers [m]: more than the corners that the balls leave out."""
    retry_cost: float = 0.03
    """A frame whose vectors cost more (one fingertip 4 cm off) is solved from the rest too, and the better is taken."""

    def __post_init__(self):
        set_number(self, "huber_delta_m", 1e-4, 1.0)
        for name in ("temporal_weight_s", "posture_weight", "contact_weight", "retry_cost"):
            set_number(self, name, 0.0, 1e6)
        set_vector(self, "rest", len(HAND_JOINTS), -np.pi, np.pi)
        set_number(self, "clearance_m", 0.0, 0.1)
        for ends in self.vectors:
            if not _are_ends(ends):
                raise ConfigError(
                    f"HandObjective.vectors: received {ends}, allowed are two points of two fingers out of 0 to "
                    f"{len(POINTS) - 1}, or a point and {ORIGIN}"
                )


@dataclass(frozen=True)
class HandGoals:
    """What the hand should do over T frames; the objective's vectors (V)."""

    vectors: np.ndarray
    """(T, V, 3) targets t in the palm [m]."""
    weights: np.ndarray
    """(T, V) weights w; a frame in which all are zero is not solved but held."""
    step_s: np.ndarray
    """(T,) time since the frame before [s]; infinite for the first of a recording, which is drawn to none."""

    def __len__(self) -> int:
        return len(self.step_s)


@dataclass(frozen=True)
class HandCost:
    """The terms of E in double precision (T,)."""

    vectors: np.ndarray
    """Huber losses of the vectors."""
    temporal: np.ndarray
    """Way from the frame before."""
    posture: np.ndarray
    """Way from the rest."""
    contact: np.ndarray
    """Overlaps."""

    @property
    def total(self) -> np.ndarray:
        """E (T,)."""
        return self.vectors + self.temporal + self.posture + self.contact


def hand_cost(
    hand: HandModel, objective: HandObjective, goals: HandGoals, joint_pos: np.ndarray, previous: np.ndarray
) -> HandCost:
    """Return E of joint positions (T, 16) [rad] after `previous` (T, 16) [rad].

    It shares the numbers with the solver, but no code.
    """
    ends = np.array(objective.vectors)
    points = hand.link_pos(joint_pos, POINTS)
    points = np.concatenate([points, np.zeros_like(points[:, :1])], axis=1)  # the last is ORIGIN
    error = np.linalg.norm(points[:, ends[:, 0]] - points[:, ends[:, 1]] - goals.vectors, axis=-1)
    delta = objective.huber_delta_m
    huber = np.where(error < delta, error * error / (2.0 * delta), error - 0.5 * delta)
    contact = np.zeros(len(goals))
    if objective.contact_weight > 0.0:
        overlap = np.maximum(objective.clearance_m - hand.shapes.distances(hand.joint_poses(joint_pos)), 0.0)
        contact = objective.contact_weight * np.sum(overlap * overlap, axis=-1)
    return HandCost(
        vectors=np.sum(goals.weights * huber, axis=-1),
        temporal=objective.temporal_weight_s / goals.step_s * np.sum((joint_pos - previous) ** 2, axis=-1),
        posture=objective.posture_weight * np.sum((joint_pos - np.array(objective.rest)) ** 2, axis=-1),
        contact=contact,
    )


def _are_ends(ends: tuple[int, ...]) -> bool:
    """Return whether `ends` are two points that can move against each other."""
    if len(ends) != 2 or ends[0] not in range(len(POINTS)) or ends[1] not in range(ORIGIN, len(POINTS)):
        return False
    return ends[1] == ORIGIN or ends[0] % len(FINGERTIPS) != ends[1] % len(FINGERTIPS)
