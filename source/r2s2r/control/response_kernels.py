"""Warp kernels between commands and drives: one thread a joint of an environment, the same code on CPU and CUDA."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def delayed(
    target: wp.float32,
    whole: wp.int32,
    share: wp.float32,
    head: wp.array2d(dtype=wp.int32),
    ring: wp.array3d(dtype=wp.float32),
    env: wp.int32,
    joint: wp.int32,
):
    """Put `target` into the ring and return what went in `whole + share` steps before.

    A command that holds over each step and arrives `whole + share` steps late has, over one step, this mean.
    """
    now = head[env, joint] + 1
    if now == ring.shape[0]:
        now = 0
    ring[now, env, joint] = target
    head[env, joint] = now
    near = now - whole
    if near < 0:
        near += ring.shape[0]
    far = near - 1
    if far < 0:
        far += ring.shape[0]
    value = ring[near, env, joint]
    return value + share * (ring[far, env, joint] - value)


@wp.kernel(enable_backward=False)
def delay(
    target: wp.array2d(dtype=wp.float32),
    whole: wp.array(dtype=wp.int32),
    share: wp.array(dtype=wp.float32),
    # outputs
    head: wp.array2d(dtype=wp.int32),
    ring: wp.array3d(dtype=wp.float32),
    late: wp.array2d(dtype=wp.float32),
):
    """Take this step's target in and give the one that arrives in it."""
    env, joint = wp.tid()
    late[env, joint] = delayed(target[env, joint], whole[joint], share[joint], head, ring, env, joint)


@wp.kernel(enable_backward=False)
def respond(
    target: wp.array2d(dtype=wp.float32),
    whole: wp.array(dtype=wp.int32),
    share: wp.array(dtype=wp.float32),
    deadband: wp.array(dtype=wp.float32),
    kept: wp.array(dtype=wp.float32),
    mean_kept: wp.array(dtype=wp.float32),
    # outputs
    head: wp.array2d(dtype=wp.int32),
    ring: wp.array3d(dtype=wp.float32),
    accepted: wp.array2d(dtype=wp.float32),
    lagged: wp.array2d(dtype=wp.float32),
    response: wp.array2d(dtype=wp.float32),
):
    """Dead time, play and first-order lag of one step; the response is the lag's mean over the step."""
    env, joint = wp.tid()
    late = delayed(target[env, joint], whole[joint], share[joint], head, ring, env, joint)
    trailing = wp.clamp(accepted[env, joint], late - deadband[joint], late + deadband[joint])
    away = lagged[env, joint] - trailing
    accepted[env, joint] = trailing
    lagged[env, joint] = trailing + kept[joint] * away
    response[env, joint] = trailing + mean_kept[joint] * away


@wp.kernel(enable_backward=False)
def fill(
    env_ids: wp.array(dtype=wp.int32),
    joint_pos: wp.array2d(dtype=wp.float32),
    # outputs
    ring: wp.array3d(dtype=wp.float32),
):
    """Let some environments' targets have been `joint_pos` for ever."""
    i, joint = wp.tid()
    env = env_ids[i]
    for k in range(ring.shape[0]):
        ring[k, env, joint] = joint_pos[env, joint]


@wp.kernel(enable_backward=False)
def settle(
    env_ids: wp.array(dtype=wp.int32),
    joint_pos: wp.array2d(dtype=wp.float32),
    # outputs
    accepted: wp.array2d(dtype=wp.float32),
    lagged: wp.array2d(dtype=wp.float32),
):
    """Let some environments' play and lag rest at `joint_pos`."""
    i, joint = wp.tid()
    env = env_ids[i]
    accepted[env, joint] = joint_pos[env, joint]
    lagged[env, joint] = joint_pos[env, joint]
