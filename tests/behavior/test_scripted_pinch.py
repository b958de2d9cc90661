"""The scripted pinch: straight legs, trapezoidal speeds, two fingers, nothing that varies beyond the scene."""

import numpy as np
import pytest

from r2s2r.behavior.behavior import Planner
from r2s2r.behavior.carried_object import carried_object
from r2s2r.behavior.demonstration import Phase
from r2s2r.behavior.scripted_pinch import PINCH, Leg, ScriptedPinch
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.transforms import quat_angle, quat_rotate
from r2s2r.robot.limits import HAND_LIMITS
from r2s2r.robot.ready import READY_HAND

from .picks import draw_scene, operator_demo

EXACT = ScriptedPinch(jitter_m=0.0)
SEEDS = range(8)


@pytest.fixture(scope="module")
def demos():
    return [(draw_scene(np.random.default_rng(s)), operator_demo(s, EXACT)) for s in SEEDS]


def leg(demo, first: Phase, last: Phase, skip: int = 0) -> np.ndarray:
    return demo.wrist_pos_b[demo.span(first).start : demo.span(last).stop - skip]


def straightness(path: np.ndarray) -> float:
    """Return the largest distance from the chord over its length."""
    chord = path[-1] - path[0]
    away = path - path[0] - np.outer((path - path[0]) @ chord / (chord @ chord), chord)
    return float(np.linalg.norm(away, axis=1).max() / np.linalg.norm(chord))


def test_every_leg_is_straight(demos):
    """Each leg but its first step, which may fall between two legs, lies on its chord to a nanometre a metre."""
    for _, demo in demos:
        riding = int(PINCH.ride_s * demo.rate_hz) + 2
        assert straightness(leg(demo, Phase.APPROACH, Phase.APPROACH, skip=riding)) < 1e-9
        for phase in (Phase.CLOSE, Phase.LIFT, Phase.TRANSPORT, Phase.RETREAT):
            assert straightness(leg(demo, phase, phase)) < 1e-9


def test_speed_is_a_trapezoid_within_its_limits(demos):
    for _, demo in demos:
        for phase in (Phase.LIFT, Phase.TRANSPORT, Phase.RETREAT):
            path = leg(demo, phase, phase)
            speed = np.linalg.norm(np.diff(path, axis=0), axis=1) * demo.rate_hz
            change = np.diff(speed) * demo.rate_hz
            assert speed.max() <= EXACT.speed + 1e-9
            assert np.abs(change).max() <= EXACT.acceleration + 1e-6
            ramp, cruise = np.abs(change) > 0.9, np.abs(change) < 1e-6
            assert np.sum(~(ramp | cruise)) <= 6, "only two steps at each corner are in between"


@pytest.mark.parametrize("length", [0.001, 0.0625, 0.3])
def test_leg_takes_the_time_of_the_closed_form(length):
    """L / v + v / a with a cruise, 2 sqrt(L / a) without one; half of the way is covered at half of the time."""
    planner = ScriptedPinch(speed=0.25, acceleration=1.0)
    made = planner._leg(1.0, np.zeros(3), np.array([length, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    expected = length / 0.25 + 0.25 if length >= 0.25**2 else 2.0 * np.sqrt(length)
    assert made.duration == pytest.approx(expected)
    assert made.share(np.array([0.0, 1.0, 1.0 + expected / 2, made.end, 99.0])) == pytest.approx([0, 0, 0.5, 1, 1])


def test_leg_of_constant_speed_is_a_ramp():
    ramp = Leg(2.0, 4.0, 0.0, np.zeros(3), np.zeros(4))
    assert ramp.share(np.array([0.0, 2.0, 3.0, 6.0, 7.0])) == pytest.approx([0.0, 0.0, 0.25, 1.0, 1.0])


def test_hand_rides_along_and_lifts_straight_up(demos):
    for here, demo in demos:
        closing, lift = demo.span(Phase.CLOSE), demo.span(Phase.LIFT)
        centre = demo.wrist_pos_b + quat_rotate(demo.wrist_quat_b, np.array(PINCH.object_pos_palm))
        assert np.abs(centre - demo.object_pos_b)[closing].max() < 1e-9
        assert np.abs(np.diff(demo.wrist_pos_b[closing], axis=0) * 30.0 - here.belt_velocity_b).max() < 1e-9
        assert np.ptp(demo.wrist_pos_b[lift, :2], axis=0).max() < 1e-9
        assert demo.object_pos_b[demo.span(Phase.RELEASE).start] == pytest.approx(
            here.bin_pos_b + (0.0, 0.0, PINCH.release_height_m), abs=1e-9
        )


def test_two_fingers_pinch_and_the_others_stay(demos):
    opened, closed = np.array(PINCH.open_posture), np.add(PINCH.open_posture, PINCH.close_amount)
    for _, demo in demos:
        hand = demo.hand_joint_pos[demo.span(Phase.CLOSE).start : demo.span(Phase.RELEASE).stop]
        assert np.ptp(hand[:, 4:12], axis=0).max() == 0.0
        assert np.linalg.norm(np.ptp(hand[:, :4], axis=0)) > 0.5 and np.linalg.norm(np.ptp(hand[:, 12:], axis=0)) > 0.5
        assert np.abs(demo.hand_joint_pos[demo.span(Phase.LIFT)] - closed).max() < 1e-9
    for posture in (opened, closed):
        assert ((posture >= HAND_LIMITS.lower) & (posture <= HAND_LIMITS.upper)).all()


def test_all_joints_close_alike(demos):
    """No synergy: every joint that moves is as far on its way as the others."""
    for _, demo in demos:
        hand = demo.hand_joint_pos[demo.span(Phase.CLOSE)]
        moves = np.abs(PINCH.close_amount) > 0
        share = (hand - PINCH.open_posture)[:, moves] / np.array(PINCH.close_amount)[moves]
        assert np.ptp(share, axis=1).max() < 1e-9


def test_starts_and_ends_ready(demos):
    for here, demo in demos:
        for step in (0, -1):
            assert demo.wrist_pos_b[step] == pytest.approx(here.wrist_pos_b, abs=1e-9)
            assert quat_angle(demo.wrist_quat_b[step], here.wrist_quat_b) < 1e-6
            assert demo.hand_joint_pos[step] == pytest.approx(READY_HAND)
        assert set(demo.phase) == set(Phase)


def test_only_a_small_error_of_place_is_random():
    scene, planner = draw_scene(np.random.default_rng(0)), ScriptedPinch(jitter_m=0.004)
    first, again, other = (planner.demonstrate(scene, np.random.default_rng(k)) for k in (1, 1, 2))
    assert first.sha256() == again.sha256() != other.sha256()
    exact = EXACT.demonstrate(scene, np.random.default_rng(0))
    errors = []
    for seed in range(100):
        demo = planner.demonstrate(scene, np.random.default_rng(seed))
        goal, wanted = (d.wrist_pos_b[d.span(Phase.CLOSE).stop - 1] for d in (demo, exact))
        # The way differs by the error, so that the hand may arrive one step of the belt earlier or later.
        errors.append((goal - wanted)[0])
        assert abs(goal - wanted)[2] < 1e-9
    assert np.abs(errors).max() <= 0.004
    assert np.std(errors) == pytest.approx(0.004 / np.sqrt(3), rel=0.2), "uniform; 100 draws know it to 7 %"


def test_object_path_from_the_grasp_is_the_operator_s_own():
    """The rule that places the object agrees with the plan's own closed form, but where the hand opens half way."""
    for seed in SEEDS:
        demo = operator_demo(seed)
        taken = demo.span(Phase.CLOSE).stop - 1
        pos, yaw = carried_object(
            demo.wrist_pos_b, demo.wrist_quat_b, demo.phase, demo.object_pos_b[taken], demo.object_yaw[taken],
            demo.belt_velocity_b, demo.bin_pos_b, demo.rate_hz,
        )  # fmt: skip
        release = demo.span(Phase.RELEASE)
        for part in (slice(0, release.start), slice(release.stop, len(demo))):
            assert np.abs(pos - demo.object_pos_b)[part].max() < 1e-6
        assert np.abs(yaw - demo.object_yaw)[: release.start].max() < 1e-6


def test_is_a_planner_and_checks_its_numbers():
    planner: Planner = ScriptedPinch()
    assert planner.demonstrate(draw_scene(np.random.default_rng(0)), np.random.default_rng(0), "p").name == "p"
    with pytest.raises(ConfigError, match="ScriptedPinch.speed: received 0"):
        ScriptedPinch(speed=0.0)
