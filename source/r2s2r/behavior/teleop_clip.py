"""Teleoperated robot beside ours: the video of its head camera, its hand's keypoints, and the robot that follows."""

import numpy as np
from PIL import Image

from r2s2r.behavior.clip import draw_hand
from r2s2r.behavior.motion import RobotMotion
from r2s2r.behavior.robot_view import RobotView, View
from r2s2r.contracts.errors import RetargetingError
from r2s2r.robot.description import RobotDescription, compose

PALM_VIEW = View(eye_b=(0.98, 0.72, 0.86), target_b=(0.47, -0.02, 0.37), fov=0.46)
"""From the front, the left and above: into the palm of a right hand that reaches forward."""


def teleop_clip(
    motion: RobotMotion,
    pictures: np.ndarray | None,
    max_frames: int | None = None,
    description: RobotDescription | None = None,
) -> np.ndarray:
    """Return pictures (T, H, W, 3) uint8: the head camera, the recorded hand, and our robot from the same place.

    Args:
        motion: what became of the recording.
        pictures: of the head camera (T, h, w, 3) uint8, one for each frame of the motion or more; None: none are
            there, and hand and robot are shown alone.
        max_frames: stop after so many; None for all.
        description: our robot; None for the default one.

    Raises:
        RetargetingError: the motion has no wrist path, or there are fewer pictures than frames.
    """
    frames = len(motion.recording) if max_frames is None else min(max_frames, len(motion.recording))
    if motion.wrist is None:
        raise RetargetingError(f"{motion.recording.source}: no wrist path to show: {'; '.join(motion.left_out)}")
    if pictures is not None and len(pictures) < frames:
        raise RetargetingError(f"{motion.recording.source}: {len(pictures)} pictures for {frames} frames")
    robot = RobotView(PALM_VIEW, description or compose())
    points = PALM_VIEW.project(motion.wrist.place(motion.recording.keypoints_m[:frames]))
    rows = []
    for frame, (hand, joint_pos) in enumerate(zip(points, motion.joint_pos[:frames], strict=True)):
        panels = [] if pictures is None else [_scaled(pictures[frame])]
        rows.append(np.hstack([*panels, draw_hand(hand, PALM_VIEW), robot.render(joint_pos)]))
    return np.array(rows)


def _scaled(picture: np.ndarray) -> np.ndarray:
    """Return a picture (h, w, 3) as high as the view, its shape kept."""
    height, width = picture.shape[:2]
    size = (round(width * PALM_VIEW.height / height), PALM_VIEW.height)
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
