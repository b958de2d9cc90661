"""The kernel against the same rules written once more: one environment, matrices, double precision."""

import numpy as np
import pytest

from r2s2r.behavior.demonstration import Phase
from r2s2r.contracts import transforms as tf

SINGLE = 2e-6
"""Metres and radians left by single precision: roundings of 6e-8 of numbers below 1, some thirty of them in a row where
the frame of the grasp is carried along with the belt."""

STEP_S = 1.0 / 30.0


class Reference:
    """One attempt by the rules in the docstrings of `r2s2r.replay`, noise left out."""

    def __init__(self, demo, cfg, speed: float):
        self.demo, self.cfg = demo, cfg
        self.in_base = tf.pose(demo.wrist_pos_b, demo.wrist_quat_b)
        self.in_object = tf.pose_inverse(tf.pose(demo.object_pos_b, tf.yaw_quat(demo.object_yaw))) @ self.in_base
        self.begins = [demo.span(phase).start for phase in Phase]
        # The clock runs in single precision here too: between two hand targets it decides the sixth digit.
        self.speed, self.clock, self.last = np.float32(speed), None, np.float32(len(demo) - 1)
        self.waited, self.late, self.grasp, self.steps_closing = 0, False, None, 0
        self.tie_m = np.inf  # how near the attempt came to a tie: between starting or not, between arrived or not

    def step(self, object_pose, belt_speed: float, bin_pos, wrist_pos) -> np.ndarray:
        """Return the next action (25)."""
        belt = belt_speed * np.array([0.0, 1.0, 0.0])
        self._advance(object_pose, belt, wrist_pos)
        clock = float(self.clock or 0.0)
        target = self._target(clock, object_pose, belt, bin_pos)
        hand = self._between(self.demo.hand_joint_pos, clock, lambda a, b, s: a + s * (b - a))
        return np.concatenate([target[:3, 3], tf.rot6d_from_matrix(target[:3, :3]), hand])

    def _advance(self, object_pose, belt, wrist_pos) -> None:
        close = self.begins[Phase.CLOSE]
        if self.clock is None:
            then = object_pose[:3, 3] + belt * close * STEP_S / float(self.speed)
            beyond = then[1] - self.demo.object_pos_b[close, 1]
            if belt[1] > 0.0:
                self.tie_m = min(self.tie_m, abs(beyond))
            if beyond >= 0.0 or belt[1] <= 0.0:
                self.clock = np.float32(0.0)
            return
        later = min(self.clock + self.speed, self.last)
        if self.grasp is None and later >= close:
            away = np.linalg.norm((object_pose @ self.in_object[close])[:3, 3] - wrist_pos)
            self.tie_m = min(self.tie_m, abs(away - self.cfg.arrival_m))
            if away > self.cfg.arrival_m and (self.waited + 1) * STEP_S <= self.cfg.max_wait_s + 1e-9:
                self.waited += 1
                later = np.float32(close)
            else:
                self.grasp, self.late = object_pose, away > self.cfg.arrival_m
        self.clock = later

    def _target(self, clock: float, object_pose, belt, bin_pos) -> np.ndarray:
        lead, in_base = belt * self.cfg.lead_s, self._pose(self.in_base, clock)
        if self.grasp is None:
            riding = _shifted(object_pose, lead) @ self._pose(self.in_object, clock)
            return _mix(in_base, riding, self._share(Phase.APPROACH, clock))
        if clock < self.begins[Phase.LIFT]:
            ridden = belt * self.steps_closing * STEP_S
            self.steps_closing += 1
            target = _shifted(self.grasp, ridden + lead) @ self._pose(self.in_object, clock)
            self.carry = target @ tf.pose_inverse(in_base)
            return target
        over_bin = _shifted(in_base, bin_pos - self.demo.bin_pos_b)
        return _mix(self.carry @ in_base, over_bin, self._share(Phase.TRANSPORT, clock))

    def _share(self, phase: Phase, clock: float) -> float:
        s = np.clip((clock - self.begins[phase]) / (self.begins[phase + 1] - self.begins[phase]), 0.0, 1.0)
        return float(np.polyval([6.0, -15.0, 10.0, 0.0, 0.0, 0.0], s))

    def _pose(self, poses: np.ndarray, clock: float) -> np.ndarray:
        return self._between(poses, clock, _mix)

    def _between(self, values: np.ndarray, clock: float, mix) -> np.ndarray:
        step = int(clock)
        return mix(values[step], values[min(step + 1, len(values) - 1)], clock - step)


def _shifted(pose: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return np.block([[pose[:3, :3], (pose[:3, 3] + shift)[:, None]], [0.0, 0.0, 0.0, 1.0]])


def _mix(a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
    mixed = np.eye(4)
    mixed[:3, :3] = a[:3, :3] @ tf.so3_exp(share * tf.so3_log(a[:3, :3].T @ b[:3, :3]))
    mixed[:3, 3] = (1.0 - share) * a[:3, 3] + share * b[:3, 3]
    return mixed


# A wrist that is `delay` steps late and led by `lead_s` ends up behind its object by delay / 30 Hz - lead_s times the
# belt's speed: in the fourth row by 4 mm at 0.03 m/s, within its 4.5 mm, while at 0.2 m/s it stays away and is late.
@pytest.mark.parametrize(
    ("speed", "lead_s", "arrival_m", "delay"),
    [
        (1.0, 0.0, 1.0, 1),
        (0.9, 1 / 30, 0.006, 2),
        (1.13, 0.1, 0.005, 3),
        (2.0, 1 / 30, 0.0045, 5),
        (0.6, 0.05, 0.02, 4),
    ],
)
def test_kernel_agrees_with_the_reference_over_whole_attempts(
    demos, quiet, random_cell, play, speed, lead_s, arrival_m, delay
):
    cell = random_cell(demos[0][0], range(4))
    cell.belt_speed[:3] = 0.0, 0.03, 0.2
    tilt = tf.quat_exp(np.random.default_rng(5).uniform(-0.1, 0.1, (4, 3)))
    cell.object_quat_b[:] = tf.quat_multiply(tilt, cell.object_quat_b)
    cfg = quiet(time_warp=(speed, speed), lead_s=lead_s, arrival_m=arrival_m)
    ordered = [demo for group in demos for demo in group]
    steps = int(max(len(demo) for demo in ordered) / speed) + 70
    trace = play(demos, cell, cfg, steps, delay=delay)

    for env in range(len(cell)):
        heading = tf.matrix_from_quat(cell.object_quat_b[env])[:2, 0]
        upright = tf.yaw_quat(np.arctan2(heading[1], heading[0]))
        reference = Reference(ordered[trace.demo[env]], cfg, speed)
        expected = [
            reference.step(
                tf.pose(trace.object_pos_b[step, env], upright),
                cell.belt_speed[env],
                cell.bin_pos_b[env],
                trace.wrist_pos_b[step, env],
            )
            for step in range(steps)
        ]
        assert reference.tie_m > SINGLE, "choose another cell: single precision may decide this tie either way"
        np.testing.assert_allclose(trace.actions[:, env], expected, atol=SINGLE)
        assert trace.late[env] == reference.late
        assert trace.waited_s[-1, env] == pytest.approx(reference.waited * STEP_S, abs=1e-6)
