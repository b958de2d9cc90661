"""Closed forms of physical inertias."""

import numpy as np
import pytest

from r2s2r.contracts.transforms import matrix_from_quat, quat_normalise
from r2s2r.robot.inertia import SMALLEST_MOMENT, is_physical, nearest_physical


def turned(moments, seed: int) -> np.ndarray:
    rotation = matrix_from_quat(quat_normalise(np.random.default_rng(seed).normal(size=4)))
    return rotation @ np.diag(moments) @ rotation.T


@pytest.mark.parametrize(
    ("moments", "physical"),
    [
        ((1.0, 1.0, 1.0), True),
        ((1.0, 1.0, 1.9), True),
        ((1.0, 1.0, 2.1), False),
        ((-1.0, 1.0, 1.0), False),
    ],
)
def test_triangle_inequality_in_any_axes(moments, physical):
    for seed in range(5):
        assert is_physical(turned(moments, seed)) == physical


def test_physical_inertia_is_unchanged():
    inertia = turned((1.0, 2.0, 2.5), 0)
    np.testing.assert_array_equal(nearest_physical(inertia), inertia)


def test_second_moments_are_projected_and_axes_kept():
    # Moments 1, 1, 9: second moments (4.5, 4.5, -3.5), of which the negative one becomes 0.001 of the largest.
    floor = SMALLEST_MOMENT * 4.5
    for seed in range(5):
        np.testing.assert_allclose(
            nearest_physical(turned((1.0, 1.0, 9.0), seed)), turned((4.5 + floor, 4.5 + floor, 9.0), seed), atol=1e-12
        )


def test_result_is_physical_after_rounding_to_single_precision():
    for seed in range(100):
        moments = np.random.default_rng(seed).uniform(0.1, 5.0, 3)
        assert is_physical(nearest_physical(turned(moments, seed)).astype(np.float32).astype(float))
