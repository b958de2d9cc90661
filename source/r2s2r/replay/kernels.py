"""Warp kernels of the batch replay: one thread an environment, nothing on the host.

Frames of reference, by phase: the approach leads from the base into the frame of the moving object; closing happens
in that frame, which from then on runs with the belt, since the object is about to be moved by the hand; lift and
transport lead into the frame of the bin. A frame of an object is its centre and its turn about the vertical.
"""

import warp as wp

APPROACH = wp.constant(0)
CLOSE = wp.constant(1)
LIFT = wp.constant(2)
TRANSPORT = wp.constant(3)
RELEASE = wp.constant(4)

CHOICE_STREAM = wp.constant(0x2545F491)
NOISE_STREAM = wp.constant(0x1B873593)
PUSH_STREAM = wp.constant(0x5BD1E995)
"""Mixed into the seed: whoever else draws from the seed and an attempt's number, such as the scene of that attempt,
must not get the same numbers, or demonstrations would be chosen by class and place."""

HAND = wp.constant(16)
NOISE = wp.constant(22)


@wp.struct
class Demos:
    """D demonstrations of at most T steps, the shorter ones padded with their last step."""

    wrist_b: wp.array2d(dtype=wp.transform)  # (D, T) wrist in the base
    wrist_object: wp.array2d(dtype=wp.transform)  # (D, T) wrist in the frame of the expected object
    hand: wp.array3d(dtype=wp.float32)  # (D, T, 16) [rad]
    tracked: wp.array2d(dtype=wp.bool)  # (D, T) whether the human was tracked in this step
    begins: wp.array2d(dtype=wp.float32)  # (D, 7) step at which each phase begins; last: the last step
    meeting: wp.array(dtype=wp.vec3)  # (D,) object in the base at the end of the approach [m]
    bin_pos: wp.array(dtype=wp.vec3)  # (D,) middle of the bin's floor [m]


@wp.struct
class Attempt:
    """State of the running attempts (N)."""

    number: wp.array(dtype=wp.int32)
    demo: wp.array(dtype=wp.int32)
    speed: wp.array(dtype=wp.float32)  # demonstration steps a control step
    clock: wp.array(dtype=wp.float32)  # demonstration step, -1 before the start
    steps: wp.array(dtype=wp.int32)  # control steps since the reset
    waited: wp.array(dtype=wp.float32)  # time that closing waited [s]
    closing: wp.array(dtype=wp.int32)  # 0 before closing, 1 once begun
    late: wp.array(dtype=wp.bool)
    grasp_frame: wp.array(dtype=wp.transform)  # frame that closing happens in
    carry: wp.array(dtype=wp.transform)  # takes the demonstration's base frame to the lifted hand
    tracked: wp.array(dtype=wp.bool)  # whether the human was tracked in the demonstration's present step
    push: wp.array(dtype=wp.vec3)  # farthest that the wrist is pushed away [m]
    push_begin: wp.array(dtype=wp.float32)  # demonstration step at which the push begins, -1 for none
    disturbed: wp.array(dtype=wp.bool)  # whether the wrist is being pushed away from its way
    noise: wp.array2d(dtype=wp.float32)  # (N, 22) wrist position 3, rotation 3, hand 16, in standard deviations


@wp.func
def upright_frame(pose: wp.transform):
    """Centre and turn about the vertical of a pose."""
    q = wp.transform_get_rotation(pose)
    yaw = wp.atan2(2.0 * (q[3] * q[2] + q[0] * q[1]), 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]))
    return wp.transform(wp.transform_get_translation(pose), wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), yaw))


@wp.func
def blend(a: wp.transform, b: wp.transform, share: float):
    """Straight line and shortest turn from `a` (share 0) to `b` (share 1)."""
    pos = wp.lerp(wp.transform_get_translation(a), wp.transform_get_translation(b), share)
    qa = wp.transform_get_rotation(a)
    qb = wp.transform_get_rotation(b)
    if wp.dot(qa, qb) < 0.0:
        qb = -qb
    return wp.transform(pos, wp.normalize(wp.quat_slerp(qa, qb, share)))


@wp.func
def minimum_jerk(s: float):
    """10 s^3 - 15 s^4 + 6 s^5 on 0..1 (Flash and Hogan 1985)."""
    x = wp.clamp(s, 0.0, 1.0)
    return x * x * x * (10.0 + x * (6.0 * x - 15.0))


@wp.func
def sample(poses: wp.array2d(dtype=wp.transform), demo: int, clock: float):
    """Pose at a fractional step."""
    step = int(wp.floor(clock))
    after = wp.min(step + 1, poses.shape[1] - 1)
    return blend(poses[demo, step], poses[demo, after], clock - float(step))


@wp.func
def moved(frame: wp.transform, velocity: wp.vec3, time: float):
    return wp.transform(wp.transform_get_translation(frame) + velocity * time, wp.transform_get_rotation(frame))


@wp.func
def share_of_phase(demos: Demos, demo: int, phase: int, clock: float):
    begin = demos.begins[demo, phase]
    length = demos.begins[demo, phase + 1] - begin
    return (clock - begin) / wp.max(length, 1.0)


@wp.func
def draw_push(
    demos: Demos, attempt: Attempt, env: int, seed: int, push_share: float, push_low: float, push_high: float
):
    """Draw whether, when, where to and how far the wrist is pushed away: in the approach or in the transport."""
    state = wp.rand_init(seed ^ PUSH_STREAM, attempt.number[env])
    attempt.push_begin[env] = -1.0
    attempt.disturbed[env] = False
    if wp.randf(state) < push_share:
        demo = attempt.demo[env]
        phase = wp.where(wp.randf(state) < 0.5, APPROACH, TRANSPORT)
        begin = demos.begins[demo, phase]
        # The first half of a phase, so that the way back ends within it.
        attempt.push_begin[env] = begin + (0.1 + 0.4 * wp.randf(state)) * (demos.begins[demo, phase + 1] - begin)
        direction = wp.sample_unit_sphere_surface(state)
        direction[2] = wp.abs(direction[2])  # never into belt or bin
        attempt.push[env] = direction * (push_low + (push_high - push_low) * wp.randf(state))


@wp.kernel(enable_backward=False)
def start(
    demos: Demos,
    env_ids: wp.array(dtype=wp.int32),
    number: wp.array(dtype=wp.int32),
    target_class: wp.array(dtype=wp.int64),
    seed: int,
    demo_ids: wp.array(dtype=wp.int32),
    class_begins: wp.array(dtype=wp.int32),
    warp_low: float,
    warp_high: float,
    push_share: float,
    push_low: float,
    push_high: float,
    # outputs
    attempt: Attempt,
):
    """Choose a demonstration of the target's class and a speed, and forget the last attempt."""
    env = env_ids[wp.tid()]
    state = wp.rand_init(seed ^ CHOICE_STREAM, number[env])
    group = int(target_class[env])
    begin = class_begins[group]
    attempt.number[env] = number[env]
    attempt.demo[env] = demo_ids[begin + wp.randi(state, 0, class_begins[group + 1] - begin)]
    attempt.speed[env] = warp_low + (warp_high - warp_low) * wp.randf(state)
    attempt.clock[env] = -1.0
    attempt.steps[env] = 0
    attempt.waited[env] = 0.0
    attempt.closing[env] = 0
    attempt.late[env] = False
    for k in range(NOISE):
        attempt.noise[env, k] = wp.randn(state)
    draw_push(demos, attempt, env, seed, push_share, push_low, push_high)


@wp.func
def advance_noise(attempt: Attempt, env: int, seed: int, keep: float):
    """Ornstein-Uhlenbeck step at unit variance."""
    state = wp.rand_init(seed ^ NOISE_STREAM, attempt.number[env] * 100003 + attempt.steps[env])
    renew = wp.sqrt(1.0 - keep * keep)
    for k in range(NOISE):
        attempt.noise[env, k] = keep * attempt.noise[env, k] + renew * wp.randn(state)


@wp.func
def advance_clock(
    demos: Demos,
    attempt: Attempt,
    env: int,
    object_b: wp.transform,
    belt_velocity: wp.vec3,
    wrist_pos_b: wp.vec3,
    step_s: float,
    arrival_m: float,
    max_wait_s: float,
):
    """Start in time to meet the object where the demonstration met it; let closing wait for the wrist.

    On a belt that stands the object never comes, so that there is nothing to wait for.
    """
    demo = attempt.demo[env]
    speed = attempt.speed[env]
    clock = attempt.clock[env]
    close_begin = demos.begins[demo, CLOSE]
    if clock < 0.0:
        time_to_close = close_begin * step_s / speed
        meeting_y = wp.transform_get_translation(object_b)[1] + belt_velocity[1] * time_to_close
        if meeting_y >= demos.meeting[demo][1] or belt_velocity[1] <= 0.0:
            clock = 0.0
    else:
        later = wp.min(clock + speed, demos.begins[demo, 6])
        if attempt.closing[env] == 0 and later >= close_begin:
            place = object_b * sample(demos.wrist_object, demo, close_begin)
            away = wp.length(wp.transform_get_translation(place) - wrist_pos_b)
            arrived = away <= arrival_m  # false for a wrist that is not finite
            # The hundredth of a step absorbs the rounding of the sum, so that whole steps are counted exactly.
            if arrived or attempt.waited[env] + 0.99 * step_s > max_wait_s:
                attempt.late[env] = not arrived
                attempt.closing[env] = 1
                attempt.grasp_frame[env] = object_b
            else:
                attempt.waited[env] = attempt.waited[env] + step_s
                later = close_begin
        clock = later
    attempt.clock[env] = clock
    return clock


@wp.func
def wrist_target(
    demos: Demos,
    attempt: Attempt,
    env: int,
    clock: float,
    object_b: wp.transform,
    belt_velocity: wp.vec3,
    bin_pos_b: wp.vec3,
    lead_s: float,
    step_s: float,
):
    """Pose of the wrist in the base at demonstration step `clock`."""
    demo = attempt.demo[env]
    in_base = sample(demos.wrist_b, demo, clock)
    if attempt.closing[env] == 0:
        in_object = moved(object_b, belt_velocity, lead_s) * sample(demos.wrist_object, demo, clock)
        share = minimum_jerk(share_of_phase(demos, demo, APPROACH, clock))
        return blend(in_base, in_object, share)
    if clock < demos.begins[demo, LIFT]:
        target = moved(attempt.grasp_frame[env], belt_velocity, lead_s) * sample(demos.wrist_object, demo, clock)
        attempt.grasp_frame[env] = moved(attempt.grasp_frame[env], belt_velocity, step_s)
        attempt.carry[env] = target * wp.transform_inverse(in_base)
        return target
    lifted = attempt.carry[env] * in_base
    over_bin = moved(in_base, bin_pos_b - demos.bin_pos[demo], 1.0)
    share = minimum_jerk(share_of_phase(demos, demo, TRANSPORT, clock))
    return blend(lifted, over_bin, share)


@wp.func
def pushed(attempt: Attempt, env: int, clock: float, push_steps: float):
    """Offset of a push (3) [m]: out and back without a jerk; what is out counts as disturbed, the way back does not."""
    share = (clock - attempt.push_begin[env]) / push_steps
    running = attempt.push_begin[env] >= 0.0 and share > 0.0 and share < 1.0
    attempt.disturbed[env] = running and share < 0.5
    if not running:
        return wp.vec3()
    return attempt.push[env] * minimum_jerk(1.0 - wp.abs(2.0 * share - 1.0))


@wp.kernel(enable_backward=False)
def step(
    demos: Demos,
    object_pose_b: wp.array(dtype=wp.transform),
    belt_speed: wp.array(dtype=wp.float32),
    bin_pos_b: wp.array(dtype=wp.vec3),
    wrist_pos_b: wp.array(dtype=wp.vec3),
    seed: int,
    step_s: float,
    lead_s: float,
    arrival_m: float,
    max_wait_s: float,
    keep: float,
    pos_noise: float,
    rot_noise: float,
    hand_noise: float,
    push_steps: float,
    # outputs
    attempt: Attempt,
    actions: wp.array2d(dtype=wp.float32),
):
    """Write the next action of every environment (N, 25)."""
    env = wp.tid()
    object_b = upright_frame(object_pose_b[env])
    belt_velocity = wp.vec3(0.0, belt_speed[env], 0.0)
    clock = advance_clock(demos, attempt, env, object_b, belt_velocity, wrist_pos_b[env], step_s, arrival_m, max_wait_s)
    clock = wp.max(clock, 0.0)
    target = wrist_target(demos, attempt, env, clock, object_b, belt_velocity, bin_pos_b[env], lead_s, step_s)
    advance_noise(attempt, env, seed, keep)
    attempt.steps[env] = attempt.steps[env] + 1

    pos = wp.transform_get_translation(target) + pushed(attempt, env, clock, push_steps)
    turn = wp.vec3()
    for k in range(3):
        pos[k] = pos[k] + pos_noise * attempt.noise[env, k]
        turn[k] = rot_noise * attempt.noise[env, 3 + k]
    angle = wp.length(turn)
    rotation = wp.transform_get_rotation(target)
    if angle > 1.0e-9:
        rotation = rotation * wp.quat_from_axis_angle(turn / angle, angle)
    columns = wp.quat_to_matrix(rotation)
    for k in range(3):
        actions[env, k] = pos[k]
        actions[env, 3 + k] = columns[k, 0]
        actions[env, 6 + k] = columns[k, 1]
    demo = attempt.demo[env]
    before = int(wp.floor(clock))
    after = wp.min(before + 1, demos.hand.shape[1] - 1)
    attempt.tracked[env] = demos.tracked[demo, before] and demos.tracked[demo, after]
    for k in range(HAND):
        value = wp.lerp(demos.hand[demo, before, k], demos.hand[demo, after, k], clock - float(before))
        actions[env, 9 + k] = value + hand_noise * attempt.noise[env, 6 + k]
