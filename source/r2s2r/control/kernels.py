"""Warp kernels of the arm controllers: one thread an environment, the same code on CPU and CUDA."""

import warp as wp

wp.set_module_options({"enable_backward": False, "max_unroll": 1})

NUM_JOINTS = 7
"""Joints of the arm, see :data:`r2s2r.contracts.joints.ARM_JOINTS`."""

joint_vec = wp.types.vector(length=NUM_JOINTS, dtype=wp.float32)
twist_vec = wp.types.vector(length=6, dtype=wp.float32)
jacobian_mat = wp.types.matrix(shape=(6, NUM_JOINTS), dtype=wp.float32)
twist_mat = wp.types.matrix(shape=(6, 6), dtype=wp.float32)
lines_mat = wp.types.matrix(shape=(NUM_JOINTS, 3), dtype=wp.float32)

SHORTEST_COLUMN = wp.constant(wp.float32(1e-3))
"""Columns of a six-number rotation shorter than this hold no direction."""


@wp.func
def wrist_and_jacobian(
    frames: wp.array(dtype=wp.transform), axes: wp.array(dtype=wp.vec3), tip: wp.transform, joint_pos: joint_vec
):
    """Return T_base_wrist and the Jacobian (6, J) of its linear and angular velocity, both in the base."""
    pose = wp.transform_identity()
    origins = lines_mat()
    directions = lines_mat()
    for j in range(NUM_JOINTS):
        pose = wp.transform_multiply(pose, frames[j])
        origins[j] = wp.transform_get_translation(pose)
        directions[j] = wp.quat_rotate(wp.transform_get_rotation(pose), axes[j])
        turn = wp.quat_from_axis_angle(axes[j], joint_pos[j])
        pose = wp.transform_multiply(pose, wp.transform(wp.vec3(0.0, 0.0, 0.0), turn))
    pose = wp.transform_multiply(pose, tip)
    jacobian = jacobian_mat()
    for j in range(NUM_JOINTS):
        linear = wp.cross(directions[j], wp.transform_get_translation(pose) - origins[j])
        for k in range(3):
            jacobian[k, j] = linear[k]
            jacobian[3 + k, j] = directions[j][k]
    return pose, jacobian


@wp.func
def quat_from_rot6d(x: wp.vec3, y: wp.vec3):
    """Return the rotation of the columns x and y by Gram-Schmidt, and whether there is one."""
    x_length = wp.length(x)
    x = x / wp.max(x_length, SHORTEST_COLUMN)
    y = y - wp.dot(x, y) * x
    y_length = wp.length(y)
    y = y / wp.max(y_length, SHORTEST_COLUMN)
    z = wp.cross(x, y)
    valid = wp.isfinite(x_length) and wp.isfinite(y_length)
    valid = valid and x_length > SHORTEST_COLUMN and y_length > SHORTEST_COLUMN
    return wp.quat_from_matrix(wp.matrix_from_cols(x, y, z)), valid


@wp.func
def read_target(wrist_target: wp.array2d(dtype=wp.float32), env: wp.int32):
    """Return the wrist target of an environment, and whether it is one."""
    pos = wp.vec3(wrist_target[env, 0], wrist_target[env, 1], wrist_target[env, 2])
    x = wp.vec3(wrist_target[env, 3], wrist_target[env, 4], wrist_target[env, 5])
    y = wp.vec3(wrist_target[env, 6], wrist_target[env, 7], wrist_target[env, 8])
    quat, valid = quat_from_rot6d(x, y)
    return wp.transform(pos, quat), valid and wp.isfinite(wp.length(pos))


@wp.func
def pose_error(pose: wp.transform, target: wp.transform):
    """Return what leads from `pose` to `target`: position difference and rotation vector, both in the base (6)."""
    shift = wp.transform_get_translation(target) - wp.transform_get_translation(pose)
    turn = wp.transform_get_rotation(target) * wp.quat_inverse(wp.transform_get_rotation(pose))
    if turn[3] < 0.0:
        turn = -turn
    vector = wp.vec3(turn[0], turn[1], turn[2])
    sine = wp.length(vector)
    scale = wp.float32(2.0)
    if sine > 1e-6:
        scale = 2.0 * wp.atan2(sine, turn[3]) / sine
    vector = scale * vector
    return twist_vec(shift[0], shift[1], shift[2], vector[0], vector[1], vector[2])


@wp.func
def distances(error: twist_vec):
    """Return how far a pose error is: position [m] and rotation [rad]."""
    return wp.vec2(wp.length(wp.vec3(error[0], error[1], error[2])), wp.length(wp.vec3(error[3], error[4], error[5])))


@wp.func
def solve_spd(matrix: twist_mat, right: twist_vec):
    """Return the solution of a symmetric positive definite system by Cholesky factors."""
    factor = twist_mat()
    for i in range(6):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = wp.sqrt(value)
            else:
                factor[i, j] = value / factor[j, j]
    result = right
    for i in range(6):
        for k in range(i):
            result[i] = result[i] - factor[i, k] * result[k]
        result[i] = result[i] / factor[i, i]
    for n in range(6):
        i = 5 - n
        for k in range(i + 1, 6):
            result[i] = result[i] - factor[k, i] * result[k]
        result[i] = result[i] / factor[i, i]
    return result


@wp.func
def scale_to_limit(step: joint_vec, limit: joint_vec):
    """Return the factor 0..1 that brings `step` within `limit` joint by joint and keeps its direction."""
    scale = wp.float32(1.0)
    for j in range(NUM_JOINTS):
        if wp.abs(step[j]) * scale > limit[j]:
            scale = limit[j] / wp.abs(step[j])
    return scale


@wp.func
def last_command(joint_pos_target: wp.array2d(dtype=wp.float32), env: wp.int32):
    """Return the joint targets of an environment (J) [rad]."""
    joint_pos = joint_vec()
    for j in range(NUM_JOINTS):
        joint_pos[j] = joint_pos_target[env, j]
    return joint_pos


@wp.func
def send_within_speed(
    joint_pos_target: wp.array2d(dtype=wp.float32),
    env: wp.int32,
    start: joint_vec,
    wanted: joint_vec,
    speed_step: joint_vec,
):
    """Command as much of the way from `start` to `wanted` as the joints are fast for; return that share 0..1."""
    share = scale_to_limit(wanted - start, speed_step)
    for j in range(NUM_JOINTS):
        joint_pos_target[env, j] = start[j] + share * (wanted[j] - start[j])
    return share


@wp.kernel(enable_backward=False)
def damped_least_squares(
    frames: wp.array(dtype=wp.transform),
    axes: wp.array(dtype=wp.vec3),
    tip: wp.transform,
    lower: joint_vec,
    upper: joint_vec,
    speed_step: joint_vec,
    iteration_step: joint_vec,
    damping: wp.float32,
    iterations: wp.int32,
    wrist_target: wp.array2d(dtype=wp.float32),
    # outputs
    joint_pos_target: wp.array2d(dtype=wp.float32),
    followable: wp.array(dtype=wp.bool),
    error: wp.array(dtype=wp.vec2),
):
    """Move each environment's joint targets towards its wrist target, within joint and speed limits."""
    env = wp.tid()
    start = last_command(joint_pos_target, env)
    target, valid = read_target(wrist_target, env)
    if not valid:
        followable[env] = False
        error[env] = wp.vec2(wp.inf, wp.inf)
        return
    joint_pos = start
    for _ in range(iterations):
        pose, jacobian = wrist_and_jacobian(frames, axes, tip, joint_pos)
        squared = jacobian * wp.transpose(jacobian)
        for k in range(6):
            squared[k, k] = squared[k, k] + damping * damping
        step = wp.transpose(jacobian) * solve_spd(squared, pose_error(pose, target))
        joint_pos = joint_pos + scale_to_limit(step, iteration_step) * step
        for j in range(NUM_JOINTS):
            joint_pos[j] = wp.clamp(joint_pos[j], lower[j], upper[j])
    share = send_within_speed(joint_pos_target, env, start, joint_pos, speed_step)
    followable[env] = share == 1.0
    pose, jacobian = wrist_and_jacobian(frames, axes, tip, last_command(joint_pos_target, env))
    error[env] = distances(pose_error(pose, target))
