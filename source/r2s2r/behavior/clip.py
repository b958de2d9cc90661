"""Human hand beside robot hand: the recorded keypoints and the robot that follows them, seen from one place."""

import numpy as np
from PIL import Image, ImageDraw

from r2s2r.behavior.hand_model import KNUCKLE_LINKS, HandModel
from r2s2r.behavior.motion import RobotMotion
from r2s2r.behavior.palm_points import palm_axes
from r2s2r.behavior.robot_view import BACKGROUND_RGB, RobotView, View
from r2s2r.contracts.transforms import pose_apply
from r2s2r.control.kinematics import serial_chain
from r2s2r.robot.description import RobotDescription, compose
from r2s2r.robot.ready import READY_ARM

FINGER_RGB = ((196, 60, 60), (214, 140, 30), (60, 150, 70), (50, 110, 190), (130, 80, 170))
"""Thumb, index, middle, ring, little finger."""

PALM_RGB = (90, 90, 90)
OBJECT_RGB = (120, 100, 70)

CLOSE_VIEW = View(eye_b=(0.86, -0.62, 0.42), target_b=(0.46, -0.13, 0.37), fov=0.5)
"""The hand at the ready pose, from the front and the thumb's side."""

CELL_VIEW = View(eye_b=(1.10, -0.80, 0.62), target_b=(0.46, 0.0, 0.36), fov=0.42)
"""Arm and hand over the workspace."""

_SHARP = 3
"""The drawing is made this much larger and then reduced, which smooths its lines."""


def retargeting_clip(
    motion: RobotMotion, max_frames: int | None = None, description: RobotDescription | None = None
) -> np.ndarray:
    """Return pictures (T, H, 2W, 3) uint8: the human on the left, the robot on the right, from the same camera.

    A hand-local recording is drawn at the palm of the waiting robot, one with wrist motion where it was placed.

    Args:
        motion: what to show.
        max_frames: stop after so many; None for all.
        description: the robot; None for the default one.
    """
    description = description or compose()
    view = CLOSE_VIEW if motion.wrist is None else CELL_VIEW
    robot = RobotView(view, description)
    human = view.project(_human_points(motion, description))[:max_frames]
    object_pos = motion.recording.object_pos
    if motion.wrist is None or object_pos is None:
        objects = [None] * len(human)
    else:
        objects = list(view.project(motion.wrist.place(object_pos)))
    return np.array(
        [
            np.hstack([draw_hand(points, view, thing), robot.render(joint_pos)])
            for points, thing, joint_pos in zip(
                human, objects[: len(human)], motion.joint_pos[: len(human)], strict=True
            )
        ]
    )


def draw_hand(pixels: np.ndarray, view: View, object_pixel: np.ndarray | None = None) -> np.ndarray:
    """Return a picture (H, W, 3) uint8 of 21 keypoints (21, 2) [px]; what is NaN is left out."""
    picture = Image.new("RGB", (view.width * _SHARP, view.height * _SHARP), BACKGROUND_RGB)
    pen, width = ImageDraw.Draw(picture), 3 * _SHARP
    if object_pixel is not None:
        _dot(pen, object_pixel, 8, OBJECT_RGB)
    knuckles = (0, 1, 5, 9, 13, 17, 0)
    for first, second in zip(knuckles[:-1], knuckles[1:], strict=True):
        _line(pen, pixels[[first, second]], PALM_RGB, width)
    for finger, colour in enumerate(FINGER_RGB):
        chain = pixels[1 + 4 * finger : 5 + 4 * finger]
        chain = chain[np.isfinite(chain).all(axis=-1)]
        for pair in zip(chain[:-1], chain[1:], strict=True):
            _line(pen, np.array(pair), colour, width)
        for point in chain:
            _dot(pen, point, 3, colour)
    return np.asarray(picture.resize((view.width, view.height), Image.Resampling.LANCZOS))


def _human_points(motion: RobotMotion, description: RobotDescription) -> np.ndarray:
    """Return the recorded keypoints (T, 21, 3) in the robot base [m]."""
    recording = motion.recording
    if motion.wrist is not None:
        return motion.wrist.place(recording.keypoints_m)
    # Knuckles on knuckles: index and middle finger's midpoint is common to both hands.
    middle = recording.keypoints_m[:, (5, 9)].mean(axis=1, keepdims=True)
    local = np.einsum("tji,tkj->tki", palm_axes(recording), recording.keypoints_m - middle)
    robot_middle = HandModel(description).link_pos(np.zeros((1, 16)), KNUCKLE_LINKS[:2])[0].mean(axis=0)
    palm = serial_chain(description.urdf_path, description.wrist_link).wrist_pose(np.array(READY_ARM))
    return pose_apply(palm, local + robot_middle)


def _line(pen: ImageDraw.ImageDraw, ends: np.ndarray, colour: tuple[int, int, int], width: int) -> None:
    if np.isfinite(ends).all():
        pen.line([tuple(end * _SHARP) for end in ends], fill=colour, width=width)


def _dot(pen: ImageDraw.ImageDraw, centre: np.ndarray, radius: int, colour: tuple[int, int, int]) -> None:
    if np.isfinite(centre).all():
        x, y = centre * _SHARP
        r = radius * _SHARP
        pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)
