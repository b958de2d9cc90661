"""Start values of the bundle: tag poses picture by picture, hand-eye, and what follows from one pose to the next."""

from dataclasses import dataclass, replace

import cv2
import numpy as np

from r2s2r.contracts.cameras import FisheyeCamera, PinholeCamera
from r2s2r.contracts.errors import GroundingError
from r2s2r.contracts.projection import unproject
from r2s2r.contracts.transforms import pose, pose_apply, pose_inverse, quat_exp, se3_exp, se3_log
from r2s2r.control.kinematics import SerialChain
from r2s2r.world.bundle_data import GROUPS, BundleData
from r2s2r.world.bundle_kinematics import flange_motion
from r2s2r.world.bundle_model import HEAD, WRIST
from r2s2r.world.bundle_state import BundleState
from r2s2r.world.hand_eye import solve_hand_eye
from r2s2r.world.hand_eye_problem import LEVER, HandEyeCfg

STATIC = ("board", "table", "belt")
"""Groups that stand still."""

SCALE_LIMITS = (0.8, 1.25)
"""Ratio of true to given tag size that a focal length off by some percent can explain; beyond it the size is wrong."""

_STEEPEST_RAY = 0.2
"""Smallest depth of a unit ray that enters a pose from points [cosine]: about 78 degrees from the axis."""

_SCALED = HandEyeCfg(fit_scale=True, noise_scale_m=0.01, wrong_residual_m=0.05)
"""A data sheet's lens puts tags some centimetres off: not a sign of poses read the wrong way."""

_LEAST_TAGS = 2
"""Tags of a plane that give a pose without the mirror ambiguity of a single small one."""


@dataclass(frozen=True)
class GroupView:
    """One group of tags in one still picture."""

    camera: int
    """Index into CAMERAS."""
    group: str
    """One of GROUPS."""
    exposure: int
    """Index of the still exposure."""
    tags: int
    """How many of its tags are seen."""
    T_cam_group: np.ndarray
    """Pose (4, 4)."""


def start_state(data: BundleData, chain: SerialChain, guess: BundleState) -> BundleState:
    """Return `guess` (lenses, joints, clocks) with the poses that the still pictures show; others stay as guessed.

    Raises:
        GroundingError: too few still pictures, motion that leaves a direction open, or a tag size that robot motion
            contradicts; the ratio is in the message.
    """
    flange = flange_motion(chain, guess.offsets, data.rest_pos - guess.bias)[0]
    views = _views(data, guess)
    poses = dict(guess.poses)
    poses |= _from_wrist([v for v in views if v.camera == WRIST], flange)
    head = [v for v in views if v.camera == HEAD]
    if head:
        poses |= _from_head(data, guess, head, flange, poses)
    return replace(guess, poses=poses)


def robust_mean(candidates: np.ndarray) -> np.ndarray:
    """Return the mean of poses (n, 4, 4) that agree with the one which most others are near."""
    twists = se3_log(pose_inverse(candidates)[:, None] @ candidates[None])
    distance = np.linalg.norm(twists * np.r_[np.ones(3), np.full(3, LEVER)], axis=-1)
    best = int(np.argmin(np.median(distance, axis=1)))
    near = distance[best] <= 3.0 * np.median(distance[best]) + 1e-12
    return candidates[best] @ se3_exp(np.mean(twists[best][near], axis=0))


def pose_from_corners(lens: FisheyeCamera | PinholeCamera, points: np.ndarray, pixels: np.ndarray) -> np.ndarray | None:
    """Return T_cam_group (4, 4) from corners (n, 3) [m] and pixels (n, 2), None where too few rays point ahead."""
    rays, valid = unproject(lens, pixels)
    ahead = valid & (np.nan_to_num(rays[:, 2]) > _STEEPEST_RAY)
    if np.sum(ahead) < 4:
        return None
    flat = np.ascontiguousarray(rays[ahead, :2] / rays[ahead, 2:])
    chosen = np.ascontiguousarray(points[ahead])
    try:
        done, turn, shift = cv2.solvePnP(chosen, flat, np.eye(3), None, flags=cv2.SOLVEPNP_SQPNP)
        if not done:
            return None
        turn, shift = cv2.solvePnPRefineLM(chosen, flat, np.eye(3), None, turn, shift)
    except cv2.error:
        return None
    found = pose(shift[:, 0], quat_exp(turn[:, 0]))
    return found if np.isfinite(found).all() and found[2, 3] > 0.0 else None


def _views(data: BundleData, guess: BundleState) -> list[GroupView]:
    found = []
    keys = np.stack([data.camera, data.exposure, data.group], axis=1)[data.still]
    for camera, exposure, group in np.unique(keys, axis=0):
        rows = (data.camera == camera) & (data.exposure == exposure) & (data.group == group)
        lens = guess.wrist if camera == WRIST else guess.head
        pose_ = pose_from_corners(lens, data.points[rows], data.pixels[rows])
        if pose_ is not None:
            found.append(GroupView(int(camera), GROUPS[group], int(exposure), int(np.sum(rows)) // 4, pose_))
    return found


def _from_wrist(views: list[GroupView], flange: np.ndarray) -> dict[str, np.ndarray]:
    """Return the mount and the poses of what the wrist camera saw."""
    seen = {name: [v for v in views if v.group == name and v.tags >= _LEAST_TAGS] for name in STATIC}
    name = max(STATIC, key=lambda name: len(seen[name]))
    if len(seen[name]) < 3:
        counts = ", ".join(f"{len(seen[name])} of the {name}" for name in STATIC)
        raise GroundingError(f"cameras: still wrist pictures with {_LEAST_TAGS} tags: {counts}; 3 are needed of one")
    hands = np.array([flange[v.exposure] for v in seen[name]])
    targets = np.array([v.T_cam_group for v in seen[name]])
    solved = solve_hand_eye(hands, targets, _SCALED)
    _check_scale(name, solved.scale)
    for other in STATIC:
        if other != name and len(seen[other]) >= 3:
            _check_scale(other, _scale(seen[other], flange))
    poses = {"mount": solved.camera, name: solved.target}
    for other in STATIC:
        if other != name and seen[other]:
            poses[other] = robust_mean(
                np.array([flange[v.exposure] @ solved.camera @ v.T_cam_group for v in seen[other]])
            )
    return poses


def _scale(views: list[GroupView], flange: np.ndarray) -> float:
    """Return by robot motion how many times larger a group is than given; 1 where its pictures leave that open."""
    hands, targets = (np.array(x) for x in zip(*((flange[v.exposure], v.T_cam_group) for v in views), strict=True))
    try:
        return solve_hand_eye(hands, targets, _SCALED).scale
    except GroundingError:
        return 1.0


def _check_scale(name: str, scale: float) -> None:
    if not SCALE_LIMITS[0] < scale < SCALE_LIMITS[1]:
        raise GroundingError(
            f"cameras: by robot motion the tags of the {name} are {scale:.3f} times as large as given; allowed are "
            f"{SCALE_LIMITS[0]} to {SCALE_LIMITS[1]}: correct the tag size (its unit?)"
        )


def _from_head(
    data: BundleData, guess: BundleState, views: list[GroupView], flange: np.ndarray, poses: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the head camera's pose, the cube's, and those of groups that only the head camera saw."""
    found = {}
    known = [name for name in STATIC if poses[name] is not guess.poses[name]]
    cube = [v for v in views if v.group == "flange"]
    candidates = _head_candidates(data, guess, known, poses)
    if candidates:
        found["head"] = robust_mean(np.array(candidates))
    elif len(cube) >= 3:
        hands, targets = (np.array(x) for x in zip(*((flange[v.exposure], v.T_cam_group) for v in cube), strict=True))
        found["head"] = solve_hand_eye(hands, targets, HandEyeCfg(setup="eye_to_hand")).camera
    else:
        raise GroundingError(
            "cameras: the head camera's still pictures show neither fixed tags nor the cube on the flange"
        )
    sure = [v for v in cube if v.tags >= _LEAST_TAGS] or cube
    if sure:
        found["flange"] = robust_mean(
            np.array([pose_inverse(flange[v.exposure]) @ found["head"] @ v.T_cam_group for v in sure])
        )
    for name in STATIC:
        seen = [v for v in views if v.group == name and v.tags >= _LEAST_TAGS]
        if name not in known and seen:
            found[name] = robust_mean(np.array([found["head"] @ v.T_cam_group for v in seen]))
    return found


def _head_candidates(
    data: BundleData, guess: BundleState, known: list[str], poses: dict[str, np.ndarray]
) -> list[np.ndarray]:
    """Return T_b_head (4, 4) from each still head picture of fixed tags whose place in the base is known."""
    usable = data.still & (data.camera == HEAD) & np.isin(data.group, [GROUPS.index(name) for name in known])
    candidates = []
    for exposure in np.unique(data.exposure[usable]):
        rows = np.flatnonzero(usable & (data.exposure == exposure))
        in_base = np.array([pose_apply(poses[GROUPS[data.group[i]]], data.points[i]) for i in rows])
        seen = pose_from_corners(guess.head, in_base, data.pixels[rows])
        if seen is not None:
            candidates.append(pose_inverse(seen))
    return candidates
