"""Warp kernel that simulates one finger joint for each candidate of its response, in double precision on the CPU."""

import warp as wp

wp.set_module_options({"enable_backward": False})


JointDrive = wp.types.vector(length=5, dtype=wp.float64)
"""Stiffness, damping, inertia, dry friction and largest torque of the joint behind the response."""


SHORTEST_LAG = wp.constant(wp.float64(1e-9))
"""A shorter time constant [s] is none."""


@wp.func
def drive_torque(pos: wp.float64, speed: wp.float64, target: wp.float64, drive: JointDrive):
    """Return the torque of a position drive with limited effort [N m]."""
    return wp.clamp(drive[0] * (target - pos) - drive[1] * speed, -drive[4], drive[4])


@wp.func
def moved(pos: wp.float64, speed: wp.float64, target: wp.float64, drive: JointDrive, h: wp.float64):
    """Return position and speed after `h` by Runge-Kutta's fourth order; dry friction has the step's first direction.

    A joint that comes to rest within the step starts again, or sticks, with the next one.
    """
    friction = wp.where(speed > wp.float64(0.0), -drive[3], drive[3])
    if speed == wp.float64(0.0):
        torque = drive_torque(pos, speed, target, drive)
        if wp.abs(torque) <= drive[3]:
            return pos, speed
        friction = wp.where(torque > wp.float64(0.0), -drive[3], drive[3])
    half = wp.float64(0.5) * h
    a0 = (drive_torque(pos, speed, target, drive) + friction) / drive[2]
    v1 = speed + half * a0
    a1 = (drive_torque(pos + half * speed, v1, target, drive) + friction) / drive[2]
    v2 = speed + half * a1
    a2 = (drive_torque(pos + half * v1, v2, target, drive) + friction) / drive[2]
    v3 = speed + h * a2
    a3 = (drive_torque(pos + h * v2, v3, target, drive) + friction) / drive[2]
    sixth = h / wp.float64(6.0)
    two = wp.float64(2.0)
    end_pos = pos + sixth * (speed + two * v1 + two * v2 + v3)
    end_speed = speed + sixth * (a0 + two * a1 + two * a2 + a3)
    if end_speed * speed < wp.float64(0.0):
        end_speed = wp.float64(0.0)
    return end_pos, end_speed


@wp.func
def hermite(x: wp.float64, p0: wp.float64, v0: wp.float64, p1: wp.float64, v1: wp.float64, h: wp.float64):
    """Return the position at share `x` of a step from its ends' positions and speeds."""
    one, two, three = wp.float64(1.0), wp.float64(2.0), wp.float64(3.0)
    ends = (one + two * x) * (one - x) * (one - x) * p0 + x * x * (three - two * x) * p1
    return ends + h * x * (one - x) * ((one - x) * v0 - x * v1)


@wp.kernel(enable_backward=False)
def simulate(
    step: wp.float64,
    command_time: wp.array(dtype=wp.float64),
    command: wp.array2d(dtype=wp.float64),
    reading_time: wp.array(dtype=wp.float64),
    joints: wp.array(dtype=wp.int32),
    delay: wp.array(dtype=wp.float64),
    deadband: wp.array(dtype=wp.float64),
    lag: wp.array(dtype=wp.float64),
    start_pos: wp.array(dtype=wp.float64),
    start_speed: wp.array(dtype=wp.float64),
    drives: wp.array(dtype=JointDrive),
    # outputs
    positions: wp.array2d(dtype=wp.float64),
    targets: wp.array2d(dtype=wp.float64),
):
    """Give each candidate's joint positions at the readings (C, T), and what its drive follows in each step (C, S).

    Commands arrive within steps: play and lag are solved exactly, and the drive is given the lag's mean over the step.
    """
    c = wp.tid()
    joint = joints[c]
    drive = drives[c]
    lag_c = wp.max(lag[c], SHORTEST_LAG)
    step_kept = wp.exp(-step / lag_c)
    # Each is copied by itself: in a tuple Warp would make the two names one variable.
    pos = wp.float64(start_pos[c])
    speed = wp.float64(start_speed[c])
    old_pos = pos
    old_speed = speed
    row = wp.int32(0)
    while row + 1 < command_time.shape[0] and command_time[row + 1] + delay[c] <= wp.float64(0.0):
        row += 1
    accepted = wp.clamp(pos, command[row, joint] - deadband[c], command[row, joint] + deadband[c])
    lagged = accepted
    k = wp.int32(0)
    for t in range(reading_time.shape[0]):
        x = reading_time[t] / step - wp.float64(k)
        while x > wp.float64(0.0):
            until = wp.float64(k) * step
            end = until + step
            kept = step_kept
            area = wp.float64(0.0)
            while row + 1 < command_time.shape[0] and command_time[row + 1] + delay[c] < end:
                row += 1
                arrival = wp.max(command_time[row] + delay[c], until)
                kept = wp.exp((until - arrival) / lag_c)
                area += (arrival - until) * accepted + (lagged - accepted) * lag_c * (wp.float64(1.0) - kept)
                lagged = accepted + kept * (lagged - accepted)
                accepted = wp.clamp(accepted, command[row, joint] - deadband[c], command[row, joint] + deadband[c])
                until = arrival
                kept = wp.exp((until - end) / lag_c)
            area += (end - until) * accepted + (lagged - accepted) * lag_c * (wp.float64(1.0) - kept)
            lagged = accepted + kept * (lagged - accepted)
            target = area / step
            targets[c, k] = target
            old_pos = pos
            old_speed = speed
            pos, speed = moved(pos, speed, target, drive, step)
            k += 1
            x -= wp.float64(1.0)
        positions[c, t] = hermite(x + wp.float64(1.0), old_pos, old_speed, pos, speed, step)
