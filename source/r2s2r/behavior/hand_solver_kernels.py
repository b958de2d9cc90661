"""Warp kernel that retargets hands: one thread a piece of a recording, its frames in the order of time.

A frame is solved by Newton's method, from the frame before and, where that ends far from its targets, from the rest.
"""

import warp as wp

from r2s2r.behavior.hand_contact_kernels import MAX_SHAPES, add_contacts, contact_cost
from r2s2r.behavior.hand_newton_kernels import (
    factorise,
    find_free,
    find_step,
    next_damping,
    promised_gain,
    take_step,
)
from r2s2r.behavior.hand_objective_kernels import (
    NUM_JOINTS,
    HandProblem,
    add_vectors,
    place_joints,
    vector_error,
    vectors_cost,
)

wp.set_module_options({"enable_backward": False, "max_unroll": 1})

MAX_ITERATIONS = wp.constant(50)
"""Newton steps that a frame may take. Most take three; fingers that push past each other some dozens."""

SMALLEST_STEP = wp.constant(wp.float32(1e-4))
"""A frame is solved when no joint would move further [rad]; that step is still taken, and the next is its square."""

SMALLEST_GAIN = wp.constant(wp.float32(1e-5))
"""A frame is solved too when a step lowers the cost by no larger share: what is left is the square of it."""

MAX_DAMPING = wp.constant(wp.float32(1e4))
"""Where even this finds no lower cost, the posture is as good as single precision can tell."""


@wp.func
def frame_cost(
    problem: HandProblem,
    frame: wp.int32,
    temporal: wp.float32,
    previous: wp.array(dtype=wp.float32),
    joint_pos: wp.array(dtype=wp.float32),
    # outputs
    poses: wp.array(dtype=wp.transform),
    directions: wp.array(dtype=wp.vec3),
    shapes: wp.array(dtype=wp.transform),
):
    """Return the objective of one frame at `joint_pos`."""
    place_joints(problem, joint_pos, poses, directions)
    cost = vectors_cost(problem, frame, poses)
    if problem.contact_weight > 0.0:
        cost += contact_cost(problem, poses, shapes)
    for j in range(NUM_JOINTS):
        moved = joint_pos[j] - previous[j]
        bent = joint_pos[j] - problem.rest[j]
        cost += temporal * moved * moved + problem.posture_weight * bent * bent
    return cost


@wp.func
def differentiate(
    problem: HandProblem,
    frame: wp.int32,
    temporal: wp.float32,
    previous: wp.array(dtype=wp.float32),
    joint_pos: wp.array(dtype=wp.float32),
    # outputs
    poses: wp.array(dtype=wp.transform),
    directions: wp.array(dtype=wp.vec3),
    shapes: wp.array(dtype=wp.transform),
    columns: wp.array(dtype=wp.vec3),
    gradient: wp.array(dtype=wp.float32),
    hessian: wp.array2d(dtype=wp.float32),
):
    """Write gradient and second derivatives (lower triangle) of one frame's objective at `joint_pos`."""
    place_joints(problem, joint_pos, poses, directions)
    for i in range(NUM_JOINTS):
        moved = joint_pos[i] - previous[i]
        bent = joint_pos[i] - problem.rest[i]
        gradient[i] = 2.0 * (temporal * moved + problem.posture_weight * bent)
        for j in range(i):
            hessian[i, j] = 0.0
        hessian[i, i] = 2.0 * (temporal + problem.posture_weight)
    add_vectors(problem, frame, poses, directions, columns, gradient, hessian)
    if problem.contact_weight > 0.0:
        add_contacts(problem, poses, directions, shapes, columns, gradient, hessian)


@wp.func
def copy_joints(
    source: wp.array(dtype=wp.float32),
    # outputs
    target: wp.array(dtype=wp.float32),
):
    """Write joint positions."""
    for j in range(NUM_JOINTS):
        target[j] = source[j]


@wp.func
def solve_frame(
    problem: HandProblem,
    frame: wp.int32,
    temporal: wp.float32,
    previous: wp.array(dtype=wp.float32),
    # outputs
    joint_pos: wp.array(dtype=wp.float32),
):
    """Minimise a frame's objective from `joint_pos` on; return the steps tried, 0 if it has no value, and the cost."""
    poses = wp.zeros(shape=NUM_JOINTS, dtype=wp.transform)
    directions = wp.zeros(shape=NUM_JOINTS, dtype=wp.vec3)
    shapes = wp.zeros(shape=MAX_SHAPES, dtype=wp.transform)
    columns = wp.zeros(shape=NUM_JOINTS, dtype=wp.vec3)
    gradient = wp.zeros(shape=NUM_JOINTS, dtype=wp.float32)
    hessian = wp.zeros(shape=(NUM_JOINTS, NUM_JOINTS), dtype=wp.float32)
    factor = wp.zeros(shape=(NUM_JOINTS, NUM_JOINTS), dtype=wp.float32)
    free = wp.zeros(shape=NUM_JOINTS, dtype=wp.bool)
    step = wp.zeros(shape=NUM_JOINTS, dtype=wp.float32)
    trial = wp.zeros(shape=NUM_JOINTS, dtype=wp.float32)
    cost = frame_cost(problem, frame, temporal, previous, joint_pos, poses, directions, shapes)
    if not wp.isfinite(cost):
        return 0, cost
    damping = wp.float32(0.0)
    gain = wp.float32(1.0)
    for iteration in range(MAX_ITERATIONS):
        if gain > 0.0:
            differentiate(
                problem, frame, temporal, previous, joint_pos, poses, directions, shapes, columns, gradient, hessian
            )
            find_free(problem, joint_pos, gradient, free)
        gain = 0.0
        promised = wp.float32(0.0)
        if factorise(hessian, free, damping, factor):
            find_step(factor, free, gradient, step)
            if take_step(problem, joint_pos, step, trial) <= SMALLEST_STEP:
                copy_joints(trial, joint_pos)
                return iteration + 1, cost
            promised = promised_gain(hessian, gradient, joint_pos, trial)
            trial_cost = frame_cost(problem, frame, temporal, previous, trial, poses, directions, shapes)
            gain = cost - trial_cost
            if gain > 0.0:
                cost = trial_cost
                copy_joints(trial, joint_pos)
                if gain < SMALLEST_GAIN * cost:
                    return iteration + 1, cost
        damping = next_damping(damping, gain, promised)
        if damping > MAX_DAMPING:
            return iteration + 1, cost
    return MAX_ITERATIONS, cost


@wp.func
def is_far(problem: HandProblem, frame: wp.int32, joint_pos: wp.array(dtype=wp.float32)):
    """Return whether the vectors cost more than what is taken as it is."""
    poses = wp.zeros(shape=NUM_JOINTS, dtype=wp.transform)
    directions = wp.zeros(shape=NUM_JOINTS, dtype=wp.vec3)
    place_joints(problem, joint_pos, poses, directions)
    return vectors_cost(problem, frame, poses) > problem.retry_cost


@wp.func
def solve_from_either(
    problem: HandProblem,
    frame: wp.int32,
    temporal: wp.float32,
    previous: wp.array(dtype=wp.float32),
    # outputs
    joint_pos: wp.array(dtype=wp.float32),
):
    """Solve a frame from the one before and, where that ends far from its targets, from the rest; return the steps.

    A thumb that is on the wrong side of a finger stays there, since every way out leads through the finger.
    """
    copy_joints(previous, joint_pos)
    steps, cost = solve_frame(problem, frame, temporal, previous, joint_pos)
    if steps > 0 and is_far(problem, frame, joint_pos):
        other = wp.zeros(shape=NUM_JOINTS, dtype=wp.float32)
        copy_joints(problem.rest, other)
        more, other_cost = solve_frame(problem, frame, temporal, previous, other)
        steps += more
        if other_cost < cost:
            copy_joints(other, joint_pos)
    return steps


@wp.func
def write_errors(
    problem: HandProblem,
    frame: wp.int32,
    joint_pos: wp.array(dtype=wp.float32),
    # outputs
    error: wp.array2d(dtype=wp.float32),
):
    """Write how far each vector is from its target [m]."""
    poses = wp.zeros(shape=NUM_JOINTS, dtype=wp.transform)
    directions = wp.zeros(shape=NUM_JOINTS, dtype=wp.vec3)
    place_joints(problem, joint_pos, poses, directions)
    for v in range(problem.vector_ends.shape[0]):
        error[frame, v] = wp.length(vector_error(problem, frame, v, poses))


@wp.func
def is_measured(problem: HandProblem, frame: wp.int32):
    """Return whether a frame has a target."""
    weight = wp.float32(0.0)
    for v in range(problem.vector_ends.shape[0]):
        weight += problem.weights[frame, v]
    return weight > 0.0


@wp.kernel(enable_backward=False)
def walk_frames(
    problem: HandProblem,
    pieces: wp.array(dtype=wp.vec3i),  # (N) first frame, first frame that is kept, end
    start: wp.array2d(dtype=wp.float32),  # (N, J) posture before the first frame
    # outputs
    joint_pos: wp.array2d(dtype=wp.float32),  # (T, J)
    error: wp.array2d(dtype=wp.float32),  # (T, V)
    steps: wp.array(dtype=wp.int32),  # (T) 0: not solved, the posture before is held
):
    """Solve each piece's frames one after the other, each from the one before."""
    piece = wp.tid()
    span = pieces[piece]
    previous = wp.zeros(shape=NUM_JOINTS, dtype=wp.float32)
    current = wp.zeros(shape=NUM_JOINTS, dtype=wp.float32)
    for j in range(NUM_JOINTS):
        previous[j] = wp.clamp(start[piece, j], problem.lower[j], problem.upper[j])
    elapsed = wp.float32(0.0)
    for frame in range(span[0], span[2]):
        elapsed += problem.step_s[frame]
        taken = wp.int32(0)
        if is_measured(problem, frame):
            taken = solve_from_either(problem, frame, problem.temporal_weight / elapsed, previous, current)
        if taken > 0:
            copy_joints(current, previous)
            elapsed = 0.0
        if frame >= span[1]:
            steps[frame] = taken
            write_errors(problem, frame, previous, error)
            for j in range(NUM_JOINTS):
                joint_pos[frame, j] = previous[j]
