"""Points to pixels and back, and where a lens ends."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.projection import project, unproject, usable_angle

LENS = FisheyeCamera(640, 480, 220.0, 220.0, 319.5, 239.5, -0.02, 0.004, -0.001, 0.0)


def rays_at(angles: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    turn = rng.uniform(0.0, 2.0 * np.pi, len(angles))
    return np.stack([np.sin(angles) * np.cos(turn), np.sin(angles) * np.sin(turn), np.cos(angles)], axis=-1)


@pytest.mark.parametrize(
    ("point", "u"),
    [((0.5, 0.0, 1.0), 421.082), ((1.0, 0.0, 1.0), 490.378), ((1.0, 0.0, 0.0), 651.246), ((1.0, 0.0, -0.2), 687.499)],
)
def test_b02_values_of_the_report(point, u):
    pixel, valid = project(LENS, np.array(point))
    assert valid
    assert pixel == pytest.approx([u, 239.5], abs=5e-4)


def test_b02_round_trip_up_to_the_declared_angle_and_flagged_beyond(rng):
    lens = replace(LENS, max_angle=np.deg2rad(100.0))
    inside = rays_at(rng.uniform(0.0, lens.max_angle - 1e-9, 12_264), rng)
    pixels, valid = project(lens, 0.7 * inside)
    back, seen = unproject(lens, pixels)
    assert valid.all() and seen.all()
    again, _ = project(lens, back)
    assert np.abs(again - pixels).max() < 1e-6
    assert np.abs(back - inside).max() < 1e-9
    beyond = rays_at(rng.uniform(lens.max_angle + 1e-6, np.pi - 0.01, 1000), rng)
    pixels, valid = project(lens, beyond)
    assert not valid.any()
    far = np.array([lens.cx, lens.cy]) + 400.0 * np.stack([np.cos(np.arange(9)), np.sin(np.arange(9))], axis=-1)
    rays, seen = unproject(lens, far)
    assert not seen.any() and np.isnan(rays).all()


def test_b02_a_polynomial_that_turns_ends_the_domain_there(rng):
    # r = a - 0.1 a^3 has its largest radius at a = sqrt(1 / 0.3); two angles share each radius below it.
    turning = replace(LENS, k1=-0.1, k2=0.0, k3=0.0)
    limit = np.sqrt(1.0 / 0.3)
    assert usable_angle(turning) == pytest.approx(limit)
    _, valid = project(turning, rays_at(np.array([limit - 1e-6, limit + 1e-6]), rng))
    assert valid.tolist() == [True, False]
    rays = rays_at(rng.uniform(0.0, limit - 1e-3, 500), rng)
    back, seen = unproject(turning, project(turning, rays)[0])
    assert seen.all()
    # Near the turn the radius hardly changes with the angle, which costs digits.
    assert np.abs(back - rays).max() < 1e-9


def test_fisheye_agrees_with_opencv(rng):
    points = rays_at(rng.uniform(0.0, 1.4, 300), rng) * rng.uniform(0.1, 3.0, (300, 1))
    matrix = np.array([[LENS.fx, 0.0, LENS.cx], [0.0, LENS.fy, LENS.cy], [0.0, 0.0, 1.0]])
    terms = np.array([LENS.k1, LENS.k2, LENS.k3, LENS.k4])
    peer, _ = cv2.fisheye.projectPoints(points.reshape(-1, 1, 3), np.zeros(3), np.zeros(3), matrix, terms)
    assert np.abs(project(LENS, points)[0] - peer[:, 0]).max() < 1e-9


def test_axis_and_points_behind():
    pixels, valid = project(LENS, np.array([[0.0, 0.0, 2.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0]]))
    assert valid.tolist() == [True, False, False]
    assert pixels[0] == pytest.approx([319.5, 239.5])
    assert np.isnan(pixels[1:]).all()
    pinhole = PinholeCamera(640, 480, 500.0, 510.0, 319.5, 239.5)
    pixels, valid = project(pinhole, np.array([[0.1, 0.2, 1.0], [0.1, 0.2, -1.0], [0.1, 0.2, 0.0]]))
    assert valid.tolist() == [True, False, False]
    assert pixels[0] == pytest.approx([369.5, 341.5]) and np.isnan(pixels[1:]).all()


@pytest.mark.parametrize("camera", [LENS, PinholeCamera(640, 480, 500.0, 510.0, 330.0, 230.0)])
def test_resized_camera_sees_the_same_rays(camera, rng):
    small = camera.resized(320, 120)
    points = rays_at(rng.uniform(0.0, 1.2, 50), rng)
    # The outer corner of the first pixel keeps its place: pixel + 1/2 scales.
    whole, part = project(camera, points)[0], project(small, points)[0]
    assert (part + 0.5) == pytest.approx((whole + 0.5) * [0.5, 0.25])
    rays, _ = unproject(small, part)
    assert np.abs(rays - points).max() < 1e-9


def test_batches_and_empty_batches():
    assert project(LENS, np.zeros((0, 3)))[0].shape == (0, 2)
    assert unproject(LENS, np.full((2, 3, 2), 300.0))[0].shape == (2, 3, 3)
