"""Warp kernels between commands and drives: one thread a joint of an environment, the same code on CPU and CUDA."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def take_in(
    target: wp.float32,
    head: wp.array2d(dtype=wp.int32),
    ring: wp.array3d(dtype=wp.float32),
    env: wp.int32,
    joint: wp.int32,
):
    """Put `target` into the ring as the newest."""
    now = head[env, joint] + 1
    if now == ring.shape[0]:
        now = 0
    ring[now, env, joint] = target
    head[env, joint] = now


@wp.func
def before(
    steps: wp.int32,
    head: wp.array2d(dtype=wp.int32),
    ring: wp.array3d(dtype=wp.float32),
    env: wp.int32,
    joint: wp.int32,
):
    """Return the target that was taken in `steps` steps before the newest."""
    place = head[env, joint] - steps
    if place < 0:
        place += ring.shape[0]
    return ring[place, env, joint]


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
    """Take this step's target in and give the mean over the step of what arrives `whole + share` steps late."""
    env, joint = wp.tid()
    take_in(target[env, joint], head, ring, env, joint)
    value = before(whole[joint], head, ring, env, joint)
    late[env, joint] = value + share[joint] * (before(whole[joint] + 1, head, ring, env, joint) - value)


@wp.kernel(enable_backward=False)
def respond(
    target: wp.array2d(dtype=wp.float32),
    whole: wp.array(dtype=wp.int32),
    share: wp.array(dtype=wp.float32),
    deadband: wp.array(dtype=wp.float32),
    kept: wp.array(dtype=wp.vec2),
    mean_kept: wp.array(dtype=wp.vec2),
    # outputs
    head: wp.array2d(dtype=wp.int32),
    ring: wp.array3d(dtype=wp.float32),
    accepted: wp.array2d(dtype=wp.float32),
    lagged: wp.array2d(dtype=wp.float32),
    response: wp.array2d(dtype=wp.float32),
):
    """Dead time, play and first-order lag of one step; the response is the lag's mean over the step.

    The new target arrives after `share` of the step: the lag runs on towards the old one until then. `kept` and
    `mean_kept` are what it keeps of its distance after each of the two parts, and in their means.
    """
    env, joint = wp.tid()
    take_in(target[env, joint], head, ring, env, joint)
    new = before(whole[joint], head, ring, env, joint)
    old_accepted = accepted[env, joint]
    new_accepted = wp.clamp(old_accepted, new - deadband[joint], new + deadband[joint])
    away = lagged[env, joint] - old_accepted
    first = old_accepted + mean_kept[joint][0] * away
    away = old_accepted + kept[joint][0] * away - new_accepted
    second = new_accepted + mean_kept[joint][1] * away
    accepted[env, joint] = new_accepted
    lagged[env, joint] = new_accepted + kept[joint][1] * away
    response[env, joint] = second + share[joint] * (first - second)


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
