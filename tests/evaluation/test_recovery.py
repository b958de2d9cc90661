"""Errors and coverage of fits against a truth that is known."""

import numpy as np
import pytest

from r2s2r.contracts.transforms import pose, quat_exp, quat_from_matrix, se3_exp
from r2s2r.contracts.world import World
from r2s2r.evaluation.recovery import coverage, recovery_figures
from r2s2r.world.estimate import Estimate, FactorFit
from r2s2r.world.parameters import parameters

WORLD = World.nominal()


def moved(value: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return a pose (7) moved by a twist in its own frame."""
    matrix = pose(value[:3], value[3:]) @ se3_exp(twist)
    return np.array([*matrix[:3, 3], *quat_from_matrix(matrix[:3, :3])])


def test_errors_come_out_in_the_units_of_their_names():
    truth = parameters(WORLD)
    truth["arm.armature"] = np.full(7, 0.1)
    truth["arm.viscous_friction"] = truth["arm.coulomb_friction"] = np.full(7, 2.0)
    twist = np.array([3e-3, 4e-3, 0.0, 0.0, 0.0, np.radians(0.5)])
    poses = FactorFit(
        "poses",
        WORLD.poses,
        (
            Estimate("poses.head", "pose", moved(truth["poses.head"], twist), np.ones(6), "m, rad"),
            Estimate("poses.base_quat_w", "rotation", quat_exp(np.radians([0.3, 0.0, 0.4])), np.ones(3), "rad"),
            Estimate("poses.belt", "pose", truth["poses.belt"], np.ones(6), "m, rad"),
            Estimate("poses.belt_speed_scale", "vector", np.array([0.98]), np.ones(1), "1"),
        ),
        {},
    )
    known = np.array([True] * 6 + [False])
    arm = FactorFit(
        "arm",
        WORLD.arm,
        (
            Estimate("arm.encoder_bias", "vector", np.array([1e-3, *(0.0,) * 5, -2e-3]), np.ones(7), "rad"),
            Estimate("arm.command_delay_s", "vector", np.array([0.003]), np.ones(1), "s"),
            Estimate("arm.armature", "vector", np.array([0.11] * 6 + [9.0]), np.ones(7), "kg m2", known),
            Estimate("arm.viscous_friction", "vector", np.full(7, 2.2), np.ones(7), "N m s/rad"),
            Estimate("arm.coulomb_friction", "vector", np.full(7, 1.8), np.ones(7), "N m"),
        ),
        {"tracking_ratio": 0.07},
    )
    figures = recovery_figures({"poses": poses, "arm": arm}, truth)
    expected = {
        "head_mm": 5.0,
        "head_deg": 0.5,
        "base_deg": 0.5,
        "belt_mm": 0.0,
        "belt_deg": 0.0,
        "belt_speed_pct": 2.0,
        "arm_tracking_ratio": 0.07,
        "bias_rad": 2e-3,
        "delay_ms": 3.0,
        "arm_param_pct": 10.0,
    }
    # A twist that turns by half a degree shifts along an arc: a hundredth of a millimetre less.
    assert figures == pytest.approx(expected, abs=1e-3)


def test_coverage_counts_what_was_fitted_and_says_something():
    truth = {"arm.armature": np.zeros(5)}
    widths = np.array([1.0, 0.5, np.inf, 0.0, 0.2])
    estimate = Estimate("arm.armature", "vector", np.array([0.9, 0.9, 9.0, 0.0, -0.1]), widths, "kg m2")
    stamp = Estimate("cameras.stamp_delay_s", "vector", np.zeros(1), np.ones(1), "s")
    assert coverage([estimate, stamp], truth) == {"arm.armature": (2, 3)}
