"""How well fits recover a world that is known: errors in the units that people speak of, and coverage of intervals."""

from collections.abc import Iterable, Mapping

import numpy as np

from r2s2r.world.estimate import Estimate, FactorFit

ARM_PARAMETERS = ("arm.armature", "arm.viscous_friction", "arm.coulomb_friction")
"""What is compared in per cent where it is determined; bias and delay have figures of their own."""


def recovery_figures(fits: Mapping[str, FactorFit], truth: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the error of every fitted factor against the truth, one number a quantity.

    Of the joints' numbers the largest error counts; arm and hand numbers that a fit calls undetermined do not.

    Args:
        fits: by factor; factors that were not fitted are left out.
        truth: values by name, see :func:`r2s2r.world.parameters.parameters`.

    Returns:
        wrist_reprojection_px, mount_mm, mount_deg, blur_px, head_mm, head_deg, base_deg, belt_mm, belt_deg,
        belt_speed_pct, arm_tracking_ratio, bias_rad, delay_ms, arm_param_pct, hand_delay_ms, hand_deadband_rad,
        hand_lag_pct.
    """
    by_name = {estimate.name: estimate for fit in fits.values() for estimate in fit.estimates}
    figures: dict[str, float] = {}
    if "wrist_cameras" in fits:
        figures["wrist_reprojection_px"] = fits["wrist_cameras"].residuals["held_out_rms_px"]
        figures |= _pose_error("mount", by_name["wrist_cameras.mount"], truth)
        figures["blur_px"] = _largest(by_name["wrist_cameras.blur_sigma_px"], truth)
    if "poses" in fits:
        figures |= _pose_error("head", by_name["poses.head"], truth)
        turn = by_name["poses.base_quat_w"].error(truth["poses.base_quat_w"])
        figures["base_deg"] = float(np.degrees(np.linalg.norm(turn)))
        figures |= _pose_error("belt", by_name["poses.belt"], truth)
        figures["belt_speed_pct"] = _largest_pct(by_name["poses.belt_speed_scale"], truth)
    if "arm" in fits:
        figures["arm_tracking_ratio"] = fits["arm"].residuals["tracking_ratio"]
        figures["bias_rad"] = _largest(by_name["arm.encoder_bias"], truth)
        figures["delay_ms"] = 1e3 * _largest(by_name["arm.command_delay_s"], truth)
        errors = np.concatenate([_pct(by_name[name], truth) for name in ARM_PARAMETERS])
        figures["arm_param_pct"] = float(np.median(errors)) if len(errors) else float("nan")
    if "hand" in fits:
        figures["hand_delay_ms"] = 1e3 * _largest(by_name["hand.delay_s"], truth)
        figures["hand_deadband_rad"] = _largest(by_name["hand.deadband"], truth)
        figures["hand_lag_pct"] = _largest_pct(by_name["hand.lag_s"], truth)
    return figures


def coverage(estimates: Iterable[Estimate], truth: Mapping[str, np.ndarray]) -> dict[str, tuple[int, int]]:
    """Return for each estimate how many of its numbers have the truth inside their interval, and how many there are.

    Numbers that were not fitted (of half width 0) or that the data say nothing of (infinite) are not counted.
    """
    counts = {}
    for estimate in estimates:
        if estimate.name not in truth:
            continue
        counted = np.isfinite(estimate.half_width) & (estimate.half_width > 0.0)
        inside = np.abs(estimate.error(truth[estimate.name])) <= estimate.half_width
        counts[estimate.name] = (int((inside & counted).sum()), int(counted.sum()))
    return counts


def _pose_error(name: str, estimate: Estimate, truth: Mapping[str, np.ndarray]) -> dict[str, float]:
    true = np.asarray(truth[estimate.name])
    shift = np.linalg.norm(estimate.value[:3] - true[:3])
    turn = np.linalg.norm(estimate.error(true)[3:])
    return {f"{name}_mm": float(1e3 * shift), f"{name}_deg": float(np.degrees(turn))}


def _largest(estimate: Estimate, truth: Mapping[str, np.ndarray]) -> float:
    errors = np.abs(estimate.error(truth[estimate.name]))[estimate.known]
    return float(errors.max()) if len(errors) else float("nan")


def _pct(estimate: Estimate, truth: Mapping[str, np.ndarray]) -> np.ndarray:
    true = np.asarray(truth[estimate.name], dtype=float)
    return 100.0 * np.abs(estimate.error(true) / true)[estimate.known]


def _largest_pct(estimate: Estimate, truth: Mapping[str, np.ndarray]) -> float:
    errors = _pct(estimate, truth)
    return float(errors.max()) if len(errors) else float("nan")
