"""Warp kernel of the weighted inverse kinematics: one thread an environment, the same code on CPU and CUDA."""

import warp as wp

from r2s2r.control.kernels import (
    NUM_JOINTS,
    distances,
    jacobian_mat,
    joint_vec,
    last_command,
    pose_error,
    read_target,
    scale_to_limit,
    send_within_speed,
    solve_spd,
    twist_vec,
    wrist_and_jacobian,
)

wp.set_module_options({"enable_backward": False, "max_unroll": 1})


@wp.struct
class WeightedIKSettings:
    """Numbers of :class:`r2s2r.control.weighted_ik.WeightedIKCfg`, for one call."""

    filter_share: wp.float32
    rotation_length: wp.float32
    joint_scale: joint_vec
    damping: wp.float32
    error_damping: wp.float32
    iterations: wp.int32
    iteration_step: joint_vec
    posture: joint_vec
    posture_share: wp.float32
    limit_margin: wp.float32
    limit_share: wp.float32


@wp.func
def part_way(start: wp.transform, target: wp.transform, share: wp.float32):
    """Return the pose at `share` of the way: on the straight line, about the one axis of the rotation between."""
    way = pose_error(start, target)
    turn = wp.vec3(way[3], way[4], way[5])
    pos = wp.transform_get_translation(start) + share * wp.vec3(way[0], way[1], way[2])
    quat = wp.quat_from_axis_angle(wp.normalize(turn), share * wp.length(turn))
    return wp.transform(pos, wp.normalize(quat * wp.transform_get_rotation(start)))


@wp.func
def null_direction(jacobian: jacobian_mat):
    """Return a unit vector that the Jacobian (6, J) takes to zero: last column of Q in J^T = Q R, by Householder.

    It holds to rounding also where the Jacobian loses rank, and has no damping that would leak into the wrist.
    """
    rows = jacobian
    mirrors = jacobian_mat()
    for k in range(6):
        norm = wp.float32(0.0)
        for j in range(k, NUM_JOINTS):
            norm += rows[k, j] * rows[k, j]
        norm = wp.sqrt(norm)
        length = wp.float32(0.0)
        for j in range(k, NUM_JOINTS):
            value = rows[k, j]
            if j == k:
                value += wp.where(value < 0.0, -norm, norm)
            mirrors[k, j] = value
            length += value * value
        length = wp.sqrt(length)
        for j in range(k, NUM_JOINTS):
            mirrors[k, j] = wp.where(length > 0.0, mirrors[k, j] / length, 0.0)
        for r in range(k + 1, 6):
            along = wp.dot(rows[r], mirrors[k])
            rows[r] = rows[r] - 2.0 * along * mirrors[k]
    direction = joint_vec()
    direction[NUM_JOINTS - 1] = 1.0
    for n in range(6):
        k = 5 - n
        direction = direction - 2.0 * wp.dot(direction, mirrors[k]) * mirrors[k]
    return direction


@wp.func
def wished_step(joint_pos: joint_vec, lower: joint_vec, upper: joint_vec, settings: WeightedIKSettings):
    """Return the step of one call that posture and joint limits would like (J) [rad]."""
    step = settings.posture_share * (settings.posture - joint_pos)
    for j in range(NUM_JOINTS):
        below = wp.max(lower[j] + settings.limit_margin - joint_pos[j], 0.0)
        above = wp.max(joint_pos[j] - upper[j] + settings.limit_margin, 0.0)
        step[j] = step[j] + settings.limit_share * (below - above)
    return step


@wp.func
def weighted_step(jacobian: jacobian_mat, error: twist_vec, damping: wp.float32, error_damping: wp.float32):
    """Return the damped least-squares step (J); damping grows with the error (Sugihara, T-RO 2011)."""
    squared = jacobian * wp.transpose(jacobian)
    for k in range(6):
        squared[k, k] = squared[k, k] + damping * damping + error_damping * wp.dot(error, error)
    return wp.transpose(jacobian) * solve_spd(squared, error)


@wp.kernel(enable_backward=False)
def weighted_ik(
    frames: wp.array(dtype=wp.transform),
    axes: wp.array(dtype=wp.vec3),
    tip: wp.transform,
    lower: joint_vec,
    upper: joint_vec,
    speed_step: joint_vec,
    settings: WeightedIKSettings,
    wrist_target: wp.array2d(dtype=wp.float32),
    # outputs
    joint_pos_target: wp.array2d(dtype=wp.float32),
    followable: wp.array(dtype=wp.bool),
    error: wp.array(dtype=wp.vec2),
):
    """Move each environment's joint targets towards its filtered wrist target, within joint and speed limits."""
    env = wp.tid()
    start = last_command(joint_pos_target, env)
    target, valid = read_target(wrist_target, env)
    if not valid:
        followable[env] = False
        error[env] = wp.vec2(wp.inf, wp.inf)
        return
    joint_pos = start
    joint_scale = settings.joint_scale
    pose, jacobian = wrist_and_jacobian(frames, axes, tip, joint_pos)
    filtered = part_way(pose, target, settings.filter_share)
    for iteration in range(settings.iterations):
        left = pose_error(pose, filtered)
        # Everything in metres and in joint angles of equal weight; a joint that met its limit has weight for ever.
        for j in range(NUM_JOINTS):
            for k in range(3):
                jacobian[k, j] = jacobian[k, j] * joint_scale[j]
                jacobian[3 + k, j] = jacobian[3 + k, j] * joint_scale[j] * settings.rotation_length
        for k in range(3):
            left[3 + k] = left[3 + k] * settings.rotation_length
        step = weighted_step(jacobian, left, settings.damping, settings.error_damping)
        if iteration == 0:
            # Once a call, so that the other iterations undo what its curvature does to the wrist.
            wish = wp.cw_div(wished_step(joint_pos, lower, upper, settings), joint_scale)
            direction = null_direction(jacobian)
            step = step + wp.dot(direction, wish) * direction
        step = wp.cw_mul(step, joint_scale)
        joint_pos = joint_pos + scale_to_limit(step, settings.iteration_step) * step
        for j in range(NUM_JOINTS):
            inside = wp.clamp(joint_pos[j], lower[j], upper[j])
            if inside != joint_pos[j]:
                joint_scale[j] = 0.0
            joint_pos[j] = inside
        pose, jacobian = wrist_and_jacobian(frames, axes, tip, joint_pos)
    share = send_within_speed(joint_pos_target, env, start, joint_pos, speed_step)
    followable[env] = share == 1.0
    pose, jacobian = wrist_and_jacobian(frames, axes, tip, last_command(joint_pos_target, env))
    error[env] = distances(pose_error(pose, target))
