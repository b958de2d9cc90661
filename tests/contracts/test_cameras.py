"""Closed forms of the camera models."""

import math

import numpy as np
import pytest

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera, look_at
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import matrix_from_quat

EQUIDISTANT = FisheyeCamera.equidistant(256, 192, math.radians(160.0))


def test_an_equidistant_camera_sees_the_angle_it_was_made_for():
    assert EQUIDISTANT.horizontal_fov == pytest.approx(math.radians(160.0), abs=1e-12)
    assert EQUIDISTANT.fx == EQUIDISTANT.fy == pytest.approx(128 / math.radians(80.0))


def test_fov_follows_the_distortion_polynomial():
    k1, angle = -0.02, 1.2
    radius = angle + k1 * angle**3
    camera = FisheyeCamera(200, 200, 100.0 / radius, 100.0 / radius, 99.5, 99.5, k1=k1)
    assert camera.horizontal_fov == pytest.approx(2.0 * angle, abs=1e-12)


def test_b02_kind_a_radius_that_no_ray_reaches_is_an_error():
    # a - 0.2 a^3 peaks at 0.86: a picture edge at 1.0 focal lengths is dark, not some plausible angle.
    camera = FisheyeCamera(200, 200, 100.0, 100.0, 99.5, 99.5, k1=-0.2)
    with pytest.raises(ConfigError, match="no ray is imaged 1 focal lengths"):
        _ = camera.horizontal_fov


@pytest.mark.parametrize("camera", [EQUIDISTANT, PinholeCamera.with_vertical_fov(256, 192, 1.0)])
def test_resizing_keeps_the_view_and_undoes_itself(camera):
    half = camera.resized(128, 96)
    assert half.fx == pytest.approx(0.5 * camera.fx)
    assert half.cx == pytest.approx(63.5) and half.cy == pytest.approx(47.5)
    back = half.resized(camera.width, camera.height)
    np.testing.assert_allclose([back.fx, back.cx, back.cy], [camera.fx, camera.cx, camera.cy])


def test_pinhole_fov_is_from_edge_to_edge():
    camera = PinholeCamera.with_vertical_fov(256, 192, math.radians(60.0))
    assert 2.0 * math.atan((camera.cy + 0.5) / camera.fy) == pytest.approx(math.radians(60.0))


def test_a_camera_looks_at_its_target_with_z_upwards():
    pos, target = np.array([0.95, -0.12, 0.75]), np.array([0.40, -0.05, 0.10])
    rotation = matrix_from_quat(look_at(pos, target))
    seen = rotation.T @ (target - pos)
    np.testing.assert_allclose(seen[:2], 0.0, atol=1e-12)
    assert seen[2] > 0.0
    assert rotation[2, 0] == pytest.approx(0.0, abs=1e-12)  # the picture's x stays level
    assert rotation[2, 1] < 0.0  # and its y points down


def test_a_view_along_z_is_refused():
    with pytest.raises(ConfigError, match="looks along z"):
        look_at(np.zeros(3), np.array([0.0, 0.0, -1.0]))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("width", 0, "FisheyeCamera.width: received 0"),
        ("width", 10.5, "whole numbers"),
        ("fx", -1.0, "FisheyeCamera.fx: received -1.0"),
        ("cy", math.nan, "FisheyeCamera.cy: received nan"),
        ("k1", 1e3, "FisheyeCamera.k1: received 1000.0"),
        ("fy", "92", "FisheyeCamera.fy: received '92'"),
    ],
)
def test_impossible_intrinsics_are_refused(field, value, message):
    values = {"width": 256, "height": 256, "fx": 92.0, "fy": 92.0, "cx": 127.5, "cy": 127.5} | {field: value}
    with pytest.raises(ConfigError, match=message):
        FisheyeCamera(**values)
