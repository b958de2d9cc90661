"""What adapting a demonstration keeps and what it moves, stated without the kernel's own formulas."""

import numpy as np
import pytest

from r2s2r.behavior.demonstration import Phase
from r2s2r.contracts import transforms as tf
from r2s2r.contracts.action import HAND_JOINT_POS, WRIST_POS, WRIST_ROT6D

SINGLE = 2e-6
"""Metres and radians left by single precision, see test_reference."""

TIE_M = 1e-6
"""How far the scripted object is ahead of the demonstration's, which decides in which of two steps it starts [m]."""

STEP_S = 1.0 / 30.0
PEAK_SLOPE = 1.875
"""Steepest slope of the minimum-jerk law."""


def wrist_poses(actions: np.ndarray) -> np.ndarray:
    """Return wrist poses (..., 4, 4) of actions (..., 25)."""
    return tf.pose(actions[..., WRIST_POS], tf.quat_from_matrix(tf.matrix_from_rot6d(actions[..., WRIST_ROT6D])))


@pytest.mark.parametrize("index", [0, 1])
def test_in_its_own_scene_a_demonstration_is_replayed_as_it_is(demos, quiet, cell_of, play, index):
    demo, wait = demos[index][0], 5
    trace = play([[demo]], cell_of(demo, wait), quiet(), wait + len(demo) + 10)
    actions = trace.actions[wait : wait + len(demo), 0]
    np.testing.assert_allclose(actions[:, WRIST_POS], demo.wrist_pos_b, atol=SINGLE + TIE_M)
    rotation = tf.rot6d_from_matrix(tf.matrix_from_quat(demo.wrist_quat_b))
    np.testing.assert_allclose(actions[:, WRIST_ROT6D], rotation, atol=SINGLE)
    np.testing.assert_allclose(actions[:, HAND_JOINT_POS], demo.hand_joint_pos, atol=SINGLE)
    # Before the start and after the end it stands at the first and at the last step.
    np.testing.assert_array_equal(trace.actions[:wait, 0], np.tile(trace.actions[wait, 0], (wait, 1)))
    np.testing.assert_array_equal(trace.actions[wait + len(demo) :, 0], np.tile(actions[-1], (10, 1)))


@pytest.mark.parametrize("shift", [(0.05, 0.0, 0.0), (-0.03, 0.0, 0.01), (0.02, -0.06, 0.0)])
def test_the_closing_wrist_moves_with_the_object(demos, quiet, cell_of, play, shift):
    demo, wait = demos[0][0], 25
    steps = wait + 30 + demo.span(Phase.LIFT).start
    own = cell_of(demo, wait)
    moved = cell_of(demo, wait, object_pos_b=own.object_pos_b + shift)
    first, second = (play([[demo]], cell, quiet(), steps) for cell in (own, moved))
    # An object further upstream comes later: the attempt starts later by the time that the belt needs.
    later = round(-shift[1] / (STEP_S * demo.belt_velocity_b[1]))
    assert second.first_motion() - first.first_motion() == later
    closing = np.arange(demo.span(Phase.CLOSE).start, demo.span(Phase.CLOSE).stop) + wait
    beside = [
        trace.actions[at, 0, WRIST_POS] - trace.object_pos_b[at, 0]
        for trace, at in ((first, closing), (second, closing + later))
    ]
    np.testing.assert_allclose(beside[1], beside[0], atol=SINGLE)


@pytest.mark.parametrize("yaw", [-0.7, 0.2, 3.0])
def test_the_closing_wrist_turns_with_the_object(demos, quiet, cell_of, play, yaw):
    demo, wait = demos[0][1], 2
    cell = cell_of(demo, wait, object_quat_b=tf.yaw_quat(demo.object_yaw[:1] + yaw))
    trace = play([[demo]], cell, quiet(), wait + demo.span(Phase.LIFT).start)
    for step in range(demo.span(Phase.CLOSE).start, demo.span(Phase.CLOSE).stop):
        of_object = tf.pose(trace.object_pos_b[step + wait, 0], cell.object_quat_b[0])
        expected_object = tf.pose(demo.object_pos_b[step], tf.yaw_quat(demo.object_yaw[step]))
        held = tf.pose_inverse(of_object) @ wrist_poses(trace.actions[step + wait, 0])
        shown = tf.pose_inverse(expected_object) @ tf.pose(demo.wrist_pos_b[step], demo.wrist_quat_b[step])
        np.testing.assert_allclose(held, shown, atol=SINGLE)


def test_a_tilted_object_turns_the_wrist_about_the_vertical_only(demos, quiet, cell_of, play):
    demo = demos[0][0]
    yaw = tf.yaw_quat(demo.object_yaw[0])
    tilted = tf.quat_multiply(yaw, tf.quat_exp(np.array([0.0, 0.3, 0.0])))
    steps = demo.span(Phase.LIFT).start
    upright, leaning = (play([[demo]], cell_of(demo, object_quat_b=q[None]), quiet(), steps) for q in (yaw, tilted))
    np.testing.assert_allclose(leaning.actions, upright.actions, atol=SINGLE)


def test_release_moves_with_the_bin_and_lift_does_not(demos, quiet, cell_of, play):
    demo, wait, shift = demos[0][0], 5, np.array([0.04, -0.07, 0.02])
    own = cell_of(demo, wait)
    steps = wait + len(demo)
    first = play([[demo]], own, quiet(), steps).actions[wait:, 0]
    second = play([[demo]], cell_of(demo, wait, bin_pos_b=own.bin_pos_b + shift), quiet(), steps).actions[wait:, 0]
    until = demo.span(Phase.TRANSPORT).start
    np.testing.assert_array_equal(second[:until], first[:until])
    released = demo.span(Phase.RELEASE)
    moved = second[released, WRIST_POS] - first[released, WRIST_POS]
    np.testing.assert_allclose(moved, np.tile(shift, (len(moved), 1)), atol=SINGLE)
    np.testing.assert_allclose(second[:, WRIST_ROT6D], first[:, WRIST_ROT6D], atol=SINGLE)
    np.testing.assert_array_equal(second[:, HAND_JOINT_POS], first[:, HAND_JOINT_POS])


def test_wherever_the_object_was_taken_release_is_above_the_bin(demos, quiet, random_cell, play):
    demo = demos[0][0]
    cell = random_cell(demo, range(8), classes=1)
    trace = play([[demo]], cell, quiet(), len(demo) + 150)
    for env in range(len(cell)):
        start = trace.first_motion(env) - 1
        released = demo.span(Phase.RELEASE)
        wrist = trace.actions[start + released.start : start + released.stop, env, WRIST_POS]
        expected = demo.wrist_pos_b[released] + cell.bin_pos_b[env] - demo.bin_pos_b
        np.testing.assert_allclose(wrist, expected, atol=SINGLE)


@pytest.mark.parametrize("belt_speed", [0.0, 0.02, 0.1, 0.2])
@pytest.mark.parametrize("speed", [0.7, 1.3])
def test_the_wrist_never_jumps(demos, quiet, cell_of, play, belt_speed, speed):
    """Every step is at most the demonstration's, the belt's, and the blend's share of what it has to bridge."""
    demo, shift, yaw = demos[0][0], np.array([0.05, 0.03, 0.0]), 0.4
    own = cell_of(demo, 0)
    cell = cell_of(
        demo,
        object_pos_b=own.object_pos_b + shift,
        object_quat_b=tf.yaw_quat(demo.object_yaw[:1] + yaw),
        belt_speed=[belt_speed],
        bin_pos_b=own.bin_pos_b + (0.05, 0.05, 0.0),
    )
    trace = play([[demo]], cell, quiet(time_warp=(speed, speed), lead_s=0.1), int(len(demo) / speed) + 90)
    pos = trace.actions[:, 0, WRIST_POS].astype(float)
    start, bound = trace.first_motion() - 1, step_bound(demo, trace, cell, speed)
    steps = np.linalg.norm(np.diff(pos, axis=0), axis=-1)
    np.testing.assert_array_equal(steps[:start], 0.0)
    assert (steps[start : start + len(bound)] <= bound + SINGLE).all()


def step_bound(demo, trace, cell, speed: float) -> np.ndarray:
    """Return the longest step that each control step from the first motion on may take [m]."""
    own = np.linalg.norm(np.diff(demo.wrist_pos_b, axis=0), axis=-1).max()
    in_object = np.linalg.norm(np.diff(demo.wrist_pos_b - demo.object_pos_b, axis=0), axis=-1)
    riding = in_object[: demo.span(Phase.LIFT).start].max() * speed + cell.belt_speed[0] * STEP_S
    phases = [demo.span(phase) for phase in Phase]
    start, pos = trace.first_motion() - 1, trace.actions[:, 0, WRIST_POS].astype(float)
    clock = np.minimum(np.arange(len(pos) - start) * speed, len(demo) - 1)
    base = np.stack([np.interp(clock, np.arange(len(demo)), column) for column in demo.wrist_pos_b.T], axis=-1)
    approaching = clock < phases[Phase.CLOSE].start
    # What an approach bridges: object from expected object (with the lead), and the lever of the turn.
    expected = np.stack([np.interp(clock, np.arange(len(demo)), column) for column in demo.object_pos_b.T], axis=-1)
    lead = 0.1 * cell.belt_speed[0]
    away = np.linalg.norm(trace.object_pos_b[start:, 0] - expected, axis=-1)[approaching].max() + lead
    lever = np.linalg.norm(demo.wrist_pos_b - demo.object_pos_b, axis=-1)[: phases[Phase.CLOSE].start].max()
    turn = 2.0 * np.sin(0.5 * tf.quat_angle(cell.object_quat_b[0], tf.yaw_quat(demo.object_yaw[0])))
    approach = max(own * speed, riding) + PEAK_SLOPE * speed / phases[0].stop * (away + lever * turn)
    # What a transport bridges: carried as taken, from above the bin as shown.
    last = int(np.flatnonzero(clock < phases[Phase.LIFT].start)[-1])
    shown = tf.pose(base[last], tf.quat_slerp(*_around(demo.wrist_quat_b, clock[last])))
    carry = wrist_poses(trace.actions[start + last, 0].astype(float)) @ tf.pose_inverse(shown)
    way = np.linalg.norm(tf.pose_apply(carry, base) - base - (cell.bin_pos_b[0] - demo.bin_pos_b), axis=-1)
    length = phases[Phase.TRANSPORT].stop - phases[Phase.TRANSPORT].start
    transporting = clock >= phases[Phase.LIFT].start
    transport = own * speed + PEAK_SLOPE * speed / length * way[transporting].max()
    bound = np.where(approaching, approach, np.where(transporting, transport, max(riding, own * speed)))
    # A step between two phases is bounded by the larger of both.
    return np.maximum(bound[:-1], bound[1:])


def _around(values: np.ndarray, clock: float) -> tuple[np.ndarray, np.ndarray, float]:
    step = int(clock)
    return values[step], values[step + 1], clock - step


@pytest.mark.parametrize("speed", [0.5, 0.8, 1.0, 1.25, 2.0])
def test_a_time_warp_divides_the_duration(counting, quiet, cell_of, play, speed):
    cfg = quiet(time_warp=(speed, speed))
    trace = play([[counting]], cell_of(counting, 60), cfg, 100 + int(len(counting) / speed))
    clock = trace.clock()
    running = clock[(clock > 0.0) & (clock < clock[-1])]
    np.testing.assert_allclose(np.diff(running), speed, atol=1e-4)  # targets of 0.1 rad resolve 1e-8 rad = 1e-5 steps
    assert len(running) == int(np.ceil((len(counting) - 1) / speed)) - 1


@pytest.mark.parametrize("speed", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("belt_speed", [0.05, 0.1, 0.2])
def test_the_object_is_met_where_the_demonstration_met_it(counting, quiet, cell_of, play, speed, belt_speed):
    cell = cell_of(counting, object_pos_b=counting.object_pos_b[:1] - (0.0, 0.2, 0.0), belt_speed=[belt_speed])
    trace = play([[counting]], cell, quiet(time_warp=(speed, speed)), 250)
    close = counting.span(Phase.CLOSE).start
    closing = int(np.argmax(trace.clock() >= close - 1e-4))
    met = trace.object_pos_b[closing, 0, 1] - counting.object_pos_b[close, 1]
    # The start waits for whole control steps and the closing begins in one: at most two steps of the belt too late.
    assert -SINGLE <= met < 2.0 * belt_speed * STEP_S + SINGLE


@pytest.mark.parametrize("ahead", [0.0, 0.05, 0.3])
def test_an_object_that_is_already_there_is_followed_at_once(counting, quiet, cell_of, play, ahead):
    own = cell_of(counting, 0)
    cell = cell_of(counting, object_pos_b=own.object_pos_b + (0.0, ahead, 0.0))
    assert play([[counting]], cell, quiet(), 10).first_motion() == 1


@pytest.mark.parametrize("belt_speed", [0.0, -0.1])
def test_on_a_belt_that_brings_nothing_the_attempt_starts_at_once(counting, quiet, cell_of, play, belt_speed):
    cell = cell_of(counting, wait_steps=60, belt_speed=[belt_speed])
    assert play([[counting]], cell, quiet(), 10).first_motion() == 1
