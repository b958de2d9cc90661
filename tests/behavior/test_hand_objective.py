"""The hand's objective: the kernel's cost and derivatives against double precision, and the peer's own value."""

import numpy as np
import pytest
import warp as wp

from r2s2r.behavior.hand_contact_kernels import MAX_SHAPES
from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_objective import VECTORS, HandGoals, HandObjective, hand_cost
from r2s2r.behavior.hand_objective_kernels import NUM_JOINTS, HandProblem
from r2s2r.behavior.hand_solver import HandSolver
from r2s2r.behavior.hand_solver_kernels import differentiate, frame_cost
from r2s2r.contracts.errors import ConfigError

from .hand_vectors import vectors_at

STEP = 1e-5
"""Of the central differences [rad]: double precision leaves 1e-11 / STEP of the cost's rounding."""


@wp.kernel(enable_backward=False, module_options={"max_unroll": 1}, module="unique")
def evaluate(
    problem: HandProblem,
    previous: wp.array2d(dtype=wp.float32),
    joint_pos: wp.array2d(dtype=wp.float32),
    # outputs
    cost: wp.array(dtype=wp.float32),
    gradient: wp.array2d(dtype=wp.float32),
    hessian: wp.array3d(dtype=wp.float32),
):
    frame = wp.tid()
    poses = wp.zeros(shape=NUM_JOINTS, dtype=wp.transform)
    directions = wp.zeros(shape=NUM_JOINTS, dtype=wp.vec3)
    shapes = wp.zeros(shape=MAX_SHAPES, dtype=wp.transform)
    columns = wp.zeros(shape=NUM_JOINTS, dtype=wp.vec3)
    temporal = problem.temporal_weight / problem.step_s[frame]
    cost[frame] = frame_cost(problem, frame, temporal, previous[frame], joint_pos[frame], poses, directions, shapes)
    differentiate(
        problem,
        frame,
        temporal,
        previous[frame],
        joint_pos[frame],
        poses,
        directions,
        shapes,
        columns,
        gradient[frame],
        hessian[frame],
    )


@pytest.fixture(scope="module")
def hand():
    return HandModel()


def goals_near(hand, rng, frames):
    """Targets some millimetres to centimetres from random postures, so that both parts of the Huber loss are met."""
    joint_pos = hand.lower + (hand.upper - hand.lower) * rng.uniform(0.1, 0.9, (frames, 16))
    vectors = vectors_at(hand, joint_pos)
    vectors = vectors + 0.02 * rng.normal(size=vectors.shape)
    weights = rng.uniform(0.0, 2.0, vectors.shape[:2])
    return joint_pos, HandGoals(vectors, weights, np.full(frames, 1.0 / 30.0))


def by_kernel(hand, objective, goals, joint_pos, previous):
    solver = HandSolver(hand, objective)
    problem = solver.problem(goals)
    frames = len(goals)
    inputs = [wp.array(values, dtype=wp.float32, device="cpu") for values in (previous, joint_pos)]
    outputs = [wp.zeros(shape, dtype=wp.float32, device="cpu") for shape in (frames, (frames, 16), (frames, 16, 16))]
    wp.launch(evaluate, dim=frames, inputs=[problem, *inputs], outputs=outputs, device="cpu")
    return [output.numpy().astype(float) for output in outputs]


def differences(value, joint_pos):
    """Return the central differences of `value` (T, ...) by each joint (T, 16, ...)."""
    steps = STEP * np.eye(16)
    return np.stack([(value(joint_pos + step) - value(joint_pos - step)) / (2.0 * STEP) for step in steps], axis=1)


@pytest.mark.parametrize("contact", [0.0, 3000.0])
def test_cost_and_gradient_are_one_another_s(hand, rng, contact):
    """Value and gradient belong together, whatever terms are at work: the solver's in single precision against the
    differences of the reported cost in double. Rounding of a cost of up to 30 in single precision: 1e-6 of it."""
    joint_pos, goals = goals_near(hand, rng, 40)
    objective = HandObjective(contact_weight=contact)
    previous = joint_pos + 0.1 * rng.normal(size=joint_pos.shape)
    cost, gradient, _ = by_kernel(hand, objective, goals, joint_pos, previous)
    expected = hand_cost(hand, objective, goals, joint_pos, previous)
    assert (expected.contact > 0.0).sum() > (10 if contact else -1)
    assert cost == pytest.approx(expected.total, rel=1e-4, abs=1e-6)
    slope = differences(lambda q: hand_cost(hand, objective, goals, q, previous).total, joint_pos)
    scale = np.abs(slope).max(axis=1, keepdims=True)
    assert (np.abs(gradient - slope) / scale).max() < 2e-3


def test_second_derivatives_are_complete_without_contact(hand, rng):
    joint_pos, goals = goals_near(hand, rng, 20)
    objective = HandObjective(contact_weight=0.0)
    previous = joint_pos + 0.1 * rng.normal(size=joint_pos.shape)
    hessian = by_kernel(hand, objective, goals, joint_pos, previous)[2]
    lower = np.tril(np.ones((16, 16), dtype=bool))

    def gradient(q):
        return differences(lambda p: hand_cost(hand, objective, goals, p, previous).total, q)

    # The kink of the Huber loss's second derivative lies between two differences of few frames.
    expected = differences(gradient, joint_pos)
    error = np.abs(np.where(lower, hessian - expected, 0.0)).max(axis=(1, 2)) / np.abs(expected).max(axis=(1, 2))
    assert np.median(error) < 1e-4 and np.quantile(error, 0.9) < 1e-2


def test_terms_are_as_the_formula_says(hand):
    """A vector within delta and one beyond, half a radian from the rest and from the frame before, nothing in touch."""
    objective = HandObjective()
    rest = np.array(objective.rest)[None]
    joint_pos = rest + np.array([0.5] + [0.0] * 15)
    vectors = vectors_at(hand, joint_pos)
    vectors[0, 0, 0] += 0.01
    vectors[0, 1, 1] -= 0.05
    goals = HandGoals(vectors, np.ones((1, len(VECTORS))), np.array([0.5]))
    cost = hand_cost(hand, objective, goals, joint_pos, rest)
    assert cost.vectors[0] == pytest.approx(0.01**2 / 0.04 + 0.05 - 0.01)
    assert cost.posture[0] == pytest.approx(6e-4 * 0.25) and cost.temporal[0] == pytest.approx(1e-4 / 0.5 * 0.25)
    assert cost.contact[0] == 0.0 and cost.total[0] == cost.vectors[0] + cost.posture[0] + cost.temporal[0]


def test_objective_of_the_peer_is_the_peer_s(hand, rng, data_dir):
    """Our evaluation of the peer's objectives gives the peer's own value, to single precision of its inputs."""
    pytest.importorskip("dex_retargeting", reason="dex_retargeting is not installed")
    from r2s2r.cli.bench_retarget_peer import dexpilot_case, vector_case
    from r2s2r.recording.load import load_hand_recording

    recording = load_hand_recording(data_dir / "hand_motion/leap_pinch.npz")
    order = [f"joint_{joint}.0" for joint in range(16)]
    for make in (vector_case, dexpilot_case):
        case = make(hand, recording)
        names = case.peer.joint_names
        for frame in range(len(case.goals)):
            joint_pos = rng.uniform(hand.lower, hand.upper)
            value = case.peer.optimizer.get_objective_function(
                case.inputs[frame].astype(np.float32), np.array([]), np.zeros(16, dtype=np.float32)
            )
            if frame % 30 == 0 or frame > 180:
                theirs = value(joint_pos[[order.index(name) for name in names]], np.array([]))
                part = HandGoals(*(values[frame : frame + 1] for values in vars(case.goals).values()))
                ours = hand_cost(hand, case.objective, part, joint_pos[None], joint_pos[None]).vectors[0]
                assert ours == pytest.approx(theirs, rel=1e-4), (case.name, frame)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"huber_delta_m": 0.0}, "HandObjective.huber_delta_m: received 0.0"),
        ({"contact_weight": -1.0}, "HandObjective.contact_weight: received -1.0"),
        ({"rest": (0.0,) * 15}, "HandObjective.rest: received"),
        ({"vectors": ((0, 4),)}, r"HandObjective.vectors: received \(0, 4\), allowed are two points of two fingers"),
        ({"vectors": ((8, -1),)}, r"HandObjective.vectors: received \(8, -1\)"),
    ],
)
def test_bad_objectives_are_named(change, message):
    with pytest.raises(ConfigError, match=message):
        HandObjective(**change)
