"""Warp functions of a damped Newton step of the hand's joints within their limits, in single precision.

Damping as Levenberg and Marquardt's is raised and lowered by how much of the gain that the second derivatives promise a
step brings; joints at a limit that the gradient pushes against are left out of a step (Bertsekas, SIAM J. Control and
Optimization 20(2), 1982).
"""

import warp as wp

from r2s2r.behavior.hand_objective_kernels import NUM_JOINTS, HandProblem

wp.set_module_options({"enable_backward": False, "max_unroll": 1})

LARGEST_STEP = wp.constant(wp.float32(0.5))
"""No joint moves further in one step [rad]: second derivatives say little about what is further away."""

FIRST_DAMPING = wp.constant(wp.float32(0.1))
"""Damping after a first step that fails: what one fingertip gives a joint of its finger, 1 / delta x (0.05 m)^2."""

LEAST_DAMPING = wp.constant(wp.float32(1e-4))
"""Less is none: a tenth of what the posture's weight gives a joint."""

LEAST_PIVOT = wp.constant(wp.float32(1e-6))
"""Smallest pivot over its diagonal element: what is smaller is rounding of single precision."""


@wp.func
def find_free(
    problem: HandProblem,
    joint_pos: wp.array(dtype=wp.float32),
    gradient: wp.array(dtype=wp.float32),
    # outputs
    free: wp.array(dtype=wp.bool),
):
    """Write which joints may move: not those at a limit that the gradient pushes against."""
    for j in range(NUM_JOINTS):
        below = joint_pos[j] <= problem.lower[j] and gradient[j] >= 0.0
        above = joint_pos[j] >= problem.upper[j] and gradient[j] <= 0.0
        free[j] = not (below or above)


@wp.func
def factorise(
    hessian: wp.array2d(dtype=wp.float32),
    free: wp.array(dtype=wp.bool),
    damping: wp.float32,
    # outputs
    factor: wp.array2d(dtype=wp.float32),
):
    """Write the Cholesky factor of the free joints' damped second derivatives; return whether there is one."""
    for i in range(NUM_JOINTS):
        if free[i]:
            for j in range(i + 1):
                if free[j]:
                    value = hessian[i, j]
                    if i == j:
                        value += damping
                    for k in range(j):
                        if free[k]:
                            value -= factor[i, k] * factor[j, k]
                    if i == j:
                        if not value > LEAST_PIVOT * (wp.abs(hessian[i, i]) + damping):
                            return False
                        factor[i, i] = wp.sqrt(value)
                    else:
                        factor[i, j] = value / factor[j, j]
    return True


@wp.func
def find_step(
    factor: wp.array2d(dtype=wp.float32),
    free: wp.array(dtype=wp.bool),
    gradient: wp.array(dtype=wp.float32),
    # outputs
    step: wp.array(dtype=wp.float32),
):
    """Write the step of the free joints, as a whole shortened so that none goes further than LARGEST_STEP."""
    for i in range(NUM_JOINTS):
        step[i] = 0.0
        if free[i]:
            value = -gradient[i]
            for k in range(i):
                if free[k]:
                    value -= factor[i, k] * step[k]
            step[i] = value / factor[i, i]
    largest = wp.float32(LARGEST_STEP)
    for n in range(NUM_JOINTS):
        i = NUM_JOINTS - 1 - n
        if free[i]:
            value = step[i]
            for k in range(i + 1, NUM_JOINTS):
                if free[k]:
                    value -= factor[k, i] * step[k]
            step[i] = value / factor[i, i]
            largest = wp.max(largest, wp.abs(step[i]))
    for i in range(NUM_JOINTS):
        step[i] = step[i] * LARGEST_STEP / largest


@wp.func
def take_step(
    problem: HandProblem,
    joint_pos: wp.array(dtype=wp.float32),
    step: wp.array(dtype=wp.float32),
    # outputs
    trial: wp.array(dtype=wp.float32),
):
    """Write where `step` leads within the limits; return how far the joint goes that goes furthest."""
    furthest = wp.float32(0.0)
    for j in range(NUM_JOINTS):
        trial[j] = wp.clamp(joint_pos[j] + step[j], problem.lower[j], problem.upper[j])
        furthest = wp.max(furthest, wp.abs(trial[j] - joint_pos[j]))
    return furthest


@wp.func
def promised_gain(
    hessian: wp.array2d(dtype=wp.float32),
    gradient: wp.array(dtype=wp.float32),
    joint_pos: wp.array(dtype=wp.float32),
    trial: wp.array(dtype=wp.float32),
):
    """Return how much lower the cost should be at `trial`, by gradient and second derivatives."""
    gain = wp.float32(0.0)
    for i in range(NUM_JOINTS):
        moved = trial[i] - joint_pos[i]
        slope = gradient[i] + 0.5 * hessian[i, i] * moved
        for j in range(i):
            slope += hessian[i, j] * (trial[j] - joint_pos[j])
        gain -= slope * moved
    return gain


@wp.func
def next_damping(damping: wp.float32, gain: wp.float32, promised: wp.float32):
    """Return the damping after a step that gained so much of what was promised."""
    if gain <= 0.0:
        return wp.max(5.0 * damping, FIRST_DAMPING)
    if gain < 0.25 * promised:
        return wp.max(3.0 * damping, FIRST_DAMPING)
    if gain > 0.75 * promised:
        damping *= 0.2
    return wp.where(damping < LEAST_DAMPING, 0.0, damping)
