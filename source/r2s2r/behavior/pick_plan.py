"""When and where the operator's wrist goes during one pick, as functions of time."""

from dataclasses import dataclass

import numpy as np

from r2s2r.behavior.demonstration import Phase
from r2s2r.behavior.grasp import GraspGeometry
from r2s2r.behavior.human_statistics import HumanStatistics
from r2s2r.behavior.reaches import upward_normal
from r2s2r.behavior.synergy import ClosingSynergy
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import quat_multiply, quat_normalise, quat_rotate, quat_slerp, yaw_quat
from r2s2r.control.minimum_jerk import PEAK_SPEED_RATIO, bump, coasting, progress, skewed_progress
from r2s2r.robot.limits import TOOL_SPEED_LIMIT

TRANSPORT_ONSET = 0.7
"""Share of the lift after which the transport begins; the two overlap as in human motion."""

DESCENT_ONSET = 0.4
"""Share of the transport after which the hand sinks to the height of release."""

SPEED_MARGIN = 1.5
"""Skew (up to 1.1) and detours raise the highest speed above that of the straight minimum-jerk motion."""

START_Y = -0.32
"""Where along the belt the object is when the reach for it begins [m]: a human waits until it comes near."""

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class OperatorScene:
    """What the operator sees at time zero, in the robot base.

    Raises:
        ConfigError: a wrong shape or a number that is not finite.
    """

    object_pos_b: np.ndarray
    """(3,) centre of the object [m]."""

    object_yaw: float
    """Turn of the object about the vertical [rad]; of equivalent ones give the one nearest to 0."""

    belt_velocity_b: np.ndarray
    """(3,) [m/s]."""

    bin_pos_b: np.ndarray
    """(3,) centre of the bin's floor [m]."""

    wrist_pos_b: np.ndarray
    """(3,) wrist at the ready pose [m]."""

    wrist_quat_b: np.ndarray
    """(4,) xyzw."""

    def __post_init__(self):
        widths = dict(object_pos_b=3, belt_velocity_b=3, bin_pos_b=3, wrist_pos_b=3, wrist_quat_b=4)
        for name, width in widths.items():
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != (width,) or not np.isfinite(value).all():
                raise ConfigError(f"operator scene: {name} is {value.tolist()}, expected {width} finite numbers")
            object.__setattr__(self, name, value)
        if not np.isfinite(self.object_yaw):
            raise ConfigError(f"operator scene: object_yaw is {self.object_yaw}, it must be finite")


@dataclass(frozen=True)
class Motion:
    """One minimum-jerk motion: when, how skewed, and its detour from the straight way."""

    begin: float
    duration: float
    peak_fraction: float
    rise: float
    """Detour half way, over the straight way [m]."""
    sideways: float
    """Horizontal detour half way [m], positive to the left of the way."""

    @staticmethod
    def draw(human: HumanStatistics, length: float, begin: float, rng: np.random.Generator) -> "Motion":
        """Return a motion over `length` [m] with the variation of `human`, no faster than the tool may go."""
        fastest = SPEED_MARGIN * PEAK_SPEED_RATIO * length / TOOL_SPEED_LIMIT
        rise, deviation = human.path_rise.draw(rng), human.path_deviation.draw(rng)
        return Motion(
            begin=begin,
            duration=max(human.duration_s.draw(rng) * stretch(human, length), fastest),
            peak_fraction=human.peak_speed_fraction.draw(rng),
            rise=length * rise,
            sideways=length * np.sqrt(max(deviation**2 - rise**2, 0.0)) * rng.choice((-1.0, 1.0)),
        )

    @property
    def end(self) -> float:
        """When it is over [s]."""
        return self.begin + self.duration

    def share(self, t: np.ndarray) -> np.ndarray:
        """Return the share of the way covered at `t` (...)."""
        return skewed_progress((t - self.begin) / self.duration, self.peak_fraction)


def stretch(human: HumanStatistics, length: float) -> float:
    """Return how much longer than a measured reach a motion over `length` [m] lasts.

    The square root of the lengths' ratio keeps the highest acceleration that of the recording. Below 5 cm the duration
    no longer shrinks.
    """
    return float(np.sqrt(max(length, 0.05) / human.length_m.mean))


@dataclass(frozen=True)
class PickPlan:
    """All motions of one pick; build it with :meth:`draw`."""

    scene: OperatorScene
    grasp: GraspGeometry
    approach: Motion
    close_begin: float
    close_duration: float
    lift: Motion
    transport: Motion
    open_begin: float
    open_duration: float
    retreat: Motion

    @staticmethod
    def draw(
        scene: OperatorScene, human: HumanStatistics, grasp: GraspGeometry, rng: np.random.Generator
    ) -> "PickPlan":
        """Return a plan whose times and detours vary as the human's do; the same for the same `rng`."""
        approach = Motion.draw(human, _approach_length(scene, human, grasp), 0.0, rng)
        # The robot hand is slower than the human's, so that only the variation of the closing is the human's.
        slower = grasp.closing_s / human.closing_duration_s.mean
        onset = human.closing_onset_s.draw(rng) - human.closing_onset_s.mean
        close_begin = approach.end + max(grasp.ride_s + onset, 0.0)
        close_duration = slower * human.closing_duration_s.draw(rng)
        lift = Motion.draw(human, grasp.lift_m, close_begin + close_duration + human.hold_s.draw(rng), rng)
        taken_b = scene.object_pos_b + scene.belt_velocity_b * lift.begin
        way = _arc_length(taken_b, scene.bin_pos_b)
        transport = Motion.draw(human, way, lift.begin + TRANSPORT_ONSET * lift.duration, rng)
        open_begin = max(transport.end, lift.end)
        open_duration = slower * human.closing_duration_s.draw(rng)
        back = _arc_length(scene.bin_pos_b, scene.wrist_pos_b)
        retreat = Motion.draw(human, back, open_begin + open_duration, rng)
        return PickPlan(
            scene, grasp, approach, close_begin, close_duration, lift, transport, open_begin, open_duration, retreat
        )

    @property
    def end(self) -> float:
        """When the hand is back at the ready pose [s]."""
        return self.retreat.end

    def phase(self, t: np.ndarray) -> np.ndarray:
        """Return the :class:`Phase` at `t` (T,), int64."""
        begins = (self.close_begin, self.lift.begin, self.transport.begin, self.open_begin, self.retreat.begin)
        return int(Phase.APPROACH) + np.searchsorted(begins, t, side="right").astype(np.int64)

    def closed_share(self, t: np.ndarray, synergy: ClosingSynergy) -> np.ndarray:
        """Return each joint's share of its closing at `t` (T,): (T, 16). Opening runs the synergy backwards."""
        closing = (t - self.close_begin) / self.close_duration
        opening = 1.0 - (t - self.open_begin) / self.open_duration
        return synergy.at(np.where(t < self.open_begin, closing, opening))

    def widened(self, t: np.ndarray) -> np.ndarray:
        """Return how much wider than before the grasp the hand is to open at `t` (T,): 0 open, 1 release posture.

        The closed hand opens to the release posture, and relaxes to the open one on its way back.
        """
        relaxed = progress((t - self.retreat.begin) / self.retreat.duration)
        return np.where(t < self.open_begin, 0.0, 1.0 - relaxed)

    def wrist(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return wrist positions (T, 3) and orientations (T, 4) xyzw in the base at `t` (T,)."""
        pos, quat = self._before_retreat(t)
        released, _ = self._before_retreat(np.array([self.open_begin]))
        return self._retreated(t, pos, quat, released[0])

    def expected_object(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the object should be at `t` (T,): (T, 3) [m] and its yaw (T,) [rad].

        It rides on the belt, from the lift on with the palm, and lies on the bin's floor once the hand is half open.
        """
        on_belt, carried = t < self.lift.begin, t < self.open_begin + 0.5 * self.open_duration
        pos, quat = self._before_retreat(t)
        in_palm = pos + quat_rotate(quat, np.asarray(self.grasp.object_pos_palm))
        pos = np.where(carried[:, None], in_palm, self.scene.bin_pos_b)
        pos = np.where(on_belt[:, None], self.scene.object_pos_b + np.outer(t, self.scene.belt_velocity_b), pos)
        return pos, self.scene.object_yaw + self._turn(t)

    def _before_retreat(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._carried(t, *self._taken(t))

    def _taken(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Approach, ride along and lift: wrist positions (T, 3) and orientations (T, 4)."""
        scene, goal_quat = self.scene, self.grasp.wrist_quat_b(self.scene.object_yaw)
        to_wrist = -quat_rotate(goal_quat, np.asarray(self.grasp.object_pos_palm))
        # The wrist leaves the belt's speed smoothly: it coasts to rest while it lifts.
        coasted = self.lift.duration * coasting((t - self.lift.begin) / self.lift.duration)
        ridden = np.outer(np.minimum(t, self.lift.begin) + coasted, scene.belt_velocity_b)
        goal = scene.object_pos_b + to_wrist + ridden
        share = self.approach.share(t)[:, None]
        pos = scene.wrist_pos_b + share * (goal - scene.wrist_pos_b)
        over = upward_normal(goal - scene.wrist_pos_b)
        aside = np.cross(over, goal - scene.wrist_pos_b)
        aside /= np.linalg.norm(aside, axis=-1, keepdims=True)
        pos = pos + bump(share) * (self.approach.rise * over + self.approach.sideways * aside)
        pos = pos + self.lift.share(t)[:, None] * self.grasp.lift_m * UP
        return pos, quat_slerp(scene.wrist_quat_b, goal_quat, share[:, 0])

    def _carried(self, t: np.ndarray, pos: np.ndarray, quat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Turn about the base's vertical to above the bin, on top of the lift; the object's centre leads the way."""
        offset = np.asarray(self.grasp.object_pos_palm)
        azimuth, radius, height = _cylindrical(pos + quat_rotate(quat, offset))
        _, bin_radius, bin_height = _cylindrical(self.scene.bin_pos_b)
        share = self.transport.share(t)
        radius = radius + share * (bin_radius - radius) + bump(share) * self.transport.sideways
        sink = progress(((t - self.transport.begin) / self.transport.duration - DESCENT_ONSET) / (1.0 - DESCENT_ONSET))
        height = height + sink * (bin_height + self.grasp.release_height_m - height) + bump(share) * self.transport.rise
        turn = self._turn(t)
        quat = quat_multiply(yaw_quat(turn), quat)
        return _cartesian(azimuth + turn, radius, height) - quat_rotate(quat, offset), quat

    def _turn(self, t: np.ndarray) -> np.ndarray:
        """Return how far the transport has turned about the base's vertical at `t` (T,) [rad]."""
        whole = self.transport.begin + self.transport.duration
        azimuth = _cylindrical(self._taken_object(np.append(t, whole)))[0]
        to_bin = _wrap(np.arctan2(self.scene.bin_pos_b[1], self.scene.bin_pos_b[0]) - azimuth[-1])
        return self.transport.share(t) * (to_bin + azimuth[-1] - azimuth[:-1])

    def _taken_object(self, t: np.ndarray) -> np.ndarray:
        pos, quat = self._taken(t)
        return pos + quat_rotate(quat, np.asarray(self.grasp.object_pos_palm))

    def _retreated(
        self, t: np.ndarray, pos: np.ndarray, quat: np.ndarray, released_b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Turn back about the base's vertical from `released_b` (3,) to the ready pose, rising first."""
        azimuth, radius, height = _cylindrical(pos)
        ready_azimuth, ready_radius, ready_height = _cylindrical(self.scene.wrist_pos_b)
        share = self.retreat.share(t)
        back = _wrap(ready_azimuth - _cylindrical(released_b)[0])
        radius = radius + share * (ready_radius - radius)
        ascent = progress((t - self.retreat.begin) / ((1.0 - DESCENT_ONSET) * self.retreat.duration))
        height = height + ascent * (ready_height - height)
        ready_quat = quat_multiply(yaw_quat(-back), self.scene.wrist_quat_b)
        quat = quat_multiply(yaw_quat(share * back), quat_slerp(quat, ready_quat, share))
        return _cartesian(azimuth + share * back, radius, height), quat_normalise(quat)


def _approach_length(scene: OperatorScene, human: HumanStatistics, grasp: GraspGeometry) -> float:
    """Return the way to the moving object for a reach of mean duration; both depend on each other."""
    to_wrist = -quat_rotate(grasp.wrist_quat_b(scene.object_yaw), np.asarray(grasp.object_pos_palm))
    duration = human.duration_s.mean
    length = 0.0
    for _ in range(5):
        goal = scene.object_pos_b + duration * scene.belt_velocity_b + to_wrist
        length = float(np.linalg.norm(goal - scene.wrist_pos_b))
        duration = human.duration_s.mean * stretch(human, length)
    return length


def _arc_length(first_b: np.ndarray, second_b: np.ndarray) -> float:
    """Return the way of a turn about the base's vertical from `first_b` to `second_b` (3,) [m]."""
    first, second = _cylindrical(first_b), _cylindrical(second_b)
    return float(np.hypot(max(first[1], second[1]) * _wrap(second[0] - first[0]), second[1] - first[1]))


def _cylindrical(point_b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.arctan2(point_b[..., 1], point_b[..., 0]), np.hypot(point_b[..., 0], point_b[..., 1]), point_b[..., 2]


def _cartesian(azimuth: np.ndarray, radius: np.ndarray, height: np.ndarray) -> np.ndarray:
    return np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), height], axis=-1)


def _wrap(angle: np.ndarray) -> np.ndarray:
    return np.arctan2(np.sin(angle), np.cos(angle))
