"""Warp kernels of the virtual cell's cameras: one thread a ray."""

import warp as wp


@wp.kernel
def expose(
    directions: wp.array2d(dtype=wp.vec3),  # (H, W) in the camera's frame; zero: the lens sees nothing there
    strata: wp.array2d(dtype=wp.uint8),  # (H, W) which of samples**2 parts of the exposure a ray stands for
    samples: wp.int32,  # rays along an edge of a pixel
    row_step_s: wp.float32,  # from the beginning of a row of pixels to that of the next [s]
    exposure_s: wp.float32,
    knot_step_s: wp.float32,  # between two poses [s]
    pos: wp.array(dtype=wp.vec3),  # (K,) camera at the knots in the camera at the middle one [m]
    turn: wp.array(dtype=wp.vec3),  # (K,) rotation vectors likewise [rad]
    # outputs
    rays: wp.array4d(dtype=wp.vec3),  # (1, H, W, 2) origin, direction in the camera at the middle knot
):
    """Send every ray from where the camera is while that ray's pixel and part of the exposure collect light."""
    y, x = wp.tid()
    rows = directions.shape[0] / samples
    parts = wp.float32(samples * samples)
    row = wp.float32(y / samples) - 0.5 * wp.float32(rows - 1)
    time = row * row_step_s + ((wp.float32(strata[y, x]) + 0.5) / parts - 0.5) * exposure_s
    last = pos.shape[0] - 1
    knot = wp.clamp(time / knot_step_s + 0.5 * wp.float32(last), 0.0, wp.float32(last))
    k = wp.min(wp.int32(knot), last - 1)
    f = knot - wp.float32(k)
    vector = (1.0 - f) * turn[k] + f * turn[k + 1]
    angle = wp.length(vector)
    direction = directions[y, x]
    if angle > 0.0:
        direction = wp.quat_rotate(wp.quat_from_axis_angle(vector / angle, angle), direction)
    rays[0, y, x, 0] = (1.0 - f) * pos[k] + f * pos[k + 1]
    rays[0, y, x, 1] = direction


@wp.kernel
def fill_sky(
    rays: wp.array4d(dtype=wp.vec3),  # (1, H, W, 2)
    sky: wp.vec3,  # radiance of what no ray reaches
    # outputs
    radiance: wp.array4d(dtype=wp.vec3),  # (1, 1, H, W) changed where a ray met nothing
):
    """Light where rays leave the room; where the lens sees nothing it stays black."""
    y, x = wp.tid()
    if wp.length_sq(radiance[0, 0, y, x]) == 0.0 and wp.length_sq(rays[0, y, x, 1]) > 0.0:
        radiance[0, 0, y, x] = sky
