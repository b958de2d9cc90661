"""What each factor's remaining error means for the task, in millimetres at the hand, so that factors compare."""

from collections.abc import Callable, Mapping

import numpy as np

from r2s2r.contracts.world import World
from r2s2r.control.kinematics import SerialChain, serial_chain
from r2s2r.robot.description import compose
from r2s2r.world.estimate import FactorFit

VIEW_DISTANCE_M = {"wrist_cameras": 0.30, "poses": 1.20}
"""How far from the wrist camera a held-out tag is, and from the head camera the belt, about [m]."""

FINGER_M = 0.10
"""Length of a finger [m]: a joint's error moves the tip by about this much a radian."""


def task_gaps(fits: Mapping[str, FactorFit], fitted: World) -> dict[str, tuple[float, float]]:
    """Return (nominal, fitted) difference between simulator and cell by factor [mm], on held-out data.

    Cameras: reprojection error at the distance where they look. Arm: what its tracking error moves the wrist by.
    Hand: what its tracking error moves a fingertip by.
    """
    gaps = {}
    focal = {"wrist_cameras": fitted.wrist_cameras.camera.fx, "poses": fitted.poses.head_camera.fx}
    for name, distance in VIEW_DISTANCE_M.items():
        if name in fits:
            to_mm = 1e3 * distance / focal[name]
            residuals = fits[name].residuals
            gaps[name] = (residuals["nominal_held_out_rms_px"] * to_mm, residuals["held_out_rms_px"] * to_mm)
    if "arm" in fits:
        chain = serial_chain(compose().urdf_path, "hand_palm_link")
        gaps["arm"] = _both(fits["arm"], lambda a, b: _wrist_rms(chain, a, b))
    if "hand" in fits:
        gaps["hand"] = _both(fits["hand"], lambda a, b: FINGER_M * float(np.sqrt(np.mean((a - b) ** 2))))
    return gaps


def _both(fit: FactorFit, distance: Callable[[np.ndarray, np.ndarray], float]) -> tuple[float, float]:
    measured = fit.plots["held_out_reading"]
    before, after = (fit.plots[f"held_out_{which}"] for which in ("nominal", "fitted"))
    return 1e3 * distance(before, measured), 1e3 * distance(after, measured)


def _wrist_rms(chain: SerialChain, first: np.ndarray, second: np.ndarray) -> float:
    step = max(1, len(first) // 400)
    apart = chain.wrist_pose(first[::step])[:, :3, 3] - chain.wrist_pose(second[::step])[:, :3, 3]
    return float(np.sqrt(np.mean(np.sum(apart**2, axis=-1))))
