"""The solver: it finds the least of the objective, within limits, also where fingers are straight or frames are bad."""

import numpy as np
import pytest
from scipy.optimize import minimize

from r2s2r.behavior.hand_model import HandModel
from r2s2r.behavior.hand_objective import HandGoals, HandObjective, hand_cost
from r2s2r.behavior.hand_solver import HandSolver, Piece
from r2s2r.behavior.hand_targets import HandTargets, hand_goals
from r2s2r.behavior.human_hand import HumanHand
from r2s2r.behavior.palm_points import palm_points
from r2s2r.recording.load import load_hand_recording

from .hand_vectors import vectors_at


@pytest.fixture(scope="module")
def hand():
    return HandModel()


def goals_of(hand, joint_pos):
    """Return the goals that postures (T, 16) meet exactly."""
    vectors = vectors_at(hand, joint_pos)
    return HandGoals(vectors, np.ones(vectors.shape[:2]), np.full(len(joint_pos), 1.0 / 30.0))


def alone(frames):
    """Each frame a piece of its own."""
    return [Piece(frame, frame, frame + 1) for frame in range(frames)]


def recorded_goals(hand, data_dir, name, frames):
    recording = load_hand_recording(data_dir / "hand_motion" / name)
    points, measured = palm_points(recording)
    goals = hand_goals(HandTargets(hand, HumanHand.of_points(points)), points, measured, recording.time_s)
    return HandGoals(goals.vectors[frames], goals.weights[frames], goals.step_s[frames])


def test_postures_are_found_again(hand, rng):
    """Round trip: what random postures reach is reached again from 0.3 rad beside, to a tenth of a millimetre."""
    joint_pos = hand.lower + (hand.upper - hand.lower) * rng.uniform(0.15, 0.85, (50, 16))
    objective = HandObjective(temporal_weight_s=0.0, posture_weight=0.0, contact_weight=0.0)
    start = joint_pos + rng.uniform(-0.3, 0.3, joint_pos.shape)
    solution = HandSolver(hand, objective).solve(goals_of(hand, joint_pos), alone(50), start)
    assert solution.error_m.max() < 1e-4


def test_result_is_the_least_in_double_precision(hand, data_dir):
    """From there SciPy does not lower the reported objective by a thousandth, with contact and limits at work."""
    goals = recorded_goals(hand, data_dir, "human_joint_right.npz", slice(230, 290))
    objective = HandObjective()
    solution = HandSolver(hand, objective).solve(goals, [Piece(0, 0, len(goals))])
    previous = np.vstack([objective.rest, solution.joint_pos[:-1]])
    cost = hand_cost(hand, objective, goals, solution.joint_pos, previous)
    assert (cost.contact > 0.0).any() and (solution.joint_pos == hand.upper).any()
    for frame in range(5, len(goals), 6):

        def value(joint_pos, frame=frame):
            rows = len(joint_pos)
            parts = (np.repeat(part[frame : frame + 1], rows, axis=0) for part in vars(goals).values())
            return hand_cost(hand, objective, HandGoals(*parts), joint_pos, np.tile(previous[frame], (rows, 1))).total

        def gradient(joint_pos, value=value):
            steps = 1e-6 * np.eye(16)
            return (value(joint_pos + steps) - value(joint_pos - steps)) / 2e-6

        found = minimize(
            lambda joint_pos, value=value: value(joint_pos[None])[0],
            solution.joint_pos[frame],
            jac=gradient,
            method="L-BFGS-B",
            bounds=list(zip(hand.lower, hand.upper, strict=True)),
            options={"maxiter": 60},
        )
        assert cost.total[frame] <= 1.001 * found.fun, frame


def test_limits_hold_and_are_met(hand):
    """Targets behind every limit in turn: the joints stop there exactly."""
    for beyond, limit in ((hand.upper + 0.2, hand.upper), (hand.lower - 0.2, hand.lower)):
        objective = HandObjective(posture_weight=0.0, contact_weight=0.0)
        solution = HandSolver(hand, objective).solve(goals_of(hand, beyond[None]), alone(1))
        assert (solution.joint_pos >= hand.lower).all() and (solution.joint_pos <= hand.upper).all()
        assert np.mean(np.abs(solution.joint_pos[0] - limit) < 1e-6) > 0.6


def test_straight_finger_is_no_trouble(hand, rng):
    """A straight finger turned about its own length moves nothing: half a millimetre of noise must not turn it far.

    Its posture's weight is that of a fingertip 5 mm off for a radian, so that noise of 0.5 mm turns it by a tenth.
    """
    straight = np.array([0.0] * 12 + list(HandObjective().rest[12:]))
    goals = goals_of(hand, np.tile(straight, (60, 1)))
    noisy = HandGoals(goals.vectors + 5e-4 * rng.normal(size=goals.vectors.shape), goals.weights, goals.step_s)
    solver = HandSolver(hand)
    quiet, shaken = (solver.solve(some, [Piece(0, 0, 60)]).joint_pos for some in (goals, noisy))
    assert np.abs(quiet - quiet[0]).max() < 0.05
    assert np.abs(shaken - quiet)[:, :12].max() < 0.15


def test_equal_input_gives_equal_output(hand, rng, device):
    joint_pos = hand.lower + (hand.upper - hand.lower) * rng.uniform(0.2, 0.8, (30, 16))
    solver, goals = HandSolver(hand, device=device), goals_of(hand, joint_pos)
    pieces = [Piece(0, 0, 12), Piece(8, 12, 30)]
    first, second = solver.solve(goals, pieces), solver.solve(goals, pieces)
    assert np.array_equal(first.joint_pos, second.joint_pos) and np.array_equal(first.steps, second.steps)


def test_b37_start_beyond_the_limits_and_bad_frames(hand, rng):
    """From a limit + 0.1 rad, with frames whose targets are no numbers or that have none: held, and nothing spreads."""
    joint_pos = np.linspace(0.2, 0.8, 200)[:, None] * (hand.upper - hand.lower) + hand.lower
    goals, start = goals_of(hand, joint_pos), hand.upper[None] + 0.1
    solver = HandSolver(hand)
    undisturbed = solver.solve(goals, [Piece(0, 0, 200)], start)
    vectors, weights = goals.vectors.copy(), goals.weights.copy()
    vectors[50:55], weights[120] = np.nan, 0.0
    disturbed = solver.solve(HandGoals(vectors, weights, goals.step_s), [Piece(0, 0, 200)], start)
    bad = [50, 51, 52, 53, 54, 120]
    assert undisturbed.solved.all() and np.flatnonzero(~disturbed.solved).tolist() == bad
    assert np.isfinite(disturbed.joint_pos).all()
    assert (disturbed.joint_pos[50:55] == disturbed.joint_pos[49]).all()
    assert np.abs(np.delete(disturbed.joint_pos - undisturbed.joint_pos, bad, axis=0)).max() < 1e-3


def test_trapped_thumb_is_freed(hand, data_dir):
    """Where thumb and fingers cross, the way from frame to frame ends in traps, and a thumb stays there for long."""
    goals = recorded_goals(hand, data_dir, "human_joint_right.npz", slice(0, 621))
    pieces = [Piece(0, 0, len(goals))]
    stuck = HandSolver(hand, HandObjective(retry_cost=1e6)).solve(goals, pieces).error_m[:, :4].max(axis=1) > 0.05
    freed = HandSolver(hand).solve(goals, pieces).error_m[:, :4].max(axis=1) > 0.05
    assert stuck.sum() > 40 and freed.sum() < 20
