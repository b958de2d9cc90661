"""Derivatives of the projection against central differences, on and off the axis and outside the domain."""

from dataclasses import replace

import numpy as np
import pytest

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.projection import project
from r2s2r.world.bundle_projection import project_with_jacobian
from r2s2r.world.parameters import HEAD_LENS, LENS

FISHEYE = FisheyeCamera(640, 480, 220.0, 222.0, 318.0, 241.0, -0.02, 0.004, -0.001, 0.0002, max_angle=1.7)
PINHOLE = PinholeCamera(640, 480, 530.0, 532.0, 318.0, 241.0)


@pytest.mark.parametrize("camera, names", [(FISHEYE, LENS), (PINHOLE, HEAD_LENS)])
def test_derivatives_match_central_differences(rng, camera, names):
    points = rng.uniform(-0.4, 0.4, (200, 3)) + (0.0, 0.0, 0.5)
    points[0] = (0.0, 0.0, 0.4)
    pixels, to_point, to_lens, valid = project_with_jacobian(camera, points)
    assert valid.all()
    np.testing.assert_allclose(pixels, project(camera, points)[0])
    step = 1e-7
    for k in range(3):
        move = step * np.eye(3)[k]
        difference = (project(camera, points + move)[0] - project(camera, points - move)[0]) / (2 * step)
        np.testing.assert_allclose(to_point[:, :, k], difference, rtol=1e-5, atol=1e-2)
    for k, name in enumerate(names):
        up, down = (replace(camera, **{name: getattr(camera, name) + sign * step}) for sign in (1, -1))
        difference = (project(up, points)[0] - project(down, points)[0]) / (2 * step)
        np.testing.assert_allclose(to_lens[:, :, k], difference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "camera, outside", [(FISHEYE, (1.0, 0.0, -0.3)), (FISHEYE, (0.0, 0.0, -1.0)), (PINHOLE, (0.1, 0.0, -1.0))]
)
def test_points_outside_the_lens_are_flagged_and_finite(camera, outside):
    found = project_with_jacobian(camera, np.array([outside, (0.1, 0.1, 1.0)]))
    assert found[3].tolist() == [False, True]
    assert all(np.isfinite(x).all() and not x[0].any() for x in found[:3])
