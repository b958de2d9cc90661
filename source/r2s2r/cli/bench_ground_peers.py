"""Other ways of fitting on the same recording: a CMA-ES search for the arm, OpenCV's calibration for the lens."""

import time
from dataclasses import replace
from typing import cast

import cv2
import numpy as np
from scipy.optimize import least_squares

from r2s2r.contracts.cameras import FisheyeCamera
from r2s2r.contracts.projection import project
from r2s2r.contracts.transforms import so3_exp
from r2s2r.contracts.world import ArmModel, World
from r2s2r.recording.cell_log import CellLog
from r2s2r.world.arm import fit_arm
from r2s2r.world.arm_cma import CmaCfg, fit_arm_cma, training_rms
from r2s2r.world.grounding import Grounding
from r2s2r.world.joint_simulation import JointParameters
from r2s2r.world.sightings import PictureTags

EQUAL = 1.02
"""The search counts as arrived within this factor of our residual."""

GIVE_UP = 3.0
"""The search is given up after so many times our fit's time."""

LEAST_TAGS = 4
"""Board tags of a view that is given to OpenCV."""

_TEST_ANGLE = 1.2
"""Rays up to this far from the axis are compared [rad]: where pictures have tags in number."""


def arm_peer(log: CellLog) -> dict[str, float]:
    """Return times until CMA-ES and our fit have the same residual on the same chirp (`cma_reached` 0: given up)."""
    began = time.perf_counter()
    fit = fit_arm(log)
    ours_s = time.perf_counter() - began
    ours = training_rms(log, JointParameters.of(cast(ArmModel, fit.value)))
    found = fit_arm_cma(log, CmaCfg(budget_s=GIVE_UP * ours_s, target_rms_rad=EQUAL * ours))
    return {
        "ours_s": ours_s,
        "ours_rms_rad": ours,
        "cma_s": float(found.trace_s[-1]),
        "cma_rms_rad": found.rms_rad,
        "cma_reached": float(found.reached),
        "ratio": ours_s / float(found.trace_s[-1]),
    }


def lens_peer(log: CellLog, grounding: Grounding, truth: World) -> dict[str, float]:
    """Return how far both lenses' rays are from the true lens [px], and OpenCV's own residual."""
    views = [view for picture in grounding.pictures if picture.camera == "wrist" for view in _board_view(log, picture)]
    guess = log.info.wrist_camera
    matrix = np.array([[guess.fx, 0.0, guess.cx], [0.0, guess.fy, guess.cy], [0.0, 0.0, 1.0]])
    flags = cv2.fisheye.CALIB_RECOMPUTE_EXTRINSIC | cv2.fisheye.CALIB_FIX_SKEW | cv2.fisheye.CALIB_USE_INTRINSIC_GUESS
    points, pixels = ([view[k][:, None, :] for view in views] for k in (0, 1))
    try:
        rms, matrix, terms, _, _ = cv2.fisheye.calibrate(
            points, pixels, (guess.width, guess.height), matrix, np.zeros((4, 1)), flags=flags
        )
    except cv2.error:
        return {"views": float(len(views)), "opencv_failed": 1.0}
    k1, k2, k3, k4 = (float(x) for x in terms.ravel())
    opencv = replace(
        guess, fx=matrix[0, 0], fy=matrix[1, 1], cx=matrix[0, 2], cy=matrix[1, 2], k1=k1, k2=k2, k3=k3, k4=k4
    )
    true = truth.wrist_cameras.camera
    ours_px, opencv_px = _apart(grounding.world.wrist_cameras.camera, true), _apart(opencv, true)
    return {
        "views": float(len(views)),
        "opencv_failed": 0.0,
        "opencv_rms_px": float(rms),
        "opencv_lens_px": opencv_px,
        "ours_lens_px": ours_px,
        "ratio": ours_px / opencv_px,
    }


def _board_view(log: CellLog, picture: PictureTags) -> list[tuple[np.ndarray, np.ndarray]]:
    board = log.info.targets.board
    tags = picture.tags.select(board.ids)
    if len(tags.ids) < LEAST_TAGS:
        return []
    points = np.concatenate([board.corners(int(tag_id)) for tag_id in tags.ids])
    return [(points, np.asarray(tags.corners, dtype=float).reshape(-1, 2))]


def _apart(lens: FisheyeCamera, true: FisheyeCamera) -> float:
    """Return the RMS distance [px] of the same rays' pixels, once the lens is turned so that they agree best."""
    angle, azimuth = np.meshgrid(np.linspace(0.05, _TEST_ANGLE, 24), np.linspace(0.0, 2.0 * np.pi, 36, endpoint=False))
    rays = np.stack([np.sin(angle) * np.cos(azimuth), np.sin(angle) * np.sin(azimuth), np.cos(angle)], axis=-1)
    rays = rays.reshape(-1, 3)
    wanted = project(true, rays)[0]

    # A turned camera with a shifted centre sees the same: what calibration cannot tell is not held against it.
    def residual(turn: np.ndarray) -> np.ndarray:
        return (project(lens, rays @ so3_exp(turn).T)[0] - wanted).ravel()

    return float(np.sqrt(np.mean(least_squares(residual, np.zeros(3)).fun ** 2)))
