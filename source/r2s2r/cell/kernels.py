"""Warp kernels of the virtual cell's cameras: one thread a ray."""

import warp as wp


@wp.kernel
def expose(
    directions: wp.array2d(dtype=wp.vec3),  # (H, W) in the camera's frame; zero: the lens sees nothing there
    strata: wp.array2d(dtype=wp.uint8),  # (H, W) which of the parts of the exposure a ray stands for
    samples: wp.int32,  # rows of rays in a pixel
    parts: wp.int32,  # parts of the exposure
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
    row = wp.float32(y / samples) - 0.5 * wp.float32(rows - 1)
    time = row * row_step_s + ((wp.float32(strata[y, x]) + 0.5) / wp.float32(parts) - 0.5) * exposure_s
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


@wp.kernel
def first_rays(
    rays: wp.array4d(dtype=wp.vec3),  # (1, n H, n W, 2)
    samples: wp.int32,  # rays along an edge of a pixel
    # outputs
    first: wp.array4d(dtype=wp.vec3),  # (1, H, W, 2) one ray of each pixel
):
    """Take the middle one of each pixel's rays."""
    y, x = wp.tid()
    for k in range(2):
        first[0, y, x, k] = rays[0, y * samples + samples / 2, x * samples + samples / 2, k]


@wp.kernel
def find_even(
    light: wp.array4d(dtype=wp.vec3),  # (1, 1, H, W)
    contrast: wp.float32,
    reach: wp.int32,  # pixels around one that are looked at
    # outputs
    even: wp.array2d(dtype=wp.bool),  # (H, W)
):
    """Tell where light does not change within the reach."""
    y, x = wp.tid()
    low = wp.vec3(light[0, 0, y, x])
    high = wp.vec3(light[0, 0, y, x])
    for v in range(wp.max(y - reach, 0), wp.min(y + reach + 1, light.shape[2])):
        for u in range(wp.max(x - reach, 0), wp.min(x + reach + 1, light.shape[3])):
            low = wp.min(low, light[0, 0, v, u])
            high = wp.max(high, light[0, 0, v, u])
    even[y, x] = wp.max(high - low) <= contrast * (wp.max(high) + 0.02)


@wp.kernel
def leave_out_even(
    rays: wp.array4d(dtype=wp.vec3),  # (1, n H, n W, 2)
    even: wp.array2d(dtype=wp.bool),  # (H, W)
    samples: wp.int32,
    # outputs
    others: wp.array4d(dtype=wp.vec3),  # (1, n H, n W, 2) direction zero in even pixels
):
    """Follow no further ray where light is even."""
    y, x = wp.tid()
    others[0, y, x, 0] = rays[0, y, x, 0]
    direction = rays[0, y, x, 1]
    if even[y / samples, x / samples]:
        direction = wp.vec3(0.0)
    others[0, y, x, 1] = direction


@wp.kernel
def fill_even(
    even: wp.array2d(dtype=wp.bool),  # (H, W)
    first: wp.array4d(dtype=wp.vec3),  # (1, 1, H, W)
    samples: wp.int32,
    # outputs
    light: wp.array4d(dtype=wp.vec3),  # (1, 1, n H, n W)
):
    """Give all rays of an even pixel the light of the one that was followed."""
    y, x = wp.tid()
    if even[y / samples, x / samples]:
        light[0, 0, y, x] = first[0, 0, y / samples, x / samples]


@wp.kernel
def join_pairs(
    even: wp.array2d(dtype=wp.bool),  # (H, W)
    second: wp.array4d(dtype=wp.vec3),  # (1, 1, H, W)
    # outputs
    light: wp.array4d(dtype=wp.vec3),  # (1, 1, H, W) of the first ray of each pixel, becomes that of the pixel
):
    """Take the mean of both rays where two were followed."""
    y, x = wp.tid()
    if not even[y, x]:
        light[0, 0, y, x] = 0.5 * (light[0, 0, y, x] + second[0, 0, y, x])
