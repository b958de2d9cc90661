"""The ungrounded behavior: straight lines and a two-finger pinch, as a robotics engineer would script the task."""

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from r2s2r.behavior.carried_object import carried_object
from r2s2r.behavior.demonstration import Demonstration, Phase
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.pick_plan import UP, OperatorScene
from r2s2r.contracts.action import POLICY_RATE_HZ
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.transforms import quat_multiply, quat_rotate, quat_slerp, yaw_quat
from r2s2r.robot.ready import READY_HAND

_INDEX_OPEN, _THUMB_OPEN = (0.11, 0.15, 1.43, 1.03), (1.39, 0.42, -0.18, 1.36)
_INDEX_CLOSE, _THUMB_CLOSE = (-0.15, 0.70, -0.16, -0.25), (-0.10, -0.27, 0.70, -0.36)
_STRAIGHT, _STILL = (0.0, -0.15, 0.1, 0.1), (0.0, 0.0, 0.0, 0.0)

PINCH = GraspGeometry(
    object_pos_palm=(0.084, 0.036, 0.0),
    pitch=1.09,
    yaw_offset=2.84,
    open_posture=_INDEX_OPEN + _STRAIGHT * 2 + _THUMB_OPEN,
    close_amount=_INDEX_CLOSE + _STILL * 2 + _THUMB_CLOSE,
    ride_s=0.31,
    closing_s=0.54,
    release_height_m=0.24,
)
"""The pinch between the tips of thumb and index finger, on two opposite sides of the object.

Tips 107 mm apart when open, told to close to 14 mm, on a horizontal line through the object's middle. Where that line
lies in the palm, its direction, the hand's pitch, both distances and both times (12 numbers) come from a cross-entropy
search in simulation: 7 rounds of 64 environments of the belt-sorting task, one candidate each, scored by lift and
success, under the variation that :class:`GraspGeometry` names. Inverse kinematics gave the postures. Attempts that
succeeded rose from 43 to 55 of 64.
"""

PRESHAPE_S = 0.5
"""Time in which the hand goes from its ready posture to the open pinch, and back [s]."""


@dataclass(frozen=True)
class Leg:
    """A straight motion of the wrist with a trapezoidal speed, or with a constant one where `ramp_s` is 0."""

    begin: float
    """[s]"""
    duration: float
    """[s]"""
    ramp_s: float
    """Time of speeding up and of slowing down [s]."""
    goal_pos_b: np.ndarray
    """(3,) [m]."""
    goal_quat_b: np.ndarray
    """(4,) xyzw."""

    @property
    def end(self) -> float:
        """[s]"""
        return self.begin + self.duration

    def share(self, t: np.ndarray) -> np.ndarray:
        """Return the share of the way covered at `t` (...) [s]."""
        t = np.clip(t - self.begin, 0.0, self.duration)
        cruise = self.duration - self.ramp_s
        if self.ramp_s == 0.0:
            return t / cruise
        up = 0.5 * np.minimum(t, self.ramp_s) ** 2 / self.ramp_s + np.maximum(t - self.ramp_s, 0.0)
        return (up - 0.5 * np.maximum(t - cruise, 0.0) ** 2 / self.ramp_s) / cruise


@dataclass(frozen=True)
class ScriptedPinch:
    """Plans the pick without anything human: every leg is straight, every speed a trapezoid, all joints close alike.

    The other fingers stay open. Nothing varies beyond the scene but a small uniform error of place.

    Raises:
        ConfigError: a number is out of its range.
    """

    label: ClassVar[str] = "pinch"

    grasp: GraspGeometry = PINCH
    """Where and how the object is taken."""

    speed: float = 0.25
    """Of the wrist on every leg [m/s]: the fastest wrist in the measured human reaches, as anyone would set it."""

    acceleration: float = 1.0
    """[m/s2]"""

    jitter_m: float = 0.002
    """Largest error of the place where the object is taken, along each horizontal axis [m]."""

    def __post_init__(self):
        set_number(self, "speed", 0.01, 1.0)
        set_number(self, "acceleration", 0.01, 20.0)
        set_number(self, "jitter_m", 0.0, 0.05)

    def demonstrate(self, scene: OperatorScene, rng: np.random.Generator, name: str = "pinch") -> Demonstration:
        """Return one demonstration of picking the object and dropping it into the bin; the same for the same `rng`."""
        legs = self._legs(scene, np.append(rng.uniform(-self.jitter_m, self.jitter_m, 2), 0.0))
        approach, ride, lift, transport, release, retreat = legs
        clock = np.arange(int(np.ceil(retreat.end * POLICY_RATE_HZ)) + 1) / POLICY_RATE_HZ
        close_begin = approach.end + self.grasp.ride_s
        phase = np.searchsorted(
            (close_begin, lift.begin, transport.begin, release.begin, retreat.begin), clock, side="right"
        ).astype(np.int64)
        wrist_pos, wrist_quat = _wrist(scene, legs, clock)
        object_pos, object_yaw = carried_object(
            wrist_pos,
            wrist_quat,
            phase,
            taken_pos_b=scene.object_pos_b + clock[phase <= Phase.CLOSE][-1] * scene.belt_velocity_b,
            taken_yaw=scene.object_yaw,
            belt_velocity_b=scene.belt_velocity_b,
            bin_pos_b=scene.bin_pos_b,
            rate_hz=POLICY_RATE_HZ,
        )
        knots = (0.0, PRESHAPE_S, close_begin, lift.begin, release.begin, retreat.begin, retreat.begin + PRESHAPE_S)
        return Demonstration(
            name=name,
            wrist_pos_b=wrist_pos,
            wrist_quat_b=wrist_quat,
            hand_joint_pos=self._hand(clock, knots),
            phase=phase,
            object_pos_b=object_pos,
            object_yaw=object_yaw,
            belt_velocity_b=scene.belt_velocity_b,
            bin_pos_b=scene.bin_pos_b,
            provenance={"operator": "scripted pinch"},
        )

    def _legs(self, scene: OperatorScene, error_b: np.ndarray) -> tuple[Leg, ...]:
        """Return approach, ride, lift, transport, release and retreat; `error_b` (3,) displaces the grasp [m]."""
        grasp, velocity = self.grasp, scene.belt_velocity_b
        offset, quat = np.asarray(grasp.object_pos_palm), grasp.wrist_quat_b(scene.object_yaw)
        beside = error_b - quat_rotate(quat, offset)
        approach = Leg(0.0, 0.0, 0.0, scene.wrist_pos_b, scene.wrist_quat_b)
        for _ in range(20):  # the way depends on where the object is by then; a contraction by belt speed / speed
            met = scene.object_pos_b + approach.end * velocity + beside
            approach = self._leg(0.0, scene.wrist_pos_b, met, quat)
        ridden = grasp.ride_s + grasp.closing_s
        ride = Leg(approach.end, ridden, 0.0, approach.goal_pos_b + ridden * velocity, quat)
        lift = self._leg(ride.end, ride.goal_pos_b, ride.goal_pos_b + grasp.lift_m * UP, quat)
        taken = ride.goal_pos_b + quat_rotate(quat, offset)
        turned = quat_multiply(yaw_quat(_azimuth(scene.bin_pos_b) - _azimuth(taken)), quat)
        over_bin = scene.bin_pos_b + grasp.release_height_m * UP - quat_rotate(turned, offset)
        transport = self._leg(lift.end, lift.goal_pos_b, over_bin, turned)
        release = Leg(transport.end, grasp.closing_s, 0.0, over_bin, turned)
        retreat = self._leg(release.end, over_bin, scene.wrist_pos_b, scene.wrist_quat_b)
        return approach, ride, lift, transport, release, retreat

    def _leg(self, begin: float, start_b: np.ndarray, goal_b: np.ndarray, goal_quat_b: np.ndarray) -> Leg:
        """Return the fastest leg within speed and acceleration; one too short for the full speed is a triangle."""
        length = float(np.linalg.norm(goal_b - start_b))
        ramp = min(self.speed / self.acceleration, np.sqrt(length / self.acceleration))
        duration = ramp + max(length / self.speed, ramp)
        return Leg(begin, duration, ramp, goal_b, goal_quat_b)

    def _hand(self, t: np.ndarray, knots: tuple[float, ...]) -> np.ndarray:
        """Return targets (T, 16) [rad] that run straight from posture to posture."""
        opened = np.asarray(self.grasp.open_posture)
        closed, ready = opened + np.asarray(self.grasp.close_amount), np.asarray(READY_HAND)
        postures = np.stack([ready, opened, opened, closed, closed, opened, ready])
        return np.stack([np.interp(t, knots, joint) for joint in postures.T], axis=-1)


def _wrist(scene: OperatorScene, legs: tuple[Leg, ...], t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return wrist positions (T, 3) and orientations (T, 4) xyzw at `t` (T,)."""

    def follow(pose: tuple[np.ndarray, np.ndarray], leg: Leg) -> tuple[np.ndarray, np.ndarray]:
        share = leg.share(t)
        return pose[0] + share[:, None] * (leg.goal_pos_b - pose[0]), quat_slerp(pose[1], leg.goal_quat_b, share)

    start = np.tile(scene.wrist_pos_b, (len(t), 1)), np.tile(scene.wrist_quat_b, (len(t), 1))
    return reduce(follow, legs, start)


def _azimuth(point_b: np.ndarray) -> float:
    return float(np.arctan2(point_b[1], point_b[0]))
