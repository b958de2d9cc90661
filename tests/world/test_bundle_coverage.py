"""Accuracy and coverage of the bundle's intervals over several hidden cells."""

import numpy as np
import pytest

from r2s2r.contracts.transforms import quat_conjugate, quat_from_matrix
from r2s2r.world.belt_motion import follow_item
from r2s2r.world.bundle_state import lens_values
from r2s2r.world.cameras import fit_poses, fit_wrist_cameras, joint_estimates
from r2s2r.world.parameters import HEAD_LENS, LENS
from r2s2r.world.registration import register

from .synthetic_cell import NOMINAL, arm_fit_bias, cell_info, draw_truth, record


def true_values(truth):
    def place(name):
        matrix = truth.poses[name]
        return np.r_[matrix[:3, 3], quat_from_matrix(matrix[:3, :3])]

    return {
        "wrist_cameras.lens": lens_values(truth.wrist, LENS),
        "wrist_cameras.mount": place("mount"),
        "poses.head": place("head"),
        "poses.head_lens": lens_values(truth.head, HEAD_LENS),
        "poses.belt": place("belt"),
        "poses.base_quat_w": quat_conjugate(quat_from_matrix(truth.poses["table"][:3, :3])),
        "poses.belt_speed_scale": np.array([truth.belt_scale]),
        "arm.kinematic_offsets": truth.offsets.ravel(),
        "arm.encoder_bias": truth.bias,
    }


def errors_of(seed):
    """Return {estimate: errors over half widths} and {figure: value} of one hidden cell."""
    rng = np.random.default_rng(seed)
    recording = record(draw_truth(rng), rng)
    truth = recording.truth
    bundle = register(recording.sightings, recording.joints, cell_info(), recording.chain, arm_fit_bias(truth, rng))
    belt = follow_item(recording.sightings, recording.belt_command, recording.targets.item, bundle)
    wrist, poses = fit_wrist_cameras(bundle, NOMINAL.wrist_cameras), fit_poses(bundle, NOMINAL.poses, belt)
    estimates = [*wrist.estimates, *poses.estimates, *joint_estimates(bundle).values()]
    true, ratios, figures = true_values(truth), {}, {}
    for estimate in estimates:
        error = estimate.error(true[estimate.name])
        fitted = estimate.half_width > 0.0
        ratios[estimate.name] = error[fitted] / estimate.half_width[fitted]
        if estimate.kind == "pose":
            figures[f"{estimate.name} mm"] = 1e3 * np.linalg.norm(error[:3])
        if estimate.kind != "vector":
            figures[f"{estimate.name} deg"] = np.rad2deg(np.linalg.norm(error[-3:]))
    figures["held_out px"] = wrist.residuals["held_out_rms_px"]
    figures["belt pct"] = 100.0 * abs(belt.speed_scale / truth.belt_scale - 1.0)
    return ratios, figures


@pytest.mark.slow
def test_figures_are_reached_and_intervals_cover_the_truth():
    limits = {
        "wrist_cameras.mount mm": 1.5,
        "wrist_cameras.mount deg": 0.3,
        "poses.head mm": 2.0,
        "poses.head deg": 0.2,
        "poses.belt mm": 2.0,
        "poses.belt deg": 0.2,
        "poses.base_quat_w deg": 0.1,
        "held_out px": 0.3,
        "belt pct": 1.0,
    }
    found = [errors_of(seed) for seed in range(21, 27)]
    for name, limit in limits.items():
        assert np.median([figures[name] for _, figures in found]) <= limit, name
    inside = np.concatenate([np.abs(x) <= 1.0 for ratios, _ in found for x in ratios.values()])
    assert 0.90 <= inside.mean() <= 0.99
