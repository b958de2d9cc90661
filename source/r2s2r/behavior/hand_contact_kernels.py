"""Warp functions of the contact between fingers: which balls are too close to which shape, and what that adds."""

import warp as wp

from r2s2r.behavior.hand_objective_kernels import HandProblem, add_point, add_products

wp.set_module_options({"enable_backward": False, "max_unroll": 1})

MAX_SHAPES = wp.constant(64)
"""Collision shapes that a hand may have."""


@wp.func
def place_shapes(
    problem: HandProblem,
    poses: wp.array(dtype=wp.transform),
    # outputs
    shapes: wp.array(dtype=wp.transform),
):
    """Write the pose of each shape in the palm."""
    for s in range(problem.shape_joint.shape[0]):
        pose = problem.shape_frame[s]
        if problem.shape_joint[s] >= 0:
            pose = wp.transform_multiply(poses[problem.shape_joint[s]], pose)
        shapes[s] = pose


@wp.func
def can_meet(problem: HandProblem, pair: wp.vec2i, shapes: wp.array(dtype=wp.transform)):
    """Return whether the balls around two whole shapes are closer than the clearance."""
    reach = problem.shape_reach[pair[0]] + problem.shape_reach[pair[1]] + problem.clearance
    between = wp.transform_get_translation(shapes[pair[0]]) - wp.transform_get_translation(shapes[pair[1]])
    return wp.length_sq(between) < reach * reach


@wp.func
def box_distance(point: wp.vec3, half: wp.vec3):
    """Return the distance of a point from a box around the origin, negative inside, and its gradient."""
    beyond = wp.vec3(wp.abs(point[0]), wp.abs(point[1]), wp.abs(point[2])) - half
    outside = wp.vec3(wp.max(beyond[0], 0.0), wp.max(beyond[1], 0.0), wp.max(beyond[2], 0.0))
    distance = wp.length(outside)
    direction = wp.normalize(outside)
    if distance == 0.0:  # inside: out through the nearest face
        nearest = wp.argmax(beyond)
        distance = beyond[nearest]
        direction[nearest] = 1.0
    signs = wp.vec3(wp.sign(point[0]), wp.sign(point[1]), wp.sign(point[2]))
    return distance, wp.cw_mul(direction, signs)


@wp.func
def ball_overlap(problem: HandProblem, ball: wp.int32, shape: wp.int32, to_shape: wp.transform):
    """Return how far a ball is into the clearance of a shape [m], negative beyond, and the way out in its frame."""
    point = wp.transform_point(to_shape, problem.ball_centre[ball])
    distance, direction = box_distance(point, problem.shape_half[shape])
    return problem.clearance + problem.ball_radius[ball] + problem.shape_radius[shape] - distance, direction


@wp.func
def contact_cost(
    problem: HandProblem,
    poses: wp.array(dtype=wp.transform),
    # outputs
    shapes: wp.array(dtype=wp.transform),
):
    """Return the weighted squares of all overlaps."""
    place_shapes(problem, poses, shapes)
    cost = wp.float32(0.0)
    for p in range(problem.shape_pairs.shape[0]):
        pair = problem.shape_pairs[p]
        if can_meet(problem, pair, shapes):
            to_box = wp.transform_multiply(wp.transform_inverse(shapes[pair[1]]), shapes[pair[0]])
            for b in range(problem.shape_first[pair[0]], problem.shape_first[pair[0] + 1]):
                overlap, direction = ball_overlap(problem, b, pair[1], to_box)
                overlap = wp.max(overlap, 0.0)
                cost += problem.contact_weight * overlap * overlap
    return cost


@wp.func
def add_contacts(
    problem: HandProblem,
    poses: wp.array(dtype=wp.transform),
    directions: wp.array(dtype=wp.vec3),
    # outputs
    shapes: wp.array(dtype=wp.transform),
    columns: wp.array(dtype=wp.vec3),
    gradient: wp.array(dtype=wp.float32),
    hessian: wp.array2d(dtype=wp.float32),
):
    """Add the gradient of the overlaps, and of their second derivatives the part that is never negative."""
    place_shapes(problem, poses, shapes)
    stiffness = 2.0 * problem.contact_weight
    for p in range(problem.shape_pairs.shape[0]):
        pair = problem.shape_pairs[p]
        if can_meet(problem, pair, shapes):
            one = problem.shape_joint[pair[0]]
            other = problem.shape_joint[pair[1]]
            to_box = wp.transform_multiply(wp.transform_inverse(shapes[pair[1]]), shapes[pair[0]])
            for b in range(problem.shape_first[pair[0]], problem.shape_first[pair[0] + 1]):
                overlap, direction = ball_overlap(problem, b, pair[1], to_box)
                if overlap > 0.0:
                    direction = wp.transform_vector(shapes[pair[1]], direction)
                    slope = -stiffness * overlap * direction
                    centre = wp.transform_point(shapes[pair[0]], problem.ball_centre[b])
                    add_point(one, centre, 1.0, slope, poses, directions, columns, gradient)
                    add_point(other, centre, -1.0, slope, poses, directions, columns, gradient)
                    add_products(one, other, 0.0, stiffness, direction, columns, hessian)
