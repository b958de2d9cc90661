"""Warp functions of the hand's objective: cost, gradient and second derivatives of one frame, in single precision.

Loops are not unrolled, which would take minutes to compile; what a thread works on lies in small local arrays.
"""

import warp as wp

from r2s2r.behavior import hand_shapes
from r2s2r.contracts.joints import HAND_JOINTS

wp.set_module_options({"enable_backward": False, "max_unroll": 1})

NUM_JOINTS = wp.constant(len(HAND_JOINTS))
"""Joints of the hand."""

FINGER_JOINTS = wp.constant(hand_shapes.FINGER_JOINTS)
"""Joints of a finger, numbered in a row."""

NEAREST = wp.constant(wp.float32(1e-9))
"""Errors shorter than this have no direction [m]."""


@wp.struct
class HandProblem:
    """Hand, objective and goals on a device: J joints, K points, V vectors, S shapes, B balls, P pairs, T frames."""

    # The hand, see r2s2r.behavior.hand_model.
    frames: wp.array(dtype=wp.transform)  # (J)
    axes: wp.array(dtype=wp.vec3)  # (J)
    lower: wp.array(dtype=wp.float32)  # (J)
    upper: wp.array(dtype=wp.float32)  # (J)
    point_joint: wp.array(dtype=wp.int32)  # (K)
    point_offset: wp.array(dtype=wp.vec3)  # (K) in the joint's moving frame

    # Its collision shapes, see r2s2r.behavior.hand_shapes.
    shape_joint: wp.array(dtype=wp.int32)  # (S) negative: fixed to the palm
    shape_frame: wp.array(dtype=wp.transform)  # (S)
    shape_half: wp.array(dtype=wp.vec3)  # (S)
    shape_radius: wp.array(dtype=wp.float32)  # (S)
    shape_reach: wp.array(dtype=wp.float32)  # (S)
    shape_first: wp.array(dtype=wp.int32)  # (S + 1) first ball
    ball_centre: wp.array(dtype=wp.vec3)  # (B) in the frame of its shape
    ball_radius: wp.array(dtype=wp.float32)  # (B)
    shape_pairs: wp.array(dtype=wp.vec2i)  # (P)

    # The objective, see r2s2r.behavior.hand_objective.
    vector_ends: wp.array(dtype=wp.vec2i)  # (V)
    rest: wp.array(dtype=wp.float32)  # (J)
    huber_delta: wp.float32
    temporal_weight: wp.float32
    posture_weight: wp.float32
    contact_weight: wp.float32
    clearance: wp.float32
    retry_cost: wp.float32

    # The goals.
    targets: wp.array2d(dtype=wp.vec3)  # (T, V)
    weights: wp.array2d(dtype=wp.float32)  # (T, V)
    step_s: wp.array(dtype=wp.float32)  # (T)


@wp.func
def place_joints(
    problem: HandProblem,
    joint_pos: wp.array(dtype=wp.float32),
    # outputs
    poses: wp.array(dtype=wp.transform),
    directions: wp.array(dtype=wp.vec3),
):
    """Write each joint's moving frame and its axis in the palm."""
    pose = wp.transform_identity()
    for j in range(NUM_JOINTS):
        if j % FINGER_JOINTS == 0:
            pose = wp.transform_identity()
        pose = wp.transform_multiply(pose, problem.frames[j])
        directions[j] = wp.quat_rotate(wp.transform_get_rotation(pose), problem.axes[j])
        turn = wp.quat_from_axis_angle(problem.axes[j], joint_pos[j])
        pose = wp.transform(wp.transform_get_translation(pose), wp.transform_get_rotation(pose) * turn)
        poses[j] = pose


@wp.func
def joint_of(problem: HandProblem, point: wp.int32):
    """Return the joint that carries a point; a negative number for the palm's origin."""
    if point < 0:
        return -1
    return problem.point_joint[point]


@wp.func
def point_pos(problem: HandProblem, poses: wp.array(dtype=wp.transform), point: wp.int32):
    """Return where a point is in the palm [m]."""
    if point < 0:
        return wp.vec3(0.0, 0.0, 0.0)
    return wp.transform_point(poses[problem.point_joint[point]], problem.point_offset[point])


@wp.func
def vector_error(problem: HandProblem, frame: wp.int32, vector: wp.int32, poses: wp.array(dtype=wp.transform)):
    """Return the error of one vector [m]."""
    ends = problem.vector_ends[vector]
    return point_pos(problem, poses, ends[0]) - point_pos(problem, poses, ends[1]) - problem.targets[frame, vector]


@wp.func
def huber(x: wp.float32, delta: wp.float32):
    """Return the Huber loss of a distance."""
    if x < delta:
        return 0.5 * x * x / delta
    return x - 0.5 * delta


@wp.func
def vectors_cost(problem: HandProblem, frame: wp.int32, poses: wp.array(dtype=wp.transform)):
    """Return the vectors' weighted Huber losses."""
    cost = wp.float32(0.0)
    for v in range(problem.vector_ends.shape[0]):
        if problem.weights[frame, v] > 0.0:
            error = vector_error(problem, frame, v, poses)
            cost += problem.weights[frame, v] * huber(wp.length(error), problem.huber_delta)
    return cost


@wp.func
def finger_start(joint: wp.int32):
    """Return the first joint of the finger that `joint` belongs to."""
    return FINGER_JOINTS * (joint // FINGER_JOINTS)


@wp.func
def add_point(
    joint: wp.int32,
    point: wp.vec3,
    sign: wp.float32,
    slope: wp.vec3,
    poses: wp.array(dtype=wp.transform),
    directions: wp.array(dtype=wp.vec3),
    # outputs
    columns: wp.array(dtype=wp.vec3),
    gradient: wp.array(dtype=wp.float32),
):
    """Write sign dp/dq of a point on `joint` into `columns`, and add what `slope` makes of it to the gradient.

    A negative joint means the palm, which does not move.
    """
    if joint >= 0:
        for j in range(finger_start(joint), joint + 1):
            column = sign * wp.cross(directions[j], point - wp.transform_get_translation(poses[j]))
            columns[j] = column
            gradient[j] = gradient[j] + wp.dot(slope, column)


@wp.func
def add_curvature(
    joint: wp.int32,
    slope: wp.vec3,
    directions: wp.array(dtype=wp.vec3),
    columns: wp.array(dtype=wp.vec3),
    # outputs
    hessian: wp.array2d(dtype=wp.float32),
):
    """Add what `slope` makes of a point's second derivatives: a_i x (a_j x (p - o_j)) for joints i <= j of a finger."""
    if joint >= 0:
        for j in range(finger_start(joint), joint + 1):
            for i in range(finger_start(joint), j + 1):
                hessian[j, i] = hessian[j, i] + wp.dot(slope, wp.cross(directions[i], columns[j]))


@wp.func
def add_block(
    row_joint: wp.int32,
    column_joint: wp.int32,
    across: wp.float32,
    along: wp.float32,
    direction: wp.vec3,
    columns: wp.array(dtype=wp.vec3),
    # outputs
    hessian: wp.array2d(dtype=wp.float32),
):
    """Add the products of :func:`add_products` of two joints' fingers to the lower triangle."""
    if row_joint >= 0 and column_joint >= 0:
        for i in range(finger_start(row_joint), row_joint + 1):
            row = across * columns[i] + along * wp.dot(direction, columns[i]) * direction
            for j in range(finger_start(column_joint), wp.min(column_joint, i) + 1):
                hessian[i, j] = hessian[i, j] + wp.dot(row, columns[j])


@wp.func
def add_products(
    one: wp.int32,
    other: wp.int32,
    across: wp.float32,
    along: wp.float32,
    direction: wp.vec3,
    columns: wp.array(dtype=wp.vec3),
    # outputs
    hessian: wp.array2d(dtype=wp.float32),
):
    """Add across c_i c_j + along (u c_i) (u c_j) of two points, on joints of two fingers or one on the palm."""
    add_block(one, one, across, along, direction, columns, hessian)
    add_block(other, other, across, along, direction, columns, hessian)
    add_block(one, other, across, along, direction, columns, hessian)
    add_block(other, one, across, along, direction, columns, hessian)


@wp.func
def add_vectors(
    problem: HandProblem,
    frame: wp.int32,
    poses: wp.array(dtype=wp.transform),
    directions: wp.array(dtype=wp.vec3),
    # outputs
    columns: wp.array(dtype=wp.vec3),
    gradient: wp.array(dtype=wp.float32),
    hessian: wp.array2d(dtype=wp.float32),
):
    """Add gradient and all second derivatives of the vectors' Huber losses."""
    for v in range(problem.vector_ends.shape[0]):
        if problem.weights[frame, v] > 0.0:
            ends = problem.vector_ends[v]
            one = joint_of(problem, ends[0])
            other = joint_of(problem, ends[1])
            error = vector_error(problem, frame, v, poses)
            distance = wp.length(error)
            stiffness = problem.weights[frame, v] / wp.max(distance, problem.huber_delta)
            # Beyond delta the loss is straight along the error, it bends only across.
            along = wp.where(distance > problem.huber_delta, -stiffness, 0.0)
            slope = stiffness * error
            add_point(one, point_pos(problem, poses, ends[0]), 1.0, slope, poses, directions, columns, gradient)
            add_point(other, point_pos(problem, poses, ends[1]), -1.0, slope, poses, directions, columns, gradient)
            add_curvature(one, slope, directions, columns, hessian)
            add_curvature(other, slope, directions, columns, hessian)
            add_products(one, other, stiffness, along, error / wp.max(distance, NEAREST), columns, hessian)
